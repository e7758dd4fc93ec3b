/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random.h: random profiles with all that is awkward in them, and the plain truth about them in words.
 *
 * Libraries with copies under one build id, a kernel with modules, code without a file, frames of no known file,
 * functions of one name at several places, recursion, empty stacks, keys that differ in their slice only. Value 0 is
 * "samples", 1 is "cpu". What is one library or function is told by words made from names and build ids, which do
 * not come from src/profile/identity.c. A truth holds sums by such words. Errors fail the test. Not thread-safe.
 */
#ifndef TESTS_PROFILE_RANDOM_H
#define TESTS_PROFILE_RANDOM_H

#include "profile/profile.h"

enum { RANDOM_ROWS = 400, RANDOM_DEPTH = 24, RANDOM_WORDS = 64 };

struct sp_profile *random_profile(unsigned int seed);

/* "" for none; "K" for the kernel and its modules. */
void random_file_words(const struct sp_profile *p, uint32_t file, char ret_words[RANDOM_WORDS]);
void random_library_words(const struct sp_profile *p, uint32_t frame, char ret_words[RANDOM_WORDS]);
/* Its name and its file, in which modules are files of their own; "" without a name. */
void random_func_words(const struct sp_profile *p, uint32_t func, char ret_words[2 * RANDOM_WORDS]);
/* The frames of a row, leaf first, kernel before user; returns how many. */
uint32_t random_frames(const struct sp_profile *p, const struct sp_row *row, uint32_t ret_frames[2 * RANDOM_DEPTH]);

struct sum {
	int64_t self, total, samples;
	bool seen; /* by the test, when it compares */
};
struct truth {
	struct sp_intern *words;
	struct sum *sums;
	size_t capacity;
};
struct truth truth_new(void);
struct sum *truth_at(struct truth *t, const char *words); /* made if it is new; valid until the next call */
/* The sum that must be there, marked as seen. */
struct sum truth_see(struct truth *t, const char *words);
void truth_all_seen(const struct truth *t);
void truth_free(struct truth *t);

#endif
