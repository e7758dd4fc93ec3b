#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Without privileges, what is more than one's own processes: exit code 3 and one line that says what is needed.
. "$(dirname "$0")/lib.bash"
need_root
cp "$SOPROF" "$dir/soprof" # nobody may not reach the build directory
chmod 755 "$dir/soprof"

# as_nobody ARGUMENT...
as_nobody() {
	what="$* (as nobody)"
	(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all "$dir/soprof" "$@") \
		>"$out" 2>"$err" </dev/null
	status=$?
}
for arguments in '1' '-U 1' '-K 1' '-p 1 1' '-f 1' '-K -- true' '--cgroup / -- true'; do
	# shellcheck disable=SC2086
	as_nobody profile $arguments
	[ "$status" = 3 ] || fail "exit code 3"
	one_line '(CAP_|root)'
	has "$err" 'root'
	[ ! -s "$out" ] || fail "nothing on stdout"
done
# Debian's kernel wants more than CAP_BPF and CAP_PERFMON where kernel.perf_event_paranoid is 3, its default.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ] && [[ $(uname -v) == *Debian* ]]; then
	caps=-all,+bpf,+perfmon
	(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set $caps --inh-caps $caps --ambient-caps $caps \
		"$dir/soprof" agent --store "$dir/store" --socket none --listen none) >"$out" 2>"$err" </dev/null
	status=$?
	what="agent with CAP_BPF and CAP_PERFMON"
	[ "$status" = 3 ] || fail "exit code 3"
	one_line '^soprof: agent: cannot sample: needs CAP_SYS_ADMIN, as kernel\.perf_event_paranoid is [34]: set it to 2 '
fi
as_nobody --help
[ "$status" = 0 ] || fail "help without privileges"
as_nobody profile -F 0 1
[ "$status" = 2 ] || fail "exit code 2 for a bad number, whoever asks"

# Root whose capabilities do not count, or whose system calls are refused: one line that says so.
if unshare --user --map-root-user true 2>/dev/null; then
	what="root of a user namespace"
	unshare --user --map-root-user "$SOPROF" profile 1 >"$out" 2>"$err"
	status=$?
	[ "$status" = 3 ] || fail "exit code 3"
	one_line '^soprof: profile: cannot sample.*: needs CAP_BPF and CAP_PERFMON outside of this user namespace'
fi
# filtered NUMBER,... ARGUMENT...: these system calls are refused
filtered() {
	what="without the system calls $*"
	/usr/bin/python3 - "$1" "$SOPROF" "${@:2}" >"$out" 2>"$err" <<-'END'
		import ctypes, os, struct, sys
		numbers = [int(n) for n in sys.argv[1].split(",")]
		code = struct.pack("HBBI", 0x20, 0, 0, 0)  # the number
		for i, n in enumerate(numbers):
		    code += struct.pack("HBBI", 0x15, len(numbers) - i, 0, n)
		code += struct.pack("HBBI", 6, 0, 0, 0x7fff0000) + struct.pack("HBBI", 6, 0, 0, 0x50001)  # allowed; EPERM
		class Filter(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_char_p)]
		libc = ctypes.CDLL(None)
		assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Filter(len(code) // 8, code)), 0, 0) == 0
		os.execv(sys.argv[2], sys.argv[2:])
	END
	status=$?
}
if [ -x /usr/bin/python3 ]; then
	filtered 298 profile 1
	[ "$status" = 3 ] || fail "exit code 3"
	one_line '^soprof: profile: a seccomp filter refuses perf_event_open\(2\): '
	filtered 321,298 profile 1
	[ "$status" = 3 ] || fail "exit code 3"
	one_line '^soprof: profile: a seccomp filter refuses bpf\(2\): '
	filtered 321 profile -f -- true
	[ "$status" = 0 ] || fail "perf_event_open in place of BPF"
	has "$err" '^soprof: sampling by perf_event_open, a seccomp filter refuses bpf\(2\)'
fi
if unshare --mount true 2>/dev/null; then
	what="without /sys"
	unshare --mount bash -c 'mount -t tmpfs tmpfs /sys && exec "$@"' - "$SOPROF" profile 1 >"$out" 2>"$err"
	status=$?
	one_line 'is /sys mounted: open /sys/devices/system/cpu/online: No such file'
fi
finish
