#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 90
# The agent while the wall clock is set an hour on and two back, and a CPU goes and comes back: each is told as an event,
# what was skipped as a gap, and no window takes another's place.
. "$SOPROF_SOURCE/tests/cmd/lib.bash"
start plain callback 600
"$SOPROF" agent -F 49 --max-memory 200M --store "$dir/store" --socket "$dir/agent.sock" >"$dir/out" 2>"$dir/log" </dev/null &
agent=$!
wait_log() {
	local i
	for ((i = 0; i < 150 * slow; i++)); do
		grep -qE -- "$1" "$dir/log" && return
		kill -0 "$agent" 2>/dev/null || break
		sleep 0.1
	done
	cat "$dir/log"
	fail "the log to say: $1"
}
n_windows() {
	run agent --status --socket "$dir/agent.sock"
	sed -n 's/^windows *\([0-9]*\) stored.*/\1/p' "$out"
}
# wait_windows N: until so many more are stored
wait_windows() {
	local i then
	then=$(n_windows)
	for ((i = 0; i < 100 * slow; i++)); do
		[ "$(n_windows)" -ge $((${then:-0} + $1)) ] && return
		sleep 0.3
	done
	fail "$1 more windows after ${then:-?}: $(n_windows)"
}
wait_log 'to ask: '
wait_windows 1
date -s '+1 hour' >/dev/null
wait_log 'clock: forward: the clock was set forward by 3[56][0-9][0-9]\.'
wait_log 'gap: clock: .* for 3[56][0-9][0-9]\.[0-9] s'
wait_windows 1
date -s '-2 hours' >/dev/null
wait_log 'clock: back: the clock was set back by 7[12][0-9][0-9]\.'
cpu1=/sys/devices/system/cpu/cpu1/online
if [ -w $cpu1 ]; then
	echo 0 >$cpu1
	wait_log 'cpu: CPU 1: went offline'
	sleep 1
	echo 1 >$cpu1
	wait_log 'gap: CPU 1: it was offline for '
	wait_log 'cpu: CPU 1: came online'
fi
wait_windows 1
date -s '+1 hour' >/dev/null # where we began
wait_windows 1
has_not "$dir/log" 'could not be sampled'
n=$(n_windows)
kill -TERM "$agent"
wait "$agent" || fail "exit code 0: $?"
cat "$dir/log"
# each window began at a time of its own, and is in the store
found=$(for f in "$dir"/store/*.10s.db; do "$SOPROF" report --json "$f" 2>/dev/null; done | sed -n 's/.*"samples": *\([0-9]*\).*/\1/p' | count)
echo "$n windows, $found samples in the files"
[ "${n:-0}" -ge 4 ] || fail "four windows and more: $n"
[ "${found:-0}" -ge 200 ] || fail "the samples of all of them: $found"
finish
