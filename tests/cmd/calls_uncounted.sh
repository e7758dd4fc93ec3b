#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Programs that soprof calls starts and that do not count are told of, with why, where the kernel half sees what the command
# executes. A program that is executed twice for its static TLS is one, and is counted.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
export XDG_STATE_HOME=$dir/state
chmod 711 "$dir"
install -m 4755 -o 65534 /bin/echo "$dir/setuid"
still=$victims/calls/now/still

# told EXPECTED COMMAND...: the line without "soprof: ", or nothing
told() {
	expect 0 calls -n 1 libc.so.6 -- bash -c "$2; :"
	[ "$(grep 'programs that ran' "$err")" = "${1:+soprof: $1}" ] || fail "${1:-no word of programs}: $(grep 'programs that ran' "$err")"
}
told '' '/bin/echo a; (exec /bin/echo b) & wait; echo $(ls /)'
told '1 of 3 programs that ran was not counted: 1 linked statically' "/bin/echo a; $still"
told '1 of 3 programs that ran was not counted: 1 set-user-id or with capabilities' "/bin/echo a; $dir/setuid b"
others='without LD_AUDIT (as by env -i), where the audit library is not (chroot), not of glibc, of 32 bits, or ended at once'
told "2 of 4 programs that ran were not counted: 2 $others" 'env -i bash -c "/bin/echo a; :"'
told "5 of 10 programs that ran were not counted: 2 linked statically, 1 set-user-id or with capabilities, 2 $others" \
	"$still; $still; $dir/setuid c; env -i /bin/echo a; /bin/echo b; env -i /bin/true; /bin/true"
command -v gcc >/dev/null || finish
gcc -O1 -w -shared -fPIC -o "$dir/libbig.so" "$SOPROF_SOURCE/tests/victim/calls/tls.c" -DLIBRARY -DBYTES=9000
told '' "LD_PRELOAD=$dir/libbig.so /bin/echo twice"
finish
