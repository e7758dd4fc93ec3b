/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made.h: random profiles, and their sums and those of a store's windows as text.
 *
 * A sum is a table of texts ("library X", "function X F", "stack ...", "who ...") with the values of their rows. So
 * what was written to a store and what was read can be compared without the numbers of either.
 */
#ifndef SP_TEST_STORE_MADE_H
#define SP_TEST_STORE_MADE_H

#include "base/intern.h"
#include "profile/profile.h"
#include "store/files/scan.h"

struct sums {
	struct sp_intern *texts;
	int64_t *values; /* n_values of each text */
	size_t capacity;
	uint32_t n_values;
};
struct sums sums_new(uint32_t n_values);
void sums_done(struct sums *s);
/* Sums of the rows of a profile; by_group: who as in roll-ups. */
void sums_of_profile(struct sums *s, const struct sp_profile *p, bool by_group);
void sums_of_window(struct sums *s, const struct sp_scan_window *w, bool by_group);
/* Sums of all windows of a store at a resolution; returns their number. */
size_t sums_of_store(struct sums *s, struct sp_store *store, int resolution, bool by_group);
/* Fails the test if they differ. */
void sums_equal(const struct sums *a, const struct sums *b);

struct made {
	uint64_t seed;
	uint32_t n_files, n_funcs, n_stacks, n_keys, n_rows, n_values;
};
uint64_t made_random(uint64_t *seed);
/* A profile with all kinds of files, frames, stacks and keys; each call adds rows with the same names. */
void made_things(struct sp_profile *p, const struct made *m, uint64_t *seed);
void made_rows(struct sp_profile *p, const struct made *m, uint64_t *seed);

/* An empty profile. */
struct sp_profile *made_profile(void);

/* Creates a store with a window of 9 s that lost 3 samples; fails the test on an error. */
struct sp_store *made_store(const char *path, const struct sp_store_options *o);
void made_add(struct sp_store *s, uint64_t wall_ns, const struct sp_profile *p, const char *source);

/* Creates an empty directory (free the path); removes it with its content. */
char *made_directory(void);
void made_directory_gone(char *path);

#endif
