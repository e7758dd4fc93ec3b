#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 240
# Large deleted files with code: their stacks are whole, and no descriptor of ours keeps their memory when their processes
# have ended. Small ones are kept for their names. The agent does so, too, within a bound, and tells.
. "$(dirname "$0")/lib.bash"
need_profile

# loader MIB: has a library of so many MiB in memory, without a name, and works in it for a while
cat >"$dir/loader.py" <<'END'
import ctypes, os, sys
fd = os.memfd_create("large")
os.write(fd, open(sys.argv[1], "rb").read())
os.ftruncate(fd, int(sys.argv[2]) << 20)
library = ctypes.CDLL(f"/proc/self/fd/{fd}", mode=os.RTLD_NOW | os.RTLD_DEEPBIND) # it calls its own, not python's libz
os.close(fd)
data = bytes(1 << 20)
library.crc32.restype = ctypes.c_ulong
while not os.path.exists(sys.argv[3]):
    library.crc32(ctypes.c_ulong(0), data, ctypes.c_uint(len(data)))
END
library=$(ldconfig -p | sed -n 's/.*libz\.so\.1 .*=> //p' | head -n 1)
[ -n "$library" ] && [ -x /usr/bin/python3 ] || skip "needs python3 and libz"
lets_go() { ! keeps "$1"; }
keeps() { find "/proc/$1/fd" -lname '*memfd:large*' 2>/dev/null | grep -q .; }

mkfifo "$dir/end"
for mib in 1 300; do
	what="profile (a library of $mib MiB in memory)"
	rm -f "$dir/enough" "$dir/over"
	# (of this command alone: others may keep such files, too)
	"$SOPROF" profile -U -f -F 199 -- bash -c "/usr/bin/python3 '$dir/loader.py' '$library' $mib '$dir/enough'
		: >'$dir/over'; read -r <'$dir/end'" >"$out" 2>"$err" </dev/null &
	profiler=$!
	wait_sampling $profiler
	if [ $mib = 1 ]; then
		wait_until 300 keeps $profiler || fail "a small one to be opened"
	else
		sleep $((3 * seconds)) # for its table, after which it is closed: on a busy machine later
		wait_until 300 lets_go $profiler
	fi
	: >"$dir/enough"
	wait_until 300 [ -e "$dir/over" ] || fail "the command to come to its end"
	keeps $profiler
	kept=$?
	echo >"$dir/end"
	wait $profiler || fail "exit code 0"
	[ $mib-$kept = 1-0 ] || [ $mib-$kept = 300-1 ] || fail "a small one to be kept, not a large one"
	has "$out" '^python3;_start;.*;ffi_call;.*;(crc32|libz\.so\.1\+0x)'
	if [ $mib = 1 ]; then has_not "$err" 'too large to be kept'; else has "$err" 'libz\.so\.1 \(deleted, and too large to be kept'; fi
done

# --- the agent: of what it holds, and of whose it does not, its status tells
[ "$(id -u)" = 0 ] || finish
what="agent, and a library of 300 MiB in memory of user 12345's"
# Of a file of 300 MiB its budget would let it make no table for a while, and what is looked at here is what comes after that.
"$SOPROF" agent --config /dev/null --store "$dir/store" --socket "$dir/agent.sock" --group none --listen none -F 97 --max-cpu 100% \
	>"$out" 2>"$dir/log" </dev/null &
agent=$!
wait_agent $agent "$dir/log" 'to ask: '
rm -f "$dir/enough"
for mib in 1 300; do
	setpriv --reuid 12345 --clear-groups /usr/bin/python3 "$dir/loader.py" "$library" $mib "$dir/enough" 2>/dev/null &
	at_ease $!
done
tells() { run agent --status --socket "$dir/agent.sock"; grep -q "$1" "$out"; }
wait_until $((600 * slow)) tells 'deleted files let go, as they are too large: [1-9][0-9]*; the last was user ' ||
	fail "to be told whose file was let go"
wait_until $((600 * slow)) tells 'MiB of deleted files are kept in memory for their names' || fail "the small one to be kept"
# the large one is open as long as its table is built
holds_one() { [ "$(find "/proc/$agent/fd" -lname '*memfd:large*' 2>/dev/null | wc -l)" = 1 ]; }
wait_until $((600 * slow)) holds_one || { cat "$out"; fail "one file to be held"; }
: >"$dir/enough"
kill -TERM $agent
wait $agent || fail "exit code 0"
has "$dir/log" 'cpu: deleted programs and libraries of user 12345 take more memory than is kept for names'
finish
