#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# offcputime by bcc's options: known sleeps, in microseconds; what is too short, too long, in another state or of another kind
# of thread does not count. page-faults is profile -e faults.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
now() { echo "${EPOCHREALTIME/[.,]/}"; } # us
total() { awk -v p="$1" '$0 ~ p { n += $NF } END { printf "%.0f\n", n }' "$out"; }
between() { [ "$2" -le "$3" ] && [ "$3" -le "$4" ] || fail "$1 between $2 and $4, not $3"; }
# As expect; again where the kernel has not shown the end of a wait, whose time is missing then, as the summary says.
seen() {
	for _ in 1 2 3 4; do
		expect "$@"
		tr -s ' \n' ' ' <"$err" | grep -q "wait was not seen" || return 0
	done
}
# Each tells how long it took.
sleeps='for t in 0.05 0.3 0.7; do a=$EPOCHREALTIME; sleep $t; b=$EPOCHREALTIME; echo $((${b/./} - ${a/./})); done >"$0"'
# sleeping OPTION...: the three; again where a busy machine let one sleep past the bounds below.
sleeping() {
	for _ in 1 2 3 4 5 6 7 8 9; do
		seen 0 offcputime -f "$@" -- bash -c "$sleeps" "$dir/took"
		{ read -r short && read -r middle && read -r long; } <"$dir/took" || fail "three sleeps"
		[ "$short" -ge 200000 ] || [ "$middle" -ge 600000 ] || return 0
	done
	fail "sleeps of 0.05 and 0.3 s to take less than 0.2 and 0.6 s"
}

# The layout: the header, an empty line, blocks that end in the thread's name and the time.
began=$(now)
seen 0 offcputime -d -- sleep 0.5
us=$(awk '/^    - +sleep \([0-9]+\)$/ { getline; n += $1 } END { print n + 0 }' "$out")
between 'us asleep' 475000 "$us" $(($(now) - began))
[ "$(sed -n 1p "$out")" = 'Tracing off-CPU time (us) of sleep by user + kernel stack... Hit Ctrl-C to end.' ] || fail "bcc's header"
[ -z "$(sed -n 2p "$out")" ] && has <(sed -n 3p "$out") '^    [^ ]' || fail "an empty line, then stacks"
has "$out" '^    --$'
has "$out" '^    (__)?clock_nanosleep$'
expect 0 offcputime -u 1
[ "$(sed -n 1p "$out")" = 'Tracing off-CPU time (us) of user threads by user + kernel stack for 1 secs.' ] || fail "bcc's header"

# Each sleep by itself.
sleeping -m 200000
between 'us of the two long sleeps' 950000 "$(total '^sleep;.*nanosleep')" $((middle + long))
sleeping -M 200000
between 'us of the short sleep' 47000 "$(total '^sleep;.*nanosleep')" 299999
sleeping -m 200000 -M 600000
between 'us of the middle sleep' 285000 "$(total '^sleep;.*nanosleep')" "$middle"
awk '$NF < 200000 { exit 1 }' "$out" || fail "no waits below 0.2 s"

# The options of bcc's, in folded form; halves.
seen 0 offcputime -dfK --stack-storage-size 2048 -- sleep 0.2
has "$out" '^sleep;[^-]*nanosleep.* [0-9]+$'
has_not "$out" '__libc_start_main'
seen 0 offcputime -dfU -- sleep 0.2
has "$out" '^sleep;.*__libc_start_main;.*nanosleep [0-9]+$'
has_not "$out" ';schedule'
seen 0 offcputime -dfs -- sleep 0.2
has "$out" '^sleep;.*;-;entry_SYSCALL.*schedule [0-9]+$'

# States: a sleep that signals end is 1; none is preempted, but for a thread on its way to sleep, which others may be let
# before: it does not call schedule() itself. None is in another state.
seen 0 offcputime -f --state 1 -- sleep 0.3
between 'us in state 1' 285000 "$(total '^sleep;.*nanosleep')" 100000000
for state in 0 2 4; do
	expect 0 offcputime -f --state $state -- sleep 0.3
	[ "$(total '^sleep;.*nanosleep;schedule[; ]')" = 0 ] && { [ $state = 0 ] || [ "$(total '^sleep;.*nanosleep')" = 0 ]; } ||
		{ cat "$out"; fail "no sleep in state $state"; }
done
seen 0 offcputime -f --state 3 -- sleep 0.3
between 'us in state 1 or 2' 285000 "$(total '^sleep;.*nanosleep')" 100000000
# Two that want one CPU take turns: each is preempted.
cpu=$(awk '/^Cpus_allowed_list/ { split($2, a, "[-,]"); print a[1] }' /proc/self/status)
seen 0 offcputime -f --state 0 -- taskset -c "$cpu" bash -c 'for i in 1 2; do (for ((i = 0; i < 100000; i++)); do :; done) & done; wait'
between 'us preempted' 1000 "$(total '^bash;')" 100000000
[ "$(total 'wait[a-z0-9_]*;schedule[; ]')" -lt $(($(total '^bash;') / 2)) ] || fail "no sleep of who waits for them"

# The threads: a process, a thread, user threads, kernel threads.
sleep 1000 &
pid=$!
bash -c 'while read -rt 0.05 <> <(:); [ $? -gt 128 ]; do :; done' &
other=$!
for option in -p -t; do
	began=$(now)
	expect 0 offcputime -f $option $other $seconds
	between "us of a process by $option" $((seconds * 700000 / slow)) "$(total '^bash;')" $(($(now) - began))
	[ "$(total '^bash;')" = "$(total .)" ] || fail "nothing but bash"
done
# Of one that waited before, without its user stack: no frames are missing, which were not asked for.
expect 0 offcputime -fK -p $pid $seconds
has "$out" '^sleep;entry_SYSCALL.*nanosleep [0-9]+$'
has "$err" '^samples  *1 in .*; lost 0$'
expect 0 offcputime -f -u $seconds
has "$out" '^bash;.*poll|^bash;.*select'
has_not "$out" ';ret_from_fork(_asm)?;kthread;'
expect 0 offcputime -f -k $seconds
has "$out" ';kthread;'
awk '!/;kthread;|^[^;]*;ret_from_fork|Missed|^[^; ]* [0-9]+$/ { exit 1 }' "$out" || fail "kernel threads only, not: $(grep -v kthread "$out" | head -n 2)"
has_not "$out" '^(bash|sleep);'
expect 0 offcputime -f $seconds
has "$out" ';kthread;'
has "$out" '^bash;'
kill $pid $other

# Files are those of profile, and have nanoseconds.
seen 0 offcputime -o "$dir/x.pb.gz" -- sleep 0.3
expect 0 report --value offcpu --json "$dir/x.pb.gz"
between 'ns in the file' 285000000 "$(sed -nE 's/^"total":([0-9]+),.*/\1/p' "$out")" 100000000000

# page-faults
expect 0 page-faults -f -- true
has "$out" '^true;'
[ "$(total '^true;')" -gt 20 ] || fail "page faults"

# What makes no sense: one line.
expect 2 offcputime -u -k
one_line 'offcputime: -u and -k exclude each other'
expect 2 offcputime -p $$ -t $$
one_line '-p and -t exclude each other'
expect 2 offcputime -U -K
one_line '-U and -K exclude each other'
expect 2 offcputime -m 0
one_line '-m'
expect 2 offcputime -m 5 -M 3
one_line 'no wait takes at least 5 us and at most 3 us'
expect 2 offcputime --state x
one_line '--state'
expect 2 offcputime --state -1
one_line '--state'
expect 2 offcputime -F 99
one_line 'offcputime: unknown option -F'
expect 1 offcputime -p 4000000
one_line 'offcputime: -p: there is no process 4000000$'
expect 1 offcputime -t 4000000
one_line 'offcputime: there is no thread 4000000$'
expect 2 offcputime 0
one_line 'SECONDS'
finish
