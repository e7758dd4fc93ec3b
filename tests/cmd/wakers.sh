#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Who ends waits: a thread by a pipe, a condition variable, a mutex, a signal, each by a function of its own, and a timer. The waits
# are as long as the sleeper measured, and above them stands the whole stack of the rouser, upside down.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
victim="exec '$SOPROF_BUILD/tests/cmd/rouser' >'$dir/truth'"
total() { awk -v p="$1" '$0 ~ p { n += $NF } END { printf "%.0f\n", n }' "$out"; }
# near WHAT N TRUTH: at most what was measured, and not much less
near() { [ $((100 * $2)) -ge $(((slow > 1 ? 75 : 90) * $3)) ] && [ "$2" -le "$3" ] || fail "$1: at most $3, and little less, not $2"; }
truth() { sed -n "s/^$1 //p" "$dir/truth"; }

expect 0 profile -e offcpu --waker -f -- sh -c "$victim"
for way in pipe condition lock signal; do
	near "ns of waits that a $way ends" \
		"$(total "^sleeper;.*;main;wait_all;wait_in_$way;.*;--;.*;rouse_by_$way;rouse_all;rouser;.*;rouser ")" \
		"$(truth $way)"
done
near "ns of waits that a second thread ends" "$(total '^sleeper;.*;wait_in_condition;.*;--;.*;rouse_by_condition;rouse_all;second;.*;second ')" \
	"$(truth second)"
slept=$(total '^sleeper;.*;main;sleep_ns;.*nanosleep.*;--;.*;\[interrupt\] ')
[ "$slept" -ge 1050000000 ] || fail "ns of two sleeps, of 0.9 and 0.2 s, that a timer ends, not $slept"
has "$out" ';(__)?schedule;--;(try_to_wake_up|ttwu_|__?wake).*;(x64_sys_write|__x64_sys_write|ksys_write).*;rouse_by_pipe;'
has_not "$out" ';--;(bpf_prog_|bpf_trace_run|__bpf_trace_|__traceiter_)'
has_not "$out" '^sleeper;.*;--;.*rouse_by_.*;\[interrupt\] '
# One may come before the sleeper has left its CPU.
lost() { tr -s ' \n' ' ' <"$err" | sed -nE 's/.* ([0-9]+) who ended a wait was not seen.*|.*who ended a wait was not seen \(shown without\) ([0-9]+).*/\1\2/p'; }
n_lost=$(lost)
[ "${n_lost:-0}" -le $((slow > 1 ? 3 : 0)) ] || fail "no wait without a waker, not $n_lost"

# From its waking on a thread waits for a CPU: with what it was preempted, all that the kernel has noted of it.
expect 0 profile -e offcpu --waker -o "$dir/x.pb.gz" -- sh -c "$victim"
expect 0 report --by state --csv --comm sleeper "$dir/x.pb.gz"
queue=$(awk -F, '$2 == "woken" || $2 == "preempted" { n += $8 } END { printf "%.0f", n }' "$out")
say "ns on the run queue: $queue, by the kernel's books $(truth queue)"
# The books begin where the thread is queued, after a message to its CPU, which takes long under emulation, and milliseconds where a
# hypervisor has taken that CPU away. A wait that counted as queued would add 8 ms a turn, of which there are a hundred.
[ "$slow" -gt 1 ] || { [ $((queue + 2000000)) -ge $(($(truth queue) * 9 / 10)) ] && [ $((queue * 9 / 10)) -le $(($(truth queue) + 50000000)) ]; } ||
	fail "ns on the run queue: $(truth queue), not $queue"

# By name; the leaf's kernel part goes away with the kernel.
expect 0 report --by waker --csv --comm sleeper "$dir/x.pb.gz"
all=$(($(truth pipe) + $(truth condition) + $(truth lock) + $(truth signal)))
n=$(awk -F, '$1 == "waker" && $2 == "rouser" { print $8 }' "$out")
[ "${n:-0}" -ge $((all * 9 / 10)) ] || fail "ns until the rouser: $all, not ${n:-none}"
has "$out" '^waker,\[interrupt\],'
# Tables and legends are of the thread that waited: the rouser's stacks are drawn above its own, and cost it nothing.
own_only() {
	has "$out" '^function,wait_in_pipe,'
	has_not "$out" '^function,(--|rouse_by_.*|rouser|\[interrupt\]),|\[waker\]'
}
if [ "$slow" = 1 ]; then # views, which are the same with every kernel
	expect 0 report --by function --csv --comm sleeper "$dir/x.pb.gz"
	own_only
	expect 0 report --format folded --comm sleeper "$dir/x.pb.gz"
	has "$out" ';--;.*;rouse_by_pipe;'
	cp "$out" "$dir/x.folded"
	expect 0 report --by function --csv "$dir/x.folded"
	own_only
	expect 0 report -o "$dir/x.svg" --comm sleeper "$dir/x.pb.gz"
	has "$dir/x.svg" 'rouse_by_pipe'
	has "$dir/x.svg" '<title>woken by$'
	has_not "$dir/x.svg" '<title>--$'
	legend=$(sed -n '/id="legend"/,/^<\/g>/p' "$dir/x.svg" | tr -d '\n')
	[[ $legend == *kernel* && $legend != *waker* ]] || fail "a legend with the kernel and no waker: $legend"
	expect 0 profile -e offcpu --waker --comm sleeper --by function --format csv -- sh -c "$victim"
	own_only
fi
expect 0 profile -e locks --waker -f -U -- sh -c "$victim"
has "$out" '^sleeper;.*;main;wait_all;wait_in_lock;.*;--;.*;rouse_by_lock;rouse_all;rouser;.*;rouser;rouser:held [0-9]+$'
has_not "$out" ';(__)?schedule'

# What the rouser does chooses none of the sleeper's samples, nor leaves any out.
if [ "$slow" = 1 ]; then
	expect 1 report --comm sleeper --function rouse_by_pipe --format folded "$dir/x.pb.gz"
	has_not "$out" .
	one_line "the function 'rouse_by_pipe' is known, but in none of the samples that are chosen"
	expect 0 report --comm sleeper --function wait_in_pipe --format folded "$dir/x.pb.gz"
	has "$out" ';wait_in_pipe;.*;rouse_by_pipe;'
fi

# bcc's names.
expect 0 offwaketime -f -- sh -c "$victim"
us=$(total '^sleeper;.*;wait_in_pipe;.*;--;.*;rouse_by_pipe;.*;rouser ')
near 'us by offwaketime' "$us" $(($(truth pipe) / 1000))
expect 0 wakeuptime -f -- sh -c "$victim"
us=$(total '^rouser;.*;rouser;rouse_all;rouse_by_pipe;.*write.*;sleeper ')
near 'us by wakeuptime' "$us" $(($(truth pipe) / 1000))
expect 0 wakeuptime 1
has "$out" '^Tracing blocked time \(us\) of all threads by user \+ kernel waker stack for 1 secs\.$'

expect 2 profile -e cpu --waker 1
one_line '--waker is for events that last'
expect 2 profile -e offcpu --waker --inline 1
one_line '--waker and --inline do not go together'
finish
