/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crowd.c: `crowd N`: N processes of one program that work a little, each about every two seconds, until killed. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((noipa)) static void work(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

static void one(unsigned int seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nice(10) < 0)
		_exit(1);
	for (;;) {
		usleep(1000000 + seed * 997 % 2000000);
		work(500000);
	}
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 10;

	for (unsigned int i = 0; i < n; i++) {
		if (fork() == 0)
			one(i);
	}
	pause();
	return 0;
}
