#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 900
# The guard's sums over minutes (GUARD_RUNS runs of each): page faults in windows, time off the CPU by the draw. What is found,
# by what the kernel counted: its mean is 1, as far as its own standard error can tell.
. "$(dirname "$0")/../cmd/lib.bash"
need_root
need_profile
storm=$SOPROF_BUILD/tests/cmd/storm
runs=${GUARD_RUNS:-12} parts=0
left_out() { tr -s ' \n' ' ' <"$err" | sed -nE 's/.*not sampled since over budget \(--max-overhead\) ([0-9]+).*/\1/p'; }
sum() { awk -v p="$1" '$0 ~ p { n += $NF } END { printf "%.0f\n", n }' "$dir/folded"; }
# mean FILE MOST: "N runs: MEAN, standard error SE"; false if the mean is not 1, or the error is above MOST
mean() {
	awk -v most="$2" '{ n++; s += $1; q += $1 * $1 }
		END { m = s / n; se = sqrt((q / n - m * m) / (n - 1)); d = m > 1 ? m - 1 : 1 - m
		      printf "%d runs: %.4f, standard error %.4f\n", n, m, se; exit d > 3 * se + 0.005 || se > most }' "$1"
}

# As many faults at each ms of the clock, however long one takes; some are kept out by the cap, and told.
for ((i = 0; i < runs; i++)); do
	expect 0 profile -f -e faults --max-overhead 1 -o "$dir/folded" -- "$storm" paced 15000
	read -r true <"$out"
	n=$(left_out)
	echo "$true $(($(sum '^storm;') + ${n:-0}))" | awk '{ print $2 / $1 }' >>"$dir/faults"
	! grep -q 'is detached' "$err" || fail "windows, and no end of them"
	part=$(sed -nE 's/.*attached for 1\/([0-9]+) of the time from now on.*/\1/p' "$err" | tail -n 1)
	[ -z "$part" ] || parts=$((parts + 14000 / (40 * part)))
done
said=$(mean "$dir/faults" 0.06) || fail "faults in windows by the kernel's count to be 1 on the average: $said"
say "faults in some $parts windows by the kernel's count of them, $said"
[ $parts -ge 50 ] || fail "50 windows, not $parts"

# Threads that sleep beside a storm of switches: the time in which they did not run. Of a run in which the event was detached
# that is not known; what the cap keeps out in the first second is told as a number of waits, and is missing.
ends=
for ((i = 0; i < runs; i++)); do
	expect 0 profile -f -e offcpu --max-overhead 12 -o "$dir/folded" -- "$storm" waits 6000
	read -r true switches <"$out"
	! grep -q 'is detached' "$err" || continue
	echo "$true $(sum '^sleeper;')" | awk '{ print $2 / $1 }' >>"$dir/waits"
	ends+=" $(sed -nE 's/.*one of ([0-9]+) is taken.*/\1/p' "$err" | tail -n 1)"
	n=$(left_out)
	[ $((${n:-0} * 20)) -le "$switches" ] || fail "one of 20 waits at the most to be left out, not $n of $switches"
done
[ "$(grep -c . "$dir/waits")" -ge $((runs / 2)) ] || fail "half of the runs to keep the event"
said=$(mean "$dir/waits" 0.06) || fail "time off the CPU by the threads' clocks to be 1 on the average: $said"
say "time off the CPU by the threads' own clocks, $said; at last taken: one of$ends"
finish
