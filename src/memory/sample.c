/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which allocations are sampled: those with a byte at the end of an exponential distance, in their thread's order. */
#include "memory/memory.h"

#include <stdlib.h>
#include <time.h>

enum { MANY = 64 /* of so many mean distances in one block the number is not drawn: it is near its mean */ };

struct thread {       /* zero in a new one; a child of fork goes on where its parent was */
	int64_t left; /* bytes up to the next that is sampled */
	uint64_t random;
};
/* In the space that every thread has from its beginning: no call, no allocation. */
static __thread struct thread thread __attribute__((tls_model("initial-exec")));

static uint64_t distance; /* mean; 0: not known yet */

/* The first call comes from ld.so, or from it by way of libc: environ is there, no constructor has run. */
static uint64_t distance_read(void)
{
	const char *text = getenv("SOPROF_MEMORY");
	uint64_t bytes = text ? strtoull(text, NULL, 10) : 0;

	bytes = bytes && bytes < 1ULL << 40 ? bytes : 512 << 10;
	__atomic_store_n(&distance, bytes, __ATOMIC_RELAXED);
	return bytes;
}

static uint64_t mean(void)
{
	uint64_t bytes = __atomic_load_n(&distance, __ATOMIC_RELAXED);

	return bytes ? bytes : distance_read();
}

bool sp_memory_is_exact(void)
{
	return mean() == 1;
}

bool sp_memory_may_be_exact(void)
{
	return __atomic_load_n(&distance, __ATOMIC_RELAXED) <= 1;
}

/* xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016). */
static uint64_t random_next(struct thread *t)
{
	struct timespec now;

	if (!t->random) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		t->random = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uintptr_t)t) * 0x9e3779b97f4a7c15ULL;
		t->random |= !t->random;
	}
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return t->random * 0x2545f4914f6cdd1dULL;
}

/* -ln(x / 2^64), to 1e-6: of the part in [1, 2) by the series of artanh. Without libm, which the program may not have.
 */
static double minus_log(uint64_t x)
{
	int zeros = __builtin_clzll(x | 1);
	double m = (double)(x << zeros) / 9223372036854775808.0, s = (m - 1) / (m + 1), q = s * s;

	return (zeros + 1) * 0.69314718055994531 - 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q / 9))));
}

static int64_t distance_draw(struct thread *t, uint64_t mean_bytes)
{
	double bytes = minus_log(random_next(t)) * (double)mean_bytes;

	return (int64_t)bytes + 1;
}

/* amount / unit, rounded up or down at random, so that it is right in the mean. */
static uint64_t divided(struct thread *t, uint64_t amount, uint64_t unit)
{
	return amount / unit + (random_next(t) % unit < amount % unit);
}

/* How many sampled bytes it has, and what is left behind it. */
static uint64_t points_draw(struct thread *t, uint64_t size, uint64_t mean_bytes)
{
	uint64_t n = 0;

	if (size / MANY >= mean_bytes) {
		t->left = distance_draw(t, mean_bytes);
		return divided(t, size, mean_bytes);
	}
	for (; t->left <= 0; n++)
		t->left += distance_draw(t, mean_bytes);
	return n;
}

__attribute__((noinline)) static bool sampled(struct thread *t, uint64_t size, uint64_t *ret_bytes, uint64_t *ret_n)
{
	uint64_t mean_bytes = mean(), n;

	if (!t->random) { /* the thread's first: it begins at any place of a distance, which is as far from the next */
		t->left = distance_draw(t, mean_bytes) - (int64_t)size;
		if (t->left > 0 && mean_bytes > 1)
			return false;
	}
	n = mean_bytes == 1 ? size : points_draw(t, size, mean_bytes);
	*ret_bytes = n * mean_bytes;
	*ret_n = mean_bytes == 1 ? 1 : divided(t, *ret_bytes, size);
	return true;
}

bool sp_memory_draw(uint64_t size, uint64_t *ret_bytes, uint64_t *ret_n)
{
	struct thread *t = &thread;

	size += !size; /* malloc(0) is a block, too */
	if (size > INT64_MAX / 4)
		return false; /* there is no such block */
	t->left -= (int64_t)size;
	return __builtin_expect(t->left <= 0, false) && sampled(t, size, ret_bytes, ret_n);
}
