/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.c: what calls are timed with: the CPUs' time-stamp counters, if the kernel trusts them. */
#include "link/file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { TRIES = 20, CALIBRATION_NS = 20000000 };
struct moment {
	uint64_t ticks, ns;
};

/* The two read as close to each other as can be had. */
static struct moment read_both(void)
{
	struct moment best = {0};
	uint64_t shortest = UINT64_MAX;

	for (unsigned i = 0; i < TRIES; i++) {
		struct timespec t;
		uint64_t before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &t);
		uint64_t took = __rdtsc() - before;
		if (took >= shortest)
			continue;
		shortest = took;
		best = (struct moment){before + took / 2, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec};
	}
	return best;
}

/* CPUID 0x80000007: it counts at one rate, also while the CPU sleeps. */
static bool is_constant(void)
{
	unsigned a, b, c, d = 0;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1 << 8) != 0;
}

/* The kernel takes one that is not the same on all CPUs off its list. */
static int is_trusted(void)
{
	SP_FREE char *list = NULL;
	int r = sp_text_read("/sys/devices/system/clocksource/clocksource0/available_clocksource", 4096, &list, NULL);

	for (char *rest = list, *word; r >= 0 && (word = strsep(&rest, " \n"));)
		if (strcmp(word, "tsc") == 0)
			return 1;
	return r < 0 ? r : 0;
}

int sp_calls_ticks(uint64_t *ret_hz)
{
	struct timespec wait = {.tv_nsec = CALIBRATION_NS};
	int r = is_constant() ? is_trusted() : 0;

	if (r < 0)
		return r;
	if (r == 0)
		return sp_fail_said(-ENOTSUP,
				    "calls cannot be timed: the CPUs' time-stamp counters are not one steady clock");
	struct moment from = read_both();
	while (nanosleep(&wait, &wait) < 0 && errno == EINTR)
		;
	struct moment to = read_both();
	if (to.ns <= from.ns || to.ticks <= from.ticks)
		return sp_fail_said(-ENOTSUP, "calls cannot be timed: the time-stamp counter stands still");
	*ret_hz = (uint64_t)((unsigned __int128)(to.ticks - from.ticks) * 1000000000 / (to.ns - from.ns));
	return 0;
}
