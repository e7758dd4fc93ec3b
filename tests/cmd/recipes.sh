#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Events beside the clock: every one is counted, with its whole stack and without what leads to our programs; several at once.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
[ "$slow" = 1 ] && n=3000 || n=500
sum() { awk '{ n += $NF } END { print n + 0 }' "$out"; }

# As many as dd makes, each once.
for event in syscalls:sys_enter_write syscalls:sys_exit_write; do
	expect 0 profile -f -e $event -- dd if=/dev/zero of=/dev/null bs=1 count=$n status=none
	[ "$(sum)" = "$n" ] || fail "$n of $event, not $(sum)"
	says "samples $n in "
done

# Of what runs already the tables are there before its first event.
dd if=/dev/zero of=/dev/null bs=1 status=none 2>"$dir/null" &
pid=$!
disown
until [ "$(cat /proc/$pid/comm)" = dd ]; do sleep 0.02; done
expect 0 profile -f -e syscalls:sys_enter_write -p $pid $seconds
whole 99 'writes of dd'
[ "$(grep -cE '^dd;.*(;write|;__write)' "$out")" -ge 1 ] || fail "stacks that end in write"
expect 0 profile -f -a -e sched:sched_switch -p $pid $seconds
has "$out" ';__schedule_\[k\] [0-9]+$'
has_not "$out" '(bpf_prog_|bpf_trace_run|__bpf_trace_|__traceiter_)'
kill $pid

# Several recipes: a profile with a value of each, of which the first is shown. A program that is executed by a descriptor, which
# the kernel calls by the descriptor's number, has its file's name.
expect 0 profile -o "$dir/x.pb.gz" -F 99 -e cpu,faults,syscalls:sys_enter_write -- \
	bash -c 'exec 9<"$0"; exec /proc/self/fd/9 "$@"' "$(command -v dd)" if=/dev/zero of=/dev/null bs=1 count=$n status=none
expect 0 report --json "$dir/x.pb.gz"
has "$out" '^"value":\{"name":"cpu","unit":"nanoseconds"'
expect 0 report --value syscalls:sys_enter_write --json "$dir/x.pb.gz"
has "$out" "^\"total\":$n,"
expect 0 report --value faults --by process --csv "$dir/x.pb.gz"
[ "$(awk -F, '$2 == "9"' "$out" | wc -l)" = 0 ] || fail "no process that is called by a number"
faults=$(awk -F, 'NR > 1 && $2 == "dd" { n += $8 } END { print n + 0 }' "$out")
[ "$faults" -gt 20 ] || fail "dd's page faults, not $faults"

if [ "$slow" = 1 ]; then # views, which are the same with every kernel
	# The recording as a table: each event has the columns that `profile --by` gives it, with the sums of its value alone.
	expect 0 report --by process "$dir/x.pb.gz"
	has "$out" '^-+ cpu (ns|us|ms|s)  -+ faults  -* ?syscalls:sys_enter_write$'
	has "$out" '^ *self +total +self +total +self +total  process$'
	has "$out" "^ *[0-9.]+ +[0-9.]+ +$faults +$faults +$n +$n  dd\$"
	expect 0 report --value faults "$dir/x.pb.gz"
	has "$out" '^ *self % +self +total % '

	# A difference of one event counts the samples of that event.
	expect 0 report --value faults --json "$dir/x.pb.gz"
	n_faults=$(sed -nE 's/^"total":[0-9]+,"samples":([0-9]+).*/\1/p' "$out")
	expect 0 diff --value faults "$dir/x.pb.gz" "$dir/x.pb.gz"
	has "$out" "^old .*: ${n_faults:-no} samples in "
	has "$out" "^new .*: ${n_faults:-no} samples in "
	# So does perf script's text: each of its samples is one of that event.
	expect 0 report --value faults --format perf "$dir/x.pb.gz"
	[ "$(grep -c ' 1 faults:' "$out")" = "$n_faults" ] || fail "$n_faults faults, each once"
	has_not "$out" ' 0 faults:'
fi

# The faults that perf counts in the same run are those that are counted here.
if command -v perf >"$dir/null" && perf stat -x, -o "$dir/stat" -e page-faults true 2>"$dir/null"; then
	expect 0 profile -f -e faults -- perf stat -x, -o "$dir/stat" -e page-faults dd if=/dev/zero of=/dev/null bs=8M count=4 status=none
	perf=$(awk -F, '/page-faults/ { print $1 }' "$dir/stat")
	ours=$(awk '/^dd;/ { n += $NF } END { print n + 0 }' "$out")
	[ $((ours - perf)) -le 2 ] && [ $((perf - ours)) -le 2 ] || fail "perf's $perf page faults of dd, not $ours"
fi

# Of a counter's events those in user mode, and the kernel's: together they are all.
expect 0 profile -o "$dir/x.pb.gz" -e page-faults,page-faults:u,page-faults:k -- dd if=/dev/zero of=/dev/null bs=8M count=4 status=none
for event in page-faults page-faults:u page-faults:k; do
	expect 0 report --value $event --process dd --json "$dir/x.pb.gz"
	declare -i "n_${event//[-:]/_}=$(sed -nE 's/^"total":([0-9]+),.*/\1/p' "$out")"
done
((n_page_faults_u > 20 && n_page_faults_k > 20 && n_page_faults_u + n_page_faults_k == n_page_faults)) ||
	fail "$n_page_faults page faults, not $n_page_faults_u and $n_page_faults_k"
unguarded=
if [ ! -e /sys/bus/event_source/devices/cpu ]; then
	for event in cycles:u LLC-load-misses r1a8; do
		expect 3 profile -e $event 1
		one_line "^soprof: profile: this machine has no event $event "
	done
fi
expect 2 profile -e LLC-load-mises 1
one_line 'did you mean LLC-load-misses\?'
run profile -e cycles:x 1
[ "$status" = 2 ] || [ "$status" = 3 ] || fail "exit code 2 or 3"
one_line 'no tracepoint (cycles:)?x'
unguarded=1

# where tracefs cannot be read, the kernel says so when the event is attached
run profile -e sched:no_such_event 1
[ "$status" = 2 ] || [ "$status" = 3 ] || fail "exit code 2 or 3"
one_line 'this kernel has no tracepoint .*no_such_event'
expect 2 profile -e nonsense 1
one_line "there is no event 'nonsense'; there are cpu, offcpu, wall, locks, faults, .* and tracepoints, SYSTEM:EVENT"
expect 2 profile -e cpu,fault 1
one_line "there is no event 'fault'; did you mean faults\\?"
if [ -d /sys/kernel/tracing/events/sched ]; then
	expect 2 profile -e shced:sched_switch 1
	one_line 'no tracepoint shced:sched_switch; did you mean sched:sched_switch\?'
fi
expect 2 profile -e cpu,,faults 1
one_line "-e: an event's name is missing"
expect 2 profile -e :x 1
one_line "':x' is no tracepoint: SYSTEM:EVENT"
expect 2 profile -e cpu-clock,task-clock 1
one_line 'cpu, cpu-clock, task-clock: one of them, once'
expect 2 profile -e faults,offcpu,faults 1
one_line 'faults is there twice'
expect 2 profile -e cpu,offcpu,locks,faults,context-switches,sched:sched_switch,sched:sched_wakeup,sched:sched_waking 1
one_line 'more than 7 events'
expect 2 profile -e cpu,faults -c 5 1
one_line '-c is for one event, not 2'
expect 2 agent --source offcpu
one_line 'the agent does not take offcpu, of which every event counts; it takes cpu'
# Only what perf opens for a CPU is asked for by -C; of the others nobody would be left out.
expect 2 profile -C 0 -e cpu,offcpu 1
one_line '-C is not for offcpu: a thread that waits is on no CPU'
expect 2 profile -C 0 -e syscalls:sys_enter_write 1
one_line '-C is not for syscalls:sys_enter_write: its filter chooses CPUs, as in \[cpu == 0\]'
unguarded=
expect 2 profile -C 0 -e mem -- true
one_line '-C is not for mem'
unguarded=1
expect 0 profile -C 0 -e cpu,faults,context-switches -- true
expect 0 profile -f -e 'syscalls:sys_enter_write[cpu == 0]' -- taskset -c 0 dd if=/dev/zero of=/dev/null bs=1 count=50 status=none
[ "$(sum)" = 50 ] || fail "50 writes on CPU 0, not $(sum)"
expect 2 profile -e faults -F 99 1
one_line '-F is not for faults'
# What the numbers of a profile are stands above them.
expect 0 profile -e wall -- true
has "$out" '^Sampling at 49 Hertz and counting wall \(ns\) of true by user \+ kernel stack'
# Several in one table: a row for each library, whichever event met it; the sums are those of the value alone.
expect 0 profile -e faults,offcpu --by library -- sh -c 'sleep 0.1; ls /usr >/dev/null'
has "$out" '^-+ faults  -+ offcpu ms$'
has "$out" '^ *self +total +self +total  library$'
has "$out" '^ *[1-9][0-9]* .* libc\.so\.6$'
awk '$5 == "all" { f = $1; o = $3; next } $1 ~ /^[0-9]/ && NF >= 5 { f -= $1; o -= $3 } END { exit f != 0 || o > 1 || o < -1 }' "$out" ||
	fail "what libraries cost themselves to be all"
finish
