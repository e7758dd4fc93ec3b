#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# A program with more code without unwind information than is read for its table (as chromium): its stacks are walked by
# the frame pointer, and complete in the profile, since the code around them says that it leads there. Also in a child of
# fork, which has not touched the code that it returns to.
. "$(dirname "$0")/lib.bash"
need_profile
command -v gcc >/dev/null || skip "needs gcc"

cat >"$dir/large.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void deep(int n)
{
	if (n) {
		deep(n - 1);
		sum++;
		return;
	}
	for (;;)
		for (int i = 0; i < 1000; i++)
			sum = sum * 31 + i;
}
__asm__(".fill 34 << 20, 1, 0xcc\n");
__attribute__((noinline)) void far(void)
{
	deep(5);
	sum++;
}
int main(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			far();
		return 1;
	}
	printf("%d\n", child);
	fflush(stdout);
	pause();
}
END
gcc -O1 -fno-omit-frame-pointer -fno-shrink-wrap -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fcf-protection=none \
	-o "$dir/large" "$dir/large.c" || fail "a large program"
"$dir/large" >"$dir/child" &
parent=$!
wait_until 300 test -s "$dir/child" || fail "a child of $parent"
pid=$(cat "$dir/child")
wait_working "$pid"
expect 0 profile -U -f -F $hz -p "$pid" 2
whole 99 "a large program"
grep -q 'main;far;deep;deep;deep;deep;deep;deep ' "$out" || fail "callers: $(head -n 3 "$out")"
kill -KILL "$parent"
wait "$parent" 2>/dev/null
finish
