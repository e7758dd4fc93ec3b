/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of what samples stand for, beside what was allocated: within five standard deviations of it. */
#include "memory/memory.h"
#include "test.h"

#include <stdlib.h>

enum { DISTANCE = 1000, BLOCKS = 2000000 / SP_FEWER };

struct sums {
	uint64_t bytes, n, n_samples;
};

static struct sums draw(uint64_t n_blocks, uint64_t (*size_of)(uint64_t i), struct sums *ret_true)
{
	struct sums s = {0};

	for (uint64_t i = 0; i < n_blocks; i++) {
		uint64_t size = size_of(i), bytes, n;

		ret_true->bytes += size;
		ret_true->n++;
		if (!sp_memory_draw(size, &bytes, &n))
			continue;
		s.bytes += bytes;
		s.n += n;
		s.n_samples++;
	}
	return s;
}

static void is_near(uint64_t a, uint64_t b, double deviation)
{
	double difference = (double)a - (double)b;

	if (difference < -5 * deviation || difference > 5 * deviation)
		fail_msg("%llu, not %llu +- %.0f", (unsigned long long)a, (unsigned long long)b, 5 * deviation);
}

static double root(double x)
{
	double r = x;

	for (int i = 0; i < 100; i++)
		r = (r + x / r) / 2;
	return r;
}

static uint64_t small(uint64_t i)
{
	return 1 + i * 7919 % 500;
}

static uint64_t around_distance(uint64_t i)
{
	return 1 + i * 7919 % 3000;
}

static uint64_t many_distances(uint64_t i)
{
	return 63 * DISTANCE + i * 7919 % (3 * DISTANCE);
}

/* A distance stands for DISTANCE bytes; how many there are is Poisson's. */
static void bytes_of(uint64_t n_blocks, uint64_t (*size_of)(uint64_t i))
{
	struct sums want = {0}, got = draw(n_blocks, size_of, &want);

	is_near(got.bytes, want.bytes, DISTANCE * root((double)want.bytes / DISTANCE));
}

static void sums_are_right(void **state)
{
	bytes_of(BLOCKS, small);
	bytes_of(BLOCKS, around_distance);
	bytes_of(BLOCKS / 100, many_distances);
}

static uint64_t of_100(uint64_t i)
{
	return 100;
}

static uint64_t of_5000(uint64_t i)
{
	return 5000;
}

/* Blocks of 100 bytes: a sample stands for 10; of 5000: for a fifth of one, rounded at random. */
static void numbers_are_right(void **state)
{
	struct sums want = {0}, got = draw(BLOCKS, of_100, &want);

	is_near(got.n, want.n, 10 * root((double)want.n / 10));
	want = (struct sums){0};
	got = draw(BLOCKS / 10, of_5000, &want);
	is_near(got.n, want.n, root((double)want.n / 5 + (double)want.n / 4));
}

static void empty_and_impossible(void **state)
{
	uint64_t bytes, n;
	unsigned taken = 0;

	for (int i = 0; i < 100 * DISTANCE; i++)
		taken += sp_memory_draw(0, &bytes, &n);
	assert_true(taken > 50 && taken < 150); /* as blocks of 1 byte */
	assert_false(sp_memory_draw(UINT64_MAX, &bytes, &n));
	assert_false(sp_memory_is_exact());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_are_right),
	    cmocka_unit_test(numbers_are_right),
	    cmocka_unit_test(empty_and_impossible),
	};

	setenv("SOPROF_MEMORY", "1000", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
