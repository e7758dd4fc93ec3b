/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h: the order of what is sorted, and binary search in it.
 *
 * SP_N_WHILE(n, i, is): of n elements that are sorted, how many come before the first for which `is` does not hold; it
 * is asked of an index i, a new variable. SP_N_BELOW(): how many have a number less than the key, which is the index of
 * the first that has not; SP_N_UP_TO(): how many have one that is not greater. Both take the array, its number of
 * elements (if 0, the array may be NULL), the member, and the key. No state, no errors.
 */
#ifndef SP_BASE_SEARCH_H
#define SP_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#define SP_N_WHILE(n, i, is)                                                                                           \
	__extension__({                                                                                                \
		size_t sp_low = 0, sp_high = (n);                                                                      \
		while (sp_low < sp_high) {                                                                             \
			size_t i = sp_low + (sp_high - sp_low) / 2;                                                    \
			if (is)                                                                                        \
				sp_low = i + 1;                                                                        \
			else                                                                                           \
				sp_high = i;                                                                           \
		}                                                                                                      \
		sp_low;                                                                                                \
	})
#define SP_N_BELOW(array, n, member, key)                                                                              \
	__extension__({                                                                                                \
		const uint64_t sp_key = (key);                                                                         \
		SP_N_WHILE(n, sp_i, (array)[sp_i].member < sp_key);                                                    \
	})
#define SP_N_UP_TO(array, n, member, key)                                                                              \
	__extension__({                                                                                                \
		const uint64_t sp_key = (key);                                                                         \
		SP_N_WHILE(n, sp_i, (array)[sp_i].member <= sp_key);                                                   \
	})

/* The same for an array of plain numbers. */
static inline size_t sp_n_below(const uint64_t *numbers, size_t n, uint64_t key)
{
	return SP_N_WHILE(n, i, numbers[i] < key);
}

static inline size_t sp_n_up_to(const uint64_t *numbers, size_t n, uint64_t key)
{
	return SP_N_WHILE(n, i, numbers[i] <= key);
}

/*
 * For qsort() and bsearch(): -1, 0 or 1, each computed once. Of several numbers the first that differs decides:
 * `SP_FALLING(x->n, y->n) ?: SP_RISING(x->id, y->id)`. SP_ORDER_BY(name, struct thing, id); is such a function.
 */
#define SP_RISING(a, b)                                                                                                \
	__extension__({                                                                                                \
		__typeof__((a) + 0) sp_a = (a);                                                                        \
		__typeof__((b) + 0) sp_b = (b);                                                                        \
		(sp_a > sp_b) - (sp_a < sp_b);                                                                         \
	})
#define SP_FALLING(a, b) SP_RISING(b, a)
#define SP_ORDER_BY(name, type, member)                                                                                \
	static int name(const void *a, const void *b)                                                                  \
	{                                                                                                              \
		return SP_RISING(((const type *)a)->member, ((const type *)b)->member);                                \
	}                                                                                                              \
	_Static_assert(1, "a semicolon ends it")

/* The same for an array of plain numbers. */
static inline int sp_compare_u32(const void *a, const void *b)
{
	return SP_RISING(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int sp_compare_u64(const void *a, const void *b)
{
	return SP_RISING(*(const uint64_t *)a, *(const uint64_t *)b);
}

#endif
