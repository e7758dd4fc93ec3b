#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Tracepoints with a filter and a value: what is counted is what the victim does, and what perf counts with the same filter in
# the same run; mistakes are told with their place.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
is_root || skip "needs root: fields are read from tracefs"
cd "$dir" || exit 1
total() { # EXPECTED EVENT COMMAND...: the sum of the event's value in a run of the command
	local wanted=$1 event=$2 sum
	shift 2
	expect 0 profile -f -e "$event" -- "$@"
	sum=$(awk '{ n += $NF } END { print n + 0 }' "$out")
	[ "$sum" = "$wanted" ] || fail "$wanted of $event, not $sum"
}
# totals COMMAND EXPECTED EVENT [EXPECTED EVENT...]: the same of up to seven events in one run; COMMAND is the name of an array
totals() {
	local -n command=$1
	local -a wanted=() events=() sums
	local i
	shift
	while [ $# -gt 0 ]; do
		wanted+=("$1") events+=("$2")
		shift 2
	done
	expect 0 profile --by process -o "$dir/totals.csv" -e "$(IFS=,; echo "${events[*]}")" -- "${command[@]}"
	# the last columns are those of the events, each its self and its total
	read -r -a sums < <(awk -F, -v n="${#events[@]}" 'NR > 1 { for (i = 0; i < n; i++) sum[i] += $(NF - 2 * (n - i) + 1) }
		END { for (i = 0; i < n; i++) printf "%d ", sum[i] }' "$dir/totals.csv")
	for i in "${!events[@]}"; do
		[ "${sums[i]}" = "${wanted[i]}" ] || fail "${wanted[i]} of ${events[i]}, not ${sums[i]}"
	done
}
value() { # PROFILE NAME: its total
	expect 0 report --value "$2" --json "$1"
	sed -n 's/^"total":\([0-9]*\).*/\1/p' "$out"
}
run profile -e 'sched:sched_switch[prev_pid == -1]' -- true
[ "$status" != 3 ] || skip "tracefs cannot be read: $(tail -n 1 "$err")"
[ "$status" = 0 ] || fail "exit code 0"
if [ -d /sys/kernel/tracing/events/sched ]; then
	expect 0 profile --list 'sched:sched_p*_exec' -v
	has "$out" '^sched:sched_process_exec$'
	has "$out" '^  filename +__data_loc char\[\]$'
	expect 0 profile --list 'syscalls:sys_enter_openat' -v
	has "$out" '^  dfd +int$'
	has "$out" '^  sysarg0 +long$'
	expect 0 profile --list 'sched:sched_process_exec' -v
	has "$out" '^  or, as of raw:sched_process_exec$'
	has "$out" '^  bprm +struct linux_binprm \*$'
fi

# --- system calls: arguments with their types in C, and the result
two=(sh -c 'dd if=/dev/zero of=/dev/null bs=10 count=200 status=none; dd if=/dev/zero of=/dev/null bs=4096 count=30 status=none')
total 200 'syscalls:sys_enter_write[fd == 1 && count == 10]' "${two[@]}"
totals two \
	0 'syscalls:sys_enter_write[fd == 1 && count / (fd - 1)]' `# what is divided by 0 at run time is 0` \
	2300 'syscalls:sys_enter_write[fd == 1 && count % (fd - 1) == count]{10}' \
	2000 'syscalls:sys_enter_write[fd == 1 && count == 10]{count}' \
	$((30 * 4096)) 'syscalls:sys_enter_write[count in {7, 4096} && comm == "dd"]{ count }' \
	$((230 * 3)) 'syscalls:sys_enter_write[fd == 1 && comm != "sh"]{fd * 3}' \
	30 'syscalls:sys_exit_read[ret == 4096 && comm == "d*"]'
total 2 'syscalls:sys_enter_openat[dfd == -100 && flags & 0x40 && mode == 0666]' "${two[@]}" # of=, O_CREAT
total 0 'syscalls:sys_exit_openat[comm == "cat"]{ret < 0 ? ret : 0}' sh -c 'cat /nonexistent; :' # what is below 0 adds nothing
total 3 'syscalls:sys_exit_kill[ret == -3 && sysarg0 == 4194303 && sys == 62]' sh -c 'for i in 1 2 3; do kill -0 4194303; kill -0 $$; done; :'

# --- fields of the record: numbers, texts of both kinds, several events in one profile
kill=(sh -c 'trap : USR1; i=0; while [ $i -lt 25 ]; do kill -USR1 $$; kill -0 $$; i=$((i + 1)); done')
total 25 'signal:signal_generate[sig == 10 && comm == "sh"]' "${kill[@]}"
totals kill \
	250 'signal:signal_generate[sig == 5 * 2 && !(sig & 1)]{sig}' \
	25 'raw:signal_generate[sig == 10 && task->comm == "sh" && result == TRACE_SIGNAL_DELIVERED]' \
	25000 'signal:signal_generate[sig == 10 && result == TRACE_SIGNAL_DELIVERED]{1us}'
execs=(sh -c 'for i in 1 2 3 4 5 6 7; do /bin/true; /bin/sleep 0; done')
total 7 'sched:sched_process_exec[filename == "/bin/true"]' "${execs[@]}"
totals execs \
	14 'sched:sched_process_exec[filename == "/bin/*" && filename != "/bin/sh" && comm != "sh"]' \
	7 'sched:sched_process_exec[comm == "true" && common_pid == pid && tid == old_pid]'

# --- arguments of the raw tracepoint, and what they lead to in the kernel's memory
total 7 'raw:sched_process_exec[bprm->filename == "/bin/true" && p->comm == "true"]' "${execs[@]}"
totals execs \
	7 'sched:sched_process_exec[bprm->filename == "/bin/tr*" && p->tgid == tid && p->mm->owner == p && task == p]' \
	14 'sched:sched_process_exec[p->real_parent->comm == "sh" && p->group_leader->comm[0] in {115, 116}]'
totals two \
	200 'raw:sys_enter[id == 1 && regs->di == 1 && regs->dx == 10 && regs->orig_ax == id]' \
	$((30 * 4096)) 'raw:sys_enter[id == 1 && regs->dx == 4K]{regs->dx}' \
	200 'syscalls:sys_enter_write[task->real_parent->comm == "sh" && count == 10]' \
	0 'raw:sys_enter[task->flags & 0x200000 || task->real_parent->real_parent->comm == "no such name"]'
expect 0 profile -o several.pb.gz -e 'cpu,signal:signal_generate[sig == 10]{sig},signal:signal_generate[sig == 10 && pid > 0],syscalls:sys_enter_kill' \
	-- "${kill[@]}"
for of in 250=sig '25=signal:signal_generate[sig == 10 && pid > 0]' 50=syscalls:sys_enter_kill; do
	n=$(value several.pb.gz "${of#*=}")
	[ "$n" = "${of%%=*}" ] || fail "${of%%=*} of ${of#*=} in a profile of several, not $n"
done
expect 0 profile -o units.pb.gz -e 'kmem:kmalloc{bytes_alloc - bytes_req},kmem:kmalloc[bytes_req > 0]{bytes_alloc - bytes_req},kmem:kmalloc{node}' -- true
for of in 'bytes=bytes_alloc - bytes_req' 'bytes=kmem:kmalloc[bytes_req > 0]{bytes_alloc - bytes_req}' count=node; do
	expect 0 report --value "${of#*=}" --json units.pb.gz
	grep -qF "\"unit\":\"${of%%=*}\"" "$out" || fail "${of#*=} to be in ${of%%=*}"
done
expect 0 profile -f -a -e 'sched:sched_switch[prev_state == 1]' -- sleep 0.05
has "$out" ';__schedule_\[k\] [0-9]+$'
has_not "$out" '(bpf_prog_|trace_call_bpf|perf_trace_|__traceiter_)'

# --- perf counts the same in the same run, with the same filter; our program takes nothing from it
sleeps=(sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.002; done')
filter='prev_state == 1 && prev_comm == "sleep"'
if command -v perf >null && perf stat -x, -o stat -e sched:sched_switch --filter "$filter" "${sleeps[@]}" 2>null; then
	expect 0 profile -f -e "sched:sched_switch[$filter]" -- perf stat -x, -o stat -e sched:sched_switch --filter "$filter" "${sleeps[@]}"
	perf=$(awk -F, '/sched_switch/ { print $1 }' stat)
	ours=$(awk '{ n += $NF } END { print n + 0 }' "$out")
	[ "$ours" = "$perf" ] && [ "$perf" -ge 9 ] || fail "perf's $perf waits of sleep, not $ours"
	expect 0 profile -f -e 'sched:sched_switch[!preempt && prev_state & 1 && prev->comm == "sleep"]{prev->pid}' -- \
		perf record -q -o perf.data -e sched:sched_switch --filter "$filter" "${sleeps[@]}"
	ours=$(awk '{ n += $NF } END { print n + 0 }' "$out")
	perf=$(perf script -i perf.data 2>null | sed -n 's/.*prev_pid=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
	[ "$ours" = "$perf" ] && [ "$perf" -gt 9 ] || fail "perf's sum $perf of sleep's pids, not $ours"
	expect 0 profile -f -e 'kmem:kmalloc[bytes_req > 1000 && comm == "dd"]{bytes_alloc}' -- \
		perf record -q -o perf.data -e kmem:kmalloc --filter 'bytes_req > 1000' -- dd if=/proc/self/maps of=/dev/null bs=64 status=none
	ours=$(awk '{ n += $NF } END { print n + 0 }' "$out")
	perf=$(perf script -i perf.data 2>null | sed -n 's/^ *dd .*bytes_alloc=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
	[ "$ours" = "$perf" ] && [ "$perf" -gt 0 ] || fail "perf's $perf bytes of dd, not $ours"
else
	echo "perf cannot filter here"
fi

# --- top
expect 2 top -e 'sched:sched_switch[prev_stat == 1]'
has "$err" "sched:sched_switch has no field 'prev_stat'; did you mean prev_state\\?"

# --- mistakes: a line, the text, a caret
mistake() { # EVENT COLUMN PATTERN
	expect 2 profile -e "$1" 1
	[ "$(grep -c '' "$err")" = 3 ] || fail "three lines on stderr"
	[ "$(sed -n 2p "$err")" = "  $1" ] || fail "the event in the second line"
	[ "$(sed -n 3p "$err")" = "$(printf '  %*s^' "$2" '')" ] || fail "a caret in column $2 of $1"
	head -n 1 "$err" | grep -qE -- "^soprof: profile: -e: $3\$" || fail "a line that says: $3"
}
mistake 'sched:sched_switch[prev_stat == 2]' 19 "sched:sched_switch has no field 'prev_stat'; did you mean prev_state\\?"
mistake 'kmem:kmalloc[zzz]' 13 "kmem:kmalloc has no field 'zzz'; it has call_site, ptr, bytes_req, .*"
mistake 'sched:sched_switch[prev->pdi == 2]' 25 "struct task_struct has no member 'pdi' in this kernel; did you mean pid\\?"
mistake 'sched:sched_switch[prv->pid == 2]' 19 "sched:sched_switch has no field 'prv'; did you mean prev\\?"
mistake 'raw:sched_switch[prev->mm->zzz]' 27 "struct mm_struct has no member 'zzz' in this kernel.*"
mistake 'sched:sched_switch[prev->pid && prev_comm == "x"]' 32 "prev_comm is a field of the tracepoint's record, which does not go with the arguments of the raw one"
mistake 'sched:sched_switch[prev.pid]' 24 "prev is struct task_struct \\*: its members follow '->'"
mistake 'signal:signal_generate[result == TRACE_SIGNAL_DELIVERD]' 33 ".* has no field 'TRACE_SIGNAL_DELIVERD'; did you mean TRACE_SIGNAL_DELIVERED\\?"
if [ "$slow" = 1 ]; then # of the text alone: the same with every kernel
	mistake 'kmem:kmalloc[bytes_req >]' 24 'a number or the name of a field is missing'
	mistake 'kmem:kmalloc[bytes_req = 3]' 23 "'=' is no operator; is '==' meant\\?"
	mistake 'kmem:kmalloc{bytes_alloc' 12 "'\\{' has no '\\}'"
	mistake 'kmem:kmalloc[1/0]' 14 'division by 0'
	mistake 'kmem:kmalloc[bytes_req > 1]{bytes_req % (4 - 4)}' 38 'division by 0'
	mistake 'kmem:kmalloc[]' 13 'an expression is missing'
	mistake 'kmem:kmalloc[1]more' 15 'this is no event: SYSTEM:EVENT\[FILTER\]\{VALUE\}'
	mistake 'sched:sched_switch[common_flags]' 19 'the field common_flags cannot be used: the kernel gives it to no program'
	mistake 'sched:sched_switch[prev_comm]' 19 'prev_comm is text: compare it by == or != with a text in ""'
	mistake 'sched:sched_switch[prev_comm == "a name that is long"]' 33 'prev_comm has no more than 15 characters'
	mistake 'faults[x > 1]' 6 'only tracepoints, SYSTEM:EVENT, and functions, LIBRARY:FUNCTION, have fields'
	long=$(printf 'prev_pid == %s || ' 1 2 3 4 5 6 7 8)
	mistake "sched:sched_switch[${long}next_pid == 9]" 104 'the expression is too long from here on: it and what else the event needs are more than 24 steps, or 8 numbers at once'
fi
run profile -e 'raw:no_such_tracepoint[x > 1]' 1
[ "$status" = 2 ] || [ "$status" = 3 ] || fail "exit code 2 or 3"
one_line "the kernel's types do not have the arguments of the raw tracepoint no_such_tracepoint"
expect 2 profile -e 'sched:sched_switch[1],sched:sched_switch[1]' 1
one_line 'sched:sched_switch\[1\] is there twice'
finish
