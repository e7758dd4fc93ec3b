/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victim.h: what the victims share. A victim is a program whose legal call chains are known and stand in NAME.truth.
 *
 * `victim SECONDS [ARGUMENT]` works for that long (default 3) and ends with 0. `0.6cpu`: until it has used that much of
 * a CPU, so that as many samples fall in it on a busy machine as on a quiet one. Each function here is noipa and
 * static: it stays a function of its own, under its own name, in every program. burn() is the leaf in which samples
 * shall fall; its loop makes no calls. Not thread-safe, except burn() and going_on().
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VICTIM __attribute__((noipa))

/* Keeps the compiler from making a call the last thing that its caller does (a jump would lose the caller's frame). */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static clockid_t victim_clock = CLOCK_MONOTONIC;
static double victim_deadline;
static const char *victim_argument;

VICTIM static double victim_now(void)
{
	struct timespec t;

	clock_gettime(victim_clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((unused)) VICTIM static void victim_start(int argc, char **argv)
{
	char *unit = "";
	double seconds = argc > 1 ? strtod(argv[1], &unit) : 3;

	if (strcmp(unit, "cpu") == 0)
		victim_clock = CLOCK_PROCESS_CPUTIME_ID;
	victim_deadline = victim_now() + seconds;
	victim_argument = argc > 2 ? argv[2] : NULL;
}

__attribute__((unused)) VICTIM static bool going_on(void)
{
	return victim_now() < victim_deadline;
}

VICTIM static void burn(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

#endif
