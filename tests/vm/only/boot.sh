#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 60
# `profile` gives the known stacks of a victim, whatever paranoid is; under lockdown=confidentiality it does so by
# perf_event_open, and says why.
set -u
. "$SOPROF_SOURCE/tests/cmd/lib.bash"

lockdown=$(cat /sys/kernel/security/lockdown)
echo "kernel $(uname -r), paranoid $(cat /proc/sys/kernel/perf_event_paranoid), lockdown $lockdown"
for time in 2 6; do # again, if others had the CPUs
	expect 0 profile -U -f -F 99 "$time" -- "$victims/plain/recursion" "$time" 30
	[ "$(samples)" -lt 20 ] || break
done
check_victim plain recursion --samples 20 --complete 99
case $lockdown in
*'[confidentiality]'*) has "$err" '^soprof: sampling by perf_event_open, .*locked down \(confidentiality\)' ;;
*) has_not "$err" 'perf_event_open' ;;
esac
finish
