#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 60
# Made code at one address in two processes never mixes; it is an address in anonymous memory, and guessed.
. "$(dirname "$0")/lib.bash"
need_profile

start plain jit 600 A
first=$pid
start stripped jit 600 B
wait_working "$first" "$pid"
samples_of() { grep "^$1;" "$out" | count; }
for time in $seconds $((3 * seconds)) $((6 * seconds)); do # others have the CPUs, too, and run jit with names
	expect 0 profile -U -f -F 199 -p "$first,$pid" $time
	[ "$(samples_of jit-A)" -lt 10 ] || [ "$(samples_of jit-B)" -lt 10 ] || break
done
check_victim plain jit --comm jit-A --samples 10
check_victim stripped jit --comm jit-B --samples 10
grep '^jit-A;' "$out" >"$dir/a"
grep '^jit-B;' "$out" >"$dir/b"
# A's inner code calls back into the program, B's does not
has "$dir/a" ';run_jit;\[anon\]\+0x200001[0-9a-f]{2};\[anon\]\+0x200000[0-9a-f]{2};work_a;burn '
has_not "$dir/b" ';\[anon\]\+0x[0-9a-f]+;jit\+0x[0-9a-f]+'
has "$dir/b" ';\[anon\]\+0x200001[0-9a-f]{2};\[anon\]\+0x200000[0-9a-f]{2} '
says 'guessed [1-9]'
finish
