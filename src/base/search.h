/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h: binary search in arrays that are sorted by a 64-bit number.
 *
 * The number is a member of the elements, or the element itself. SP_N_BELOW(): how many are less than the key, which
 * is the index of the first that is not; SP_N_UP_TO(): how many are not greater. Both take the array, its number of
 * elements (if 0, the array may be NULL), and the key. No state, no errors.
 */
#ifndef SP_BASE_SEARCH_H
#define SP_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t sp_n_before(const void *array, size_t n, size_t bytes, size_t offset, uint64_t key,
				 bool with_equal)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t at = *(const uint64_t *)((const char *)array + middle * bytes + offset);

		if (at < key || (with_equal && at == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define SP_IS_U64(number) _Static_assert(_Generic((number), uint64_t : 1, default : 0), "not a number of 64 bits")
#define SP_N_BEFORE(array, n, member, key, with_equal)                                                                 \
	({                                                                                                             \
		SP_IS_U64((array)->member);                                                                            \
		sp_n_before(array, n, sizeof(*(array)), offsetof(__typeof__(*(array)), member), key, with_equal);      \
	})
#define SP_N_BELOW(array, n, member, key) SP_N_BEFORE(array, n, member, key, false)
#define SP_N_UP_TO(array, n, member, key) SP_N_BEFORE(array, n, member, key, true)

/* The same for an array of plain numbers. */
static inline size_t sp_n_below(const uint64_t *numbers, size_t n, uint64_t key)
{
	return sp_n_before(numbers, n, sizeof(*numbers), 0, key, false);
}

static inline size_t sp_n_up_to(const uint64_t *numbers, size_t n, uint64_t key)
{
	return sp_n_before(numbers, n, sizeof(*numbers), 0, key, true);
}

/* For qsort() of plain numbers. */
static inline int sp_compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

#endif
