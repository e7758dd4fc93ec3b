#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Waiting: how long, where, in which state; together with the CPU time it is a thread's life.
. "$(dirname "$0")/lib.bash"
need_profile
unguarded=1
now() { echo $((${EPOCHREALTIME/[.,]/} * 1000)); } # ns
# total PATTERN: the sum of the folded stacks that match.
total() { awk -v p="$1" '$0 ~ p { n += $NF } END { printf "%.0f\n", n }' "$out"; }
# between WHAT LOW N HIGH
between() { [ "$2" -le "$3" ] && [ "$3" -le "$4" ] || fail "$1 between $2 and $4, not $3"; }

# A sleep is there as long as it was, and not longer; behind it the whole stack. Its clock goes before the thread is off its
# CPU, by ms where that is emulated.
began=$(now)
expect 0 profile -f -e offcpu -- sleep 0.5
between 'ns asleep' 475000000 "$(total '^sleep;.*nanosleep')" $(($(now) - began))
has "$out" '^sleep;.*;__libc_start_main;.*nanosleep.*;(__)?schedule [0-9]+$'
has_not "$out" '(bpf_prog_|bpf_trace_run|__bpf_trace_|__traceiter_)'
has "$err" 'library \(% of offcpu\)'

# What still waits when the sampling ends counts as far as it went. It began to wait while it was looked at. With --min
# nobody has walked its stack before the end, when soprof has no privileges any more.
for min in '' '--min 10000'; do
	rm -f "$dir/long"
	bash -c 'for ((;;)); do read -rt 0.1 <> <(:); [ ! -e "$0" ] || exec sleep 1000; done' "$dir/long" &
	pid=$!
	began=$(now)
	# shellcheck disable=SC2086
	"$SOPROF" profile -o "$dir/x.pb.gz" -e offcpu $min --max-overhead 0 -p $pid $((seconds + 2)) >"$out" 2>"$err" </dev/null &
	job=$!
	wait_sampling $job
	touch "$dir/long"
	what="profile -e offcpu $min -p"
	wait $job || fail "exit code 0"
	expect 0 report --label state=sleeping --format folded "$dir/x.pb.gz"
	between 'ns of what still sleeps' 100000000 "$(total '^sleep;.*nanosleep')" $(($(now) - began))
	has "$out" '^sleep;.*;__libc_start_main;.*nanosleep.*;hrtimer_nanosleep'
	kill $pid
done

# Waits shorter than asked for are none.
expect 0 profile -f -e offcpu --min 300000 -- sh -c 'sleep 0.4; sleep 0.01'
awk '$NF < 300000000 { exit 1 }' "$out" || fail "no waits below 0.3 s"
between 'ns of the long sleep' 380000000 "$(total '^sleep;.*nanosleep')" 100000000000

# States go with the keys.
expect 0 profile -o "$dir/x.pb.gz" -e offcpu -- sleep 0.5
expect 0 report --label state=sleeping --json "$dir/x.pb.gz"
between 'ns in state sleeping' 475000000 "$(sed -nE 's/^"total":([0-9]+),.*/\1/p' "$out")" 100000000000

# On and off the CPU, as one value: a life. The shell tells how long its own was, without its beginning and end. An emulated CPU's clock
# is held back by the kernel (perf_cpu_time_max_percent).
if [ "$slow" = 1 ]; then
	began=$(now)
	expect 0 profile -o "$dir/x.pb.gz" -F 999 -e wall -- bash -c '
		t=$EPOCHREALTIME
		for i in {1..40000}; do :; done
		read -rt 0.4 <> <(:)
		for i in {1..40000}; do :; done
		echo $((${EPOCHREALTIME/[.,]/} - ${t/[.,]/})) >"$0"' "$dir/life"
	whole=$(($(now) - began))
	life=$(($(cat "$dir/life") * 1000))
	expect 0 report --json "$dir/x.pb.gz" --process bash
	wall=$(sed -nE 's/^"total":([0-9]+),.*/\1/p' "$out")
	expect 0 report --label state=running --json "$dir/x.pb.gz" --process bash
	on=$(sed -nE 's/^"total":([0-9]+),.*/\1/p' "$out" | head -n 1)
	say "$wall ns, $on of them on the CPU, of a life of $life ns and more"
	between 'ns on and off the CPU' $((life * 95 / 100)) "$wall" $whole
	between 'ns on the CPU' 20000000 "$on" $((wall - 380000000))
fi

# Waits for locks are those in futex(2), and no more than all waits. Threads of xz wait for each other.
head -c 400000 "$SOPROF" >"$dir/input"
for min in '' '--min 2'; do
	# shellcheck disable=SC2086
	expect 0 profile -o "$dir/x.pb.gz" -e locks,offcpu $min -- xz -0 -T2 --block-size=65536 -kf "$dir/input"
	expect 0 report --value locks --format folded "$dir/x.pb.gz"
	locks=$(total .)
	[ "$locks" -gt 0 ] || fail "threads that wait"
	# where a kernel stack found room in the ring, it is that call's
	awk '/;do_syscall_64;/ { n++ } /;do_syscall_64;/ && !/futex/ { bad++ } END { exit bad || !n }' "$out" ||
		fail "only waits in futex(2), not: $(grep -v futex "$out" | head -n 3)"
	expect 0 report --value offcpu --format folded "$dir/x.pb.gz"
	[ "$(total .)" -ge "$locks" ] || fail "$locks ns to be no more than $(total .)"
	expect 0 report --by lock --value locks --csv "$dir/x.pb.gz"
	has "$out" '^lock,[^,]'
done

# A thread that waits in other stacks than it did last: each has its own waits, however alike they are. A sleep whose end
# comes before the thread has gone to sleep is no wait. So it is where the thread was looked at when it was back.
for min in '' '--min 100'; do
	# shellcheck disable=SC2086
	expect 0 profile -e offcpu -U $min --max-overhead 0 -o "$dir/x.pb.gz" -- "$SOPROF_BUILD/tests/cmd/turns" 100
	unseen=$(tr -s ' \n' ' ' <"$err" | sed -nE "s/.*end of a thread's wait was not seen ([0-9]+).*/\1/p")
	expect 0 report --value samples --label state=sleeping --format folded "$dir/x.pb.gz"
	for way in by_left by_right shallow deep; do
		between "waits by $way" $((90 - ${unseen:-0})) "$(total ";$way;(.*;)?waits;")" 100
	done
	has "$out" ';shallow;(down;){3}waits;'
	has "$out" ';deep;(down;){41}waits;'
	has_not "$out" '^[^;]*;[^;]*;waits;'
done

# Threads that wait all the time, before there are tables of their files: each stack is sent once, and none of those in
# the pipe is cut. Where others want the CPUs, too, a thread may be preempted where nothing tells of its frame.
if [ "$slow" = 1 ] && command -v perf >/dev/null; then
	expect 0 profile -v -e offcpu --max-overhead 0 -- perf bench sched pipe -l 10000
	says "; lost(: the end of a thread's wait was not seen [0-9]+| 0) stacks"
	awk 'BEGIN { RS = "" } /pipe_(read|write)/ { n++; bad += /\[cut/ } END { exit bad || !n }' "$out" || fail "whole stacks in the pipe"
	has "$err" 'stacks +complete .* cut [0-9] '
fi

# What the kernel counts of each thread itself: waits, page faults; on and off the CPU together are its life. A wait whose
# end the kernel has not shown is told; then its time is missing.
tell() { # VALUE THREAD [STATE]: its total; 0 where there is nothing of it
	local n
	n=$("$SOPROF" report --value "$1" --comm "$2" ${3:+--label "state=$3"} --json "$dir/x.pb.gz" 2>"$dir/null" |
		sed -nE 's/^"total":([0-9]+),.*/\1/p')
	echo "${n:-0}"
}
# ns in which another machine had the CPUs: then a thread neither runs nor waits.
stolen() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.0f", $9 * 1e9 / hz }' /proc/stat; }
if [ "$slow" = 1 ] && [ "$(cat /proc/sys/kernel/perf_event_max_sample_rate)" -gt 4999 ]; then
	before=$(stolen)
	expect 0 profile -o "$dir/x.pb.gz" -F 4999 -e cpu,offcpu,faults -- "$SOPROF_BUILD/tests/cmd/lives" 200
	stolen=$(($(stolen) - before))
	cp "$out" "$dir/lives"
	unseen=$(tr -s ' \n' ' ' <"$err" | sed -nE "s/.*end of a thread's wait was not seen ([0-9]+).*/\1/p")
	while read -r name life outer waits faults ran; do
		n=$(($(tell samples "$name" sleeping) + $(tell samples "$name" 'disk sleep')))
		between "waits of $name" $((waits - ${unseen:-0})) $n $((waits + 2))
		between "page faults of $name" "$faults" "$(tell faults "$name")" $((faults + 5))
		on=$(tell cpu "$name") off=$(tell offcpu "$name")
		say "$name: $on ns by samples, $ran ns by the kernel's books; with $off ns off the CPU $((on + off)) and" \
			"$((ran + off)) of $life to $outer, $stolen of them perhaps stolen; ends not seen: ${unseen:-0}"
		# The books say that a thread runs from when it is woken, before it has a CPU; samples may be missing. It may
		# have waited for a CPU before its first own step, and behind its last.
		between "ns of $name, by the books" $((life * 995 / 1000 - stolen)) $((ran + off)) 100000000000
		between "ns of $name, by samples" 0 $((on + off)) $((outer * 1005 / 1000))
	done <"$dir/lives"
	[ "$(wc -l <"$dir/lives")" = 3 ] || fail "three threads"
fi

expect 2 profile -e wall,cpu 1
one_line 'wall is cpu and offcpu as one value'
expect 2 profile -e faults --min 5 1
one_line '--min is for events that last'
finish
