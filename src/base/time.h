/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time.h: clocks, as nanoseconds in 64 bits.
 *
 * CLOCK_MONOTONIC for durations, CLOCK_BOOTTIME to compare with processes' start times, CLOCK_REALTIME for what is
 * stored, CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID for CPU time used. These clocks cannot fail on Linux;
 * a clock that does not exist gives 0. Thread-safe.
 */
#ifndef SP_BASE_TIME_H
#define SP_BASE_TIME_H

#include <limits.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#define SP_NS_PER_S UINT64_C(1000000000)

uint64_t sp_time_ns(clockid_t clock);

/* How long poll(2) may wait for a moment of CLOCK_MONOTONIC: 0 = it has come; -1 = for ever, for UINT64_MAX. */
static inline int sp_ms_until(uint64_t at_ns)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), ms = at_ns > now ? (at_ns - now - 1) / 1000000 + 1 : 0;

	return at_ns == UINT64_MAX ? -1 : ms < INT_MAX ? (int)ms : INT_MAX;
}

/* The shorter of two such waits. */
static inline int sp_ms_sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static inline uint64_t sp_timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * SP_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* CPU time, of user and kernel mode. */
static inline uint64_t sp_rusage_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * SP_NS_PER_S +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

#endif
