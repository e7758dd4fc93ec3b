/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made.h: profiles made by chance, and what they and the windows of a store add up to, in words.
 *
 * A sum is a table of texts ("library X", "function X F", "stack ...", "who ...") with the values of the rows that they
 * are of, so that what went into a store and what comes out can be compared without either's numbers.
 */
#ifndef SP_TEST_STORE_MADE_H
#define SP_TEST_STORE_MADE_H

#include "base/intern.h"
#include "profile/profile.h"
#include "store/files/scan.h"

struct sums {
	struct sp_intern *texts;
	int64_t *values; /* n_values for each text */
	size_t capacity;
	uint32_t n_values;
};
struct sums sums_new(uint32_t n_values);
void sums_done(struct sums *s);
/* The rows of a profile; by_group: who is told as roll-ups have it. */
void sums_of_profile(struct sums *s, const struct sp_profile *p, bool by_group);
void sums_of_window(struct sums *s, const struct sp_scan_window *w, bool by_group);
/* All windows of a store at a resolution; returns how many there were. */
size_t sums_of_store(struct sums *s, struct sp_store *store, int resolution, bool by_group);
/* Fails the test where they differ. */
void sums_equal(const struct sums *a, const struct sums *b);

struct made {
	uint64_t seed;
	uint32_t n_files, n_funcs, n_stacks, n_keys, n_rows, n_values;
};
uint64_t made_random(uint64_t *seed);
/* A profile with all kinds of files, frames, stacks and keys in it; more rows with each call, of the same things. */
void made_things(struct sp_profile *p, const struct made *m, uint64_t *seed);
void made_rows(struct sp_profile *p, const struct made *m, uint64_t *seed);

/* An empty one. */
struct sp_profile *made_profile(void);

/* A store there, and a window of 9 s in it, of which 3 samples were lost; what fails ends the test. */
struct sp_store *made_store(const char *path, const struct sp_store_options *o);
void made_add(struct sp_store *s, uint64_t wall_ns, const struct sp_profile *p, const char *source);

/* A new empty directory (free it), and its removal with all that is in it. */
char *made_directory(void);
void made_directory_gone(char *path);

#endif
