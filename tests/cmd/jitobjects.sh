#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Code made at run time has the names that its process tells debuggers (GDB's JIT interface), while it runs: of a program of
# ours, which also tells nonsense, and of LLVM's lli, whose list is in a library. Where gdb is, it says the same.
. "$(dirname "$0")/lib.bash"
need_profile

start plain jit 600 A objects
wait_working "$pid"
expect 0 profile -U -f -F 199 -p "$pid" $seconds
has "$out" ';run_jit;jit_outer;jit_inner;work_a;'
says "GDB's list of JIT code: 1 of 2 objects make no sense"
kill -KILL "$pid"

if command -v lli >/dev/null && command -v clang >/dev/null; then
	cat >"$dir/loop.c" <<-'END'
	static volatile unsigned long sink;
	__attribute__((noinline)) unsigned long made_inner(unsigned long n)
	{
		unsigned long s = 0;
		for (unsigned long i = 0; i < n; i++)
			sink = s = s * 31 + i;
		return s;
	}
	int main(void)
	{
		unsigned long r = 0;
		for (unsigned long i = 0; i < 100000000; i++)
			r ^= made_inner(100000) + 1;
		return r == 3;
	}
	END
	clang -O1 -S -emit-llvm -o "$dir/loop.ll" "$dir/loop.c" || fail "clang to compile"
	lli "$dir/loop.ll" &
	pid=$!
	wait_working "$pid"
	for time in $seconds $((3 * seconds)) $((6 * seconds)); do # until it has compiled
		expect 0 profile -U -f -F 199 -p "$pid" $time
		! grep -q made_inner "$out" || break
	done
	has "$out" '^lli;(.*;)?made_inner '
	if command -v gdb >/dev/null; then
		gdb -p "$pid" -batch -ex bt >"$dir/gdb" 2>/dev/null
		has "$dir/gdb" ' made_inner \(\)'
	fi
	kill -KILL "$pid"
fi
finish
