/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox strict|filter: goes into a sandbox in which nothing but read, write and exit is allowed, everything else
 * kills, and calls functions of libcounted.so for the first time there, from SITES places of code that lie close
 * together. Prints how many calls it has made; exit code 3.
 */
#define _GNU_SOURCE
#include "counted.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEN(x) x x x x x x x x x x
static long n_calls;
#define CALL n_calls = counted_one(n_calls);

__attribute__((noinline)) static void many(void)
{
	TEN(TEN(TEN(TEN(CALL CALL))))
}

static void filter(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	char text[32];

	if (argc > 1 && strcmp(argv[1], "filter") == 0)
		filter();
	else
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	many();
	n_calls = counted_two(n_calls);
	int len = 0;
	for (long n = n_calls; n > 0 || len == 0; n /= 10)
		text[sizeof(text) - 1 - (size_t)len++] = (char)('0' + n % 10);
	write(1, &text[sizeof(text) - (size_t)len], (size_t)len);
	syscall(SYS_exit, 3);
	return 0;
}
