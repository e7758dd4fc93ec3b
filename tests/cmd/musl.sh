#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Programs on musl, which has no unwind information: whole stacks from main's and the threads' start on, dynamic, static
# and stripped. A thread's begins behind clone.
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
finish
