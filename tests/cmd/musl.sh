#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Programs on musl, which has no unwind information: whole stacks from main's and the threads' start on, dynamic, static
# and stripped. A thread's begins behind clone; signal handlers interrupt what their kernel's frame tells.
. "$(dirname "$0")/lib.bash"
need_profile
command -v musl-gcc >/dev/null || skip "there is no musl-gcc"
source=$SOPROF_SOURCE/tests/victim
flags=(-std=gnu17 -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -D_GNU_SOURCE -w -I"$source" -pthread)
musl-gcc "${flags[@]}" -o "$dir/dynamic" "$source/threads.c" || fail "musl-gcc to work"
musl-gcc "${flags[@]}" -static -o "$dir/static" "$source/threads.c"
cp "$dir/static" "$dir/stripped"
strip "$dir/stripped"

for name in dynamic static stripped; do
	for time in $moment $((3 * seconds)) $((6 * seconds)); do
		expect 0 profile -U -f -F $hz -- "$dir/$name" "$time"
		[ "$(samples)" -lt 50 ] || break
	done
	whole 99 "$name"
	says 'begin with a thread'
	[ $name = stripped ] || has "$out" ';burn [0-9]+$'
done

# Signal handlers: what they return to has no unwind information either, and one name, as everywhere.
musl-gcc "${flags[@]}" -o "$dir/dynamic" "$source/signals.c" && musl-gcc "${flags[@]}" -static -o "$dir/static" "$source/signals.c" ||
	fail "signals.c to compile"
for name in dynamic static; do
	"$dir/$name" 600 &
	pid=$!
	wait_working $pid
	run profile -U -f -F 99 -p $pid 0.2 # its tables are there now
	for time in $seconds $((3 * seconds)) $((9 * seconds)); do
		expect 0 profile -U -f -F $hz -p $pid "$time"
		[ "$(samples)" -lt 100 ] || break
	done
	kill -KILL $pid
	whole 98 "signals, $name"
	has "$out" ';main;([^;]*;)*__restore_rt;on_timer;'
	has "$out" ';raise;[^;]*;__restore_rt;on_other_stack;'
	has_not "$out" ';(on_timer|on_other_stack);burn ' # handler_loop is between
done
finish
