/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asked.h: stores of made-up windows, and two profiles compared row by row, for the tests of questions.
 *
 * Chance is a generator of our own: the same seed, the same windows. A store of a fixture lies in memory where there is
 * such a file system; its windows' profiles of the source "cpu" are kept beside it, to be merged by other means. Every
 * failure is the test's.
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
/* The number, which is no failure. */
uint32_t ok(int64_t r);
struct sp_profile *window_make(uint32_t n_rows, uint32_t depth);
/* by_group: whatever the process, and whichever the thread. */
void assert_same(const struct sp_profile *got, const struct sp_profile *wanted, bool by_group);

struct fixture {
	char place[64];
	struct sp_store *store;
	struct sp_profile **windows;
	uint64_t *times;
	size_t n, capacity, time_capacity;
};
void fixture_open(struct fixture *f, uint64_t max_memory_bytes); /* small: many dictionaries a day; 0 = usual */
void fixture_done(struct fixture *f);
void fixture_add(struct fixture *f, uint64_t at_ns, const char *source, struct sp_profile *p); /* takes p */

#endif
