#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 40
# A CPU that goes and comes back while soprof samples is sampled again; so is one that was away when soprof began. With
# -C, only where it is one of those. soprof has given up its privileges by then: its broker opens the event.
. "$SOPROF_SOURCE/tests/cmd/lib.bash"
cpu1=/sys/devices/system/cpu/cpu1/online
[ -w $cpu1 ] || skip "CPU 1 cannot be taken away"
taskset -c 1 "$victims/plain/callback" 600 & # it moves to CPU 0 when its own goes
victim=$!

# n_on_cpu1: samples of the victim once it runs on CPU 1 alone
n_of() { awk '/^callback/ { n += $NF } END { print n + 0 }' "$1"; }
# profile_while COMMAND ARG...: the samples that there were while the command ran and after, in $n
profile_while() {
	local change=$1
	shift
	what="profile $* (while $change)"
	"$SOPROF" profile -U -f -F 99 "$@" 8 >"$out" 2>"$err" </dev/null &
	job=$!
	wait_sampling $job
	$change
	wait $job
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
	n=$(n_of "$out")
}
away() { echo 0 >$cpu1; taskset -pc 0,1 $victim >/dev/null; }
back() { echo 1 >$cpu1; taskset -pc 1 $victim >/dev/null; }
away_and_back() { away; sleep 1; back; }

# 700 and more, where the emulated CPU had the real one all the time; some 100 if CPU 1 was not sampled again
profile_while away_and_back
[ "$n" -ge 250 ] || fail "the samples of a CPU that was away for a second of 8: $n"
all=$n
away
profile_while back
[ "$n" -ge 250 ] || fail "the samples of a CPU that came when sampling had begun: $n"
away
profile_while back -C 0
[ "$n" -lt $((all / 2)) ] || fail "no samples of a CPU that is not one of those named: $n"
finish
