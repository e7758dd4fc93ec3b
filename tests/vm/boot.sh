#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 60
# Whatever this kernel allows: `profile` gives the known stacks of a victim, or refuses in one precise line.
set -u
. "$SOPROF_SOURCE/tests/cmd/lib.bash"

echo "kernel $(uname -r), paranoid $(cat /proc/sys/kernel/perf_event_paranoid), lockdown $(cat /sys/kernel/security/lockdown 2>/dev/null)"
run profile -U -f -F 99 2 -- "$victims/plain/recursion" 1.5 30
case $status in
0) check_victim plain recursion --samples 20 --complete 99 ;;
3)
	[ "$(grep -c . "$err")" = 1 ] || fail "one line says why it is refused"
	grep -q '^soprof: ' "$err" || fail "the line begins with soprof:"
	;;
*) fail "exit code 0 with samples, or 3 with one line: it is $status" ;;
esac
finish
