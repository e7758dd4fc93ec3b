/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vdso.c: calls into the vDSO, directly and through a caller of its own. */
#include "victim.h"
#include <sys/time.h>

VICTIM static long read_clock(void)
{
	struct timespec t;
	long n = 0;

	for (int i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_REALTIME, &t);
		n += t.tv_nsec;
	}
	return n;
}

VICTIM static long read_day(void)
{
	struct timeval t;
	long n = 0;

	for (int i = 0; i < 1000; i++) {
		gettimeofday(&t, NULL);
		n += t.tv_usec;
	}
	return n;
}

int main(int argc, char **argv)
{
	long n = 0;

	victim_start(argc, argv);
	while (going_on()) {
		n += read_clock();
		n += read_day();
	}
	return n == 1;
}
