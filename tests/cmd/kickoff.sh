#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Goroutines of gccgo's library begin with runtime.kickoff, which could return, above a return address of 0: stacks are
# whole by its name. By another name such a stack is cut.
. "$(dirname "$0")/lib.bash"
need_profile
cat >"$dir/kickoff.c" <<'END'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void work(void) { for (unsigned int i = 0; i < 200000; i++) sum += i * i; __asm__ volatile(""); }
void kickoff(void) __asm__(NAME);
__attribute__((noinline)) void kickoff(void)
{
	for (volatile unsigned long n = sum; sum != 1; sum ^= n) /* it has a frame, and as far as its rows say, it ends some day */
		work();
}
int main(void)
{
	char *top = (char *)(((unsigned long)malloc(65536) + 65536) & ~15UL) - 8;
	*(void **)top = NULL;
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1" ::"r"(top), "r"(kickoff) : "memory");
}
END
for name in runtime.kickoff other.kickoff; do
	gcc -O2 -DNAME="\"$name\"" -o "$dir/$name" "$dir/kickoff.c" 2>"$dir/log" || { fail "kickoff.c to compile: $(head -n 3 "$dir/log")"; finish; }
	"$dir/$name" &
	pid=$!
	wait_working "$pid"
	expect 0 profile -U -f -F 199 -p "$pid" "$seconds"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	has "$out" ";$name;work "
	[ "$name" = runtime.kickoff ] || continue
	whole 98 "$name"
	says 'begin with a fiber'
done
says 'cut [1-9][0-9]* .*unmapped address'
finish
