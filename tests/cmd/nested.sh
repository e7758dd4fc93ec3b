#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Programs that come one within another, in interrupts and between threads, at high rates: each has its own scratch, so every
# stack is the one that the program's text allows, whichever event took it, and none is lost for want of room.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
# An emulated CPU has no time for anything else if its timer rings more often than its interrupt's program ends.
hz=$((slow > 1 ? 49 : 399))
start plain recursion 600 5
recursion=$pid
tracepoints=sched:sched_switch,timer:hrtimer_start,timer:hrtimer_expire_entry,timer:hrtimer_cancel
expect 0 profile -U -F $((hz * 5)) -e "cpu,offcpu,faults,$tracepoints" -p "$recursion" -o "$dir/x.pb.gz" $((2 * seconds))
has_not "$err" 'inside another'
for value in cpu offcpu timer:hrtimer_expire_entry timer:hrtimer_start; do
	expect 0 report --value $value --format folded "$dir/x.pb.gz"
	[ -s "$out" ] || { [ $value = offcpu ] && continue; } # it may have had the CPU for itself
	check_victim plain recursion --complete 99
done

# A system call's program runs with interrupts on: the clock comes within it all the time.
dd if=/dev/zero of=/dev/null bs=1 status=none 2>"$dir/null" &
pid=$!
until [ "$(cat /proc/$pid/comm)" = dd ]; do sleep 0.02; done
expect 0 profile -F $((hz * 10)) -e cpu,syscalls:sys_enter_write,syscalls:sys_exit_read -p "$pid" -o "$dir/x.pb.gz" $((2 * seconds))
has_not "$err" 'inside another'
whole 99 dd
for value in cpu syscalls:sys_enter_write syscalls:sys_exit_read; do
	expect 0 report --value $value --format folded "$dir/x.pb.gz"
	awk '!/^dd;(dd\+0x[0-9a-f]+;)*_?_?libc_start/ && !/^dd;_start;__libc_start_main;/ { bad += $NF } { all += $NF }
		END { exit !(all > 0 && bad * 100 <= all) }' "$out" || fail "stacks of $value that begin where dd does: $(head -n 3 "$out")"
done
kill $pid
finish
