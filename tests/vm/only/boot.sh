#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 60
# `profile` gives the known stacks of a victim, whatever paranoid is; under lockdown=confidentiality it does so by
# perf_event_open, and says why.
set -u
. "$SOPROF_SOURCE/tests/cmd/lib.bash"

lockdown=$(cat /sys/kernel/security/lockdown)
echo "kernel $(uname -r), paranoid $(cat /proc/sys/kernel/perf_event_paranoid), lockdown $lockdown"
run profile -U -f -F 99 2 -- "$victims/plain/recursion" 1.5 30
[ "$status" = 0 ] || fail "exit code 0"
check_victim plain recursion --samples 20 --complete 99
case $lockdown in
*'[confidentiality]'*) has "$err" '^soprof: sampling by perf_event_open, .*locked down \(confidentiality\)' ;;
*) has_not "$err" 'perf_event_open' ;;
esac
finish
