#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 130
# Waits beside those who count the same ones: bpftrace's time off the CPU by thread, and by who ended it; perf trace's and strace's calls of futex(2).
. "$(dirname "$0")/lib.bash"
need_profile
command -v bpftrace >/dev/null && command -v perf >/dev/null && command -v strace >/dev/null || skip "needs bpftrace, perf and strace"
unguarded=1
tests=$SOPROF_BUILD/tests/cmd
tell() { # VALUE THREAD [STATE]: its total
	"$SOPROF" report --value "$1" --comm "$2" ${3:+--label "state=$3"} --json "$dir/x.pb.gz" 2>"$dir/null" |
		sed -nE 's/^"total":([0-9]+),.*/\1/p'
}
# seen ARGUMENT...: expect 0; false where the kernel has not shown the end of a wait, whose time is missing then, as is said.
seen() {
	expect 0 "$@"
	! tr -s ' \n' ' ' <"$err" | grep -q "wait was not seen"
}
# again COMMAND...: until it is true, at most five times; what it says is said of the last time only.
again() {
	local result
	for _ in 1 2 3 4 5; do
		"$@" >"$dir/said"
		result=$?
		[ $result != 0 ] || break
	done
	cat "$dir/said"
	return $result
}

# --- by thread, beside bpftrace: sleeps, locks, and all in between ---
all='tracepoint:sched:sched_switch {
	if (!@ready) { @ready = 1; printf("ready\n"); }
	@since[args->prev_pid] = nsecs;
	if (@since[args->next_pid]) {
		@ns[args->next_pid, args->next_comm] = sum(nsecs - @since[args->next_pid]);
		delete(@since[args->next_pid]);
	} }'
trace_begin() { # PROGRAM
	rm -f "$dir/bpftrace"
	bpftrace -q -B line -e "$1" >"$dir/bpftrace" 2>"$dir/null" &
	tracer=$!
	wait_until 600 grep -qs ready "$dir/bpftrace" || fail "bpftrace to begin"
}
trace_end() {
	wait_until 300 eval '! kill -INT $tracer 2>/dev/null' || kill -KILL $tracer
	wait $tracer
}
theirs() { sed -nE "s/^@ns\[[0-9]+, $1\]: ([0-9]+)\$/\1/p" "$dir/bpftrace" | awk '{ n += $1 } END { printf "%.0f", n }'; }
# sums NAME...: whether the sums of these threads are bpftrace's. The kernel runs the program of a classic tracepoint, such as
# bpftrace's, only where none of that kind runs on the CPU: it may miss a switch, too.
sums() {
	local name ours theirs is_same=0
	for name; do
		ours=$(tell offcpu "$name") theirs=$(theirs "$name")
		echo "$name: $ours ns in $(tell samples "$name") waits, $theirs by bpftrace"
		[ "${theirs:-0}" -gt 100000000 ] && [ $((theirs * 995 / 1000)) -le "$ours" ] && [ "$ours" -le $((theirs * 1005 / 1000)) ] || is_same=1
	done
	return $is_same
}
beside_bpftrace() { # NAME,NAME VICTIM...
	local is_seen
	trace_begin "$all"
	seen profile -e offcpu -o "$dir/x.pb.gz" -- "$tests/$2" "${@:3}"
	is_seen=$?
	trace_end
	# shellcheck disable=SC2086
	sums ${1//,/ } && [ $is_seen = 0 ]
}
again beside_bpftrace life-a,life-b,life-c lives 150 || fail "the sums of each thread to be bpftrace's, within 0.5 %"
again beside_bpftrace holder,waiter holder || fail "the sums of each thread to be bpftrace's, within 0.5 %"

# --- by who ended them ---
# By thread, since a new one has the name of who made it. The waker of a thread that sleeps is the last one to have waked
# it; in an interrupt bpftrace names whom it came upon.
wakers='tracepoint:sched:sched_switch {
	if (!@ready) { @ready = 1; printf("ready\n"); }
	if (args->prev_comm == "sleeper") {
		@since[args->prev_pid] = nsecs;
		@sleeps[args->prev_pid] = args->prev_state & 3;
	}
	if (args->next_comm == "sleeper" && @since[args->next_pid]) {
		if (@sleeps[args->next_pid]) {
			@waits[@waker[args->next_pid]] = count();
			@ns[@waker[args->next_pid]] = sum(nsecs - @since[args->next_pid]);
		}
		@since[args->next_pid] = 0;
		@waker[args->next_pid] = "nobody";
	} }
	tracepoint:sched:sched_waking /args->comm == "sleeper"/ { @waker[args->pid] = comm; }'
theirs_by() { sed -nE "s/^@$1\[$2\]: ([0-9]+)\$/\1/p" "$dir/bpftrace"; }
# waker NAME: how many waits, and how long, and who says so.
waker_is_same() {
	local n ns their_n their_ns
	n=$("$SOPROF" report --value samples --by waker --csv --comm sleeper "$dir/x.pb.gz" 2>"$dir/null" | awk -F, -v w="$1" '$2 == w { print $8 }')
	ns=$("$SOPROF" report --by waker --csv --comm sleeper "$dir/x.pb.gz" 2>"$dir/null" | awk -F, -v w="$1" '$2 == w { print $8 }')
	their_n=$(theirs_by waits "$1") their_ns=$(theirs_by ns "$1")
	echo "$1 ended ${n:-0} waits of ${ns:-0} ns, ${their_n:-0} of ${their_ns:-0} by bpftrace"
	[ "${n:-0}" -ge 20 ] && [ "$n" = "$their_n" ] && [ $((their_ns * 995 / 1000)) -le "$ns" ] && [ "$ns" -le $((their_ns * 1005 / 1000)) ]
}
wakers_beside_bpftrace() {
	local is_seen
	trace_begin "$wakers"
	seen profile -e offcpu --waker -o "$dir/x.pb.gz" -- "$tests/rouser"
	is_seen=$?
	trace_end
	waker_is_same rouser && waker_is_same second && [ $is_seen = 0 ]
}
again wakers_beside_bpftrace || fail "as many waits to be ended by each thread as by bpftrace, and as long, within 0.5 %"

# --- futex(2), beside perf trace: how many waits, and how long the calls took ---
# What we count lies within a call, so it is never longer. A call lasts longer than its wait where the thread is preempted
# in it, or its end is told late: as much as the machine is busy, so that is looked at again.
is_within() { # WHAT LEAST VALUE MOST
	[ "$2" -le "$3" ] && [ "$3" -le "$4" ] && return
	echo "$1: not between $2 and $4: $3"
	return 1
}
beside_perf_trace() {
	local n ns calls us
	# sorted by time: else the end of a call that went on at another CPU may be read before its begin, and none is told
	seen profile -e locks -o "$dir/x.pb.gz" -- perf trace --sort-events -o "$dir/calls" -e futex -- "$tests/holder" || return 1
	! grep -q LOST "$dir/calls" || { grep LOST "$dir/calls"; return 1; }
	# A call that another one interrupts has a second line. 0: it waited; EAGAIN: it did not.
	read -r calls us < <(awk '
		{ match($0, /\( *[0-9.]* ms\)/); ms = RLENGTH > 0 ? substr($0, RSTART + 1, RLENGTH - 5) : 0
		  match($0, /[a-z-]+\/[0-9]+ /); who = substr($0, RSTART, RLENGTH) }
		/ op: / { waits[who] = / op: WAIT/ }
		/\) += 0$/ && waits[who] { n++; sum += ms }
		END { printf "%d %d\n", n, sum * 1000 }' "$dir/calls")
	n=$(($(tell samples holder sleeping) + $(tell samples waiter sleeping))) ns=$(($(tell locks holder) + $(tell locks waiter)))
	echo "$n waits for locks, $ns ns; $calls calls of futex(2) that waited, $us us, by perf trace"
	is_within "calls of three times 25 locks" 75 "$calls" 1000 &&
		is_within "waits for locks" $((calls * 95 / 100)) "$n" $((calls + 1 + calls / 100)) && # one call may wait twice
		is_within "ns of waits for locks" $(((us * 98 / 100 - calls * 20) * 1000)) "$ns" $(((us + calls) * 1000)) # told in us
}
again beside_perf_trace || fail "the waits to be perf trace's calls"

# --- the same under strace, which stops the threads at each call: those stops are no waits for locks ---
beside_strace() {
	local n ns calls us
	seen profile -e locks -o "$dir/x.pb.gz" -- strace -f -e trace=futex -T -o "$dir/calls" "$tests/holder" || return 1
	read -r calls us < <(awk '
		/futex\(/ { waits[$1] = /FUTEX_WAIT/ }
		/= 0 <[0-9.]+>$/ && waits[$1] { t = $NF; gsub(/[<>]/, "", t); n++; sum += t }
		END { printf "%d %d\n", n, sum * 1000000 }' "$dir/calls")
	n=$(($(tell samples holder) + $(tell samples waiter))) ns=$(($(tell locks holder) + $(tell locks waiter)))
	echo "$n waits for locks, $ns ns; $calls calls of futex(2) that waited, $us us, by strace"
	is_within "calls of three times 25 locks" 75 "$calls" 1000 &&
		is_within "waits for locks" $((calls * 95 / 100)) "$n" "$calls" &&
		is_within "ns of waits for locks" $((us * 500)) "$ns" $(((us + calls) * 1000)) # a call's end comes late there
}
again beside_strace || fail "the waits to be strace's calls, without its stops"
finish
