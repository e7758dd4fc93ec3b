/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * numbers.h: made-up numbers, the same in each run. The odd ones are those at which arithmetic goes wrong: 0, 1, -1,
 * the ends of 32 and 64 bits, and numbers of every size between.
 */
#ifndef SP_TESTS_NUMBERS_H
#define SP_TESTS_NUMBERS_H

#include <stdint.h>

static inline uint64_t random_number(void)
{
	static uint64_t seed = 88172645463325252ULL;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static inline uint64_t odd_number(void)
{
	static const uint64_t ends[] = {0, 1, 2, 63, 64, 255, UINT32_MAX, INT64_MAX, 1ULL << 63, UINT64_MAX};
	uint64_t n = random_number();

	return n & 1 ? ends[(n >> 8) % (sizeof(ends) / sizeof(*ends))] : n >> ((n >> 8) & 63);
}

#endif
