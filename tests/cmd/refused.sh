#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
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
as_nobody --help
[ "$status" = 0 ] || fail "help without privileges"
as_nobody profile -F 0 1
[ "$status" = 2 ] || fail "exit code 2 for a bad number, whoever asks"
finish
