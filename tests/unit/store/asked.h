/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asked.h: for tests of queries: stores with random windows, and a comparison of two profiles row by row.
 *
 * The generator is seeded, so the same seed gives the same windows. A fixture's store is in memory if there is such a
 * file system. The profiles of its windows of the source "cpu" are kept, to be merged by other means. Every error
 * fails the test.
 */
#ifndef SP_TEST_STORE_ASKED_H
#define SP_TEST_STORE_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "store/store.h"

#define S UINT64_C(1000000000)
#define DAY (UINT64_C(20778) * 86400 * S) /* 2026-11-21 */

enum { N_LIBRARIES = 12, N_FUNCTIONS = 20, N_PROCESSES = 9 };

extern uint64_t seed;
uint32_t below(uint32_t n);
/* Returns the number; fails the test if it is negative. */
uint32_t ok(int64_t r);
struct sp_profile *window_make(uint32_t n_rows, uint32_t depth);
/* by_group: without process and thread. */
void assert_same(const struct sp_profile *got, const struct sp_profile *wanted, bool by_group);

struct fixture {
	char place[64];
	struct sp_store *store;
	struct sp_profile **windows;
	uint64_t *times;
	size_t n, capacity, time_capacity;
};
void fixture_open(
    struct fixture *f,
    uint64_t max_memory_bytes); /* small: the writer has little memory, so a day has many dictionaries; 0 = default */
void fixture_done(struct fixture *f);
void fixture_add(struct fixture *f, uint64_t at_ns, const char *source,
		 struct sp_profile *p); /* takes ownership of p */

#endif
