# SPDX-License-Identifier: GPL-2.0-or-later
# agent.bash: sourced by the long tests of the agent, after lib.bash: what it says of itself at $dir/agent.sock.
#   ask_status    asks it
#   word NAME     the value of a word of what it said last
word() { sed -n "s/^ *$1=//p" "$dir/status" | head -n 1; }
ask_status() {
	python3 - "$dir/agent.sock" >"$dir/status" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(60)
		s.connect(sys.argv[1])
		s.sendall(b"soprof1 status\n")
		print(b"".join(iter(lambda: s.recv(65536), b"")).decode())
	END
}
