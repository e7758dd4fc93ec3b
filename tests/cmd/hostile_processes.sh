#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 250
# Processes that do harm by what they are many of: mappings, stacks, numbers used again; and a profiler that is stopped.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
hostile=$victims/hostile
test_name() { say "-- $1"; }
# what its CPU time says that a process should have in samples at 199 Hz
expected() { awk -v hz="$(getconf CLK_TCK 2>/dev/null || echo 100)" '{ print int(($14 + $15) * 199 / hz) }' "/proc/$1/stat"; }

test_name 'a process with 65,508 mappings of a file with a long path'
mkdir "$dir/deep"
"$hostile" maps 600 "$dir/deep" 65508 </dev/null >/dev/null 2>"$dir/trouble" &
maps=$! tries=300
until grep -q mappings "$dir/trouble"; do
	[ $((tries -= 1)) -gt 0 ] || break
	sleep 0.1
done
has "$dir/trouble" '^6[0-9]{4} mappings'
start plain callback 600
callback=$pid
wait_working "$callback"
at_ease "$maps" "$callback"
began=$SECONDS
expect 0 profile -U -f -F 199 $((2 * seconds))
[ $((SECONDS - began)) -lt $((100 * slow)) ] || fail "to end soon after it was told, not after $((SECONDS - began)) s"
check_victim plain callback --comm callback --samples 10 --complete 97
has "$out" '^hostile;_start;.*hostile_work;burn '
expect 0 profile -U -f -F 199 -p "$maps" $seconds
has "$out" '^hostile;_start;.*hostile_work;burn '
kill -KILL "$maps"
wait "$maps" 2>/dev/null
# the names are too long for a shell to remove at once
(cd "$dir/deep" && find . -delete)

test_name 'stacks that never come twice'
"$hostile" stacks 600 </dev/null >/dev/null 2>&1 &
stacks=$!
wait_working $stacks
what='profile (stacks that never come twice)'
"$SOPROF" profile -U -f -F 199 --stack-storage-size 64 --hash-storage-size 100000 -p $stacks $((2 * seconds)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
before=$(expected $stacks)
sleep $((2 * seconds)) # what comes after is not sampled
after=$(expected $stacks)
wait $profiler || fail "exit code 0"
[ "$(samples)" -ge $(((after - before) / 3)) ] || fail "a third of $((after - before)) samples at least, not $(samples)"
grep '^hostile;_start;' "$out" | count >"$dir/whole"
[ "$(($(cat "$dir/whole") * 100))" -ge "$(($(samples) * 97))" ] || fail "stacks from the root down: $(grep -v '^hostile;_start;' "$out" | head -n 1)"
expect 0 profile -U -f -F $((slow > 1 ? 499 : 4999)) -p $stacks $((2 * seconds))
[ "$(sort -u "$out" | wc -l)" -ge $((slow > 1 ? 20 : 500)) ] || fail "many different stacks"
kill -KILL $stacks
wait $stacks 2>/dev/null

test_name 'soprof stopped for a while, goes on'
what='profile (stopped for a while)'
"$SOPROF" profile -U -f -F 199 $((slow > 1 ? 16 : 7)) >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler
sleep 0.5
kill -STOP $profiler
# longer than a worker may take, and a program that runs and ends meanwhile
"$victims/plain/recursion" $seconds 30
sleep $((slow > 1 ? 4 : 3))
kill -CONT $profiler
wait $profiler || fail "exit code 0"
check_victim plain callback --comm callback --samples 30 --complete 97
grep -q '^recursion;' "$out" || fail "samples of what ran while it was stopped"
kill -KILL "$callback"
wait "$callback" 2>/dev/null

test_name 'one number for one program after the other'
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	export SOPROF victims dir seconds
	what='profile (pids used again)'
	unshare --pid --fork --kill-child --mount-proc bash -c '
		"$SOPROF" profile -U -F 199 --format perf -o "$dir/x.perf" 600 >/dev/null 2>"$dir/log" &
		profiler=$!
		until ls -l /proc/[0-9]*/fd 2>/dev/null | grep -q perf_event; do sleep 0.1; done
		for name in recursion callback vdso; do
			echo 299 >/proc/sys/kernel/ns_last_pid
			"$victims/plain/$name" "$seconds" &
			echo "$name $!" >>"$dir/numbers"
			wait $!
		done
		kill -TERM $profiler # it writes what it has
		wait $profiler' >"$dir/log2" 2>&1
	cp "$dir/log" "$err"
	[ "$(cut -d ' ' -f 2 "$dir/numbers" | sort -u)" = 300 ] || say "the number did not come again: $(tr '\n' ' ' <"$dir/numbers")"
	for name in recursion callback vdso; do
		expect 0 report --comm "$name" --format folded "$dir/x.perf"
		check_victim plain $name --comm $name --samples 10 --complete 97
	done
else
	say "no pid namespaces here"
fi
finish
