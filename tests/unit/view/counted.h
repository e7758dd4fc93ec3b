/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted.h: profiles of counted calls, built by hand.
 *
 * counted_profile() has two libraries that were called (libone.so, libtwo.so) by two programs, one of them known as a
 * whole only: calls from outside and inside, functions that call themselves and each other (two cycles), a function of
 * which only the range is known, a name that is hostile, 20 billion calls of one pair, and with times a sampled stack
 * for most functions. What fails fails the test.
 */
#ifndef TESTS_VIEW_COUNTED_H
#define TESTS_VIEW_COUNTED_H

#include "profile/profile.h"

#include <stdbool.h>

enum { COUNTED_HZ = 100 };
struct sp_profile *counted_profile(bool with_times);

/* Piece by piece. */
struct counted {
	struct sp_profile *p;
	bool with_times;
};
struct counted counted_new(bool with_times);
uint32_t counted_file(struct counted *c, const char *name);
/* A frame of a function; name NULL: the whole library. */
uint32_t counted_frame(struct counted *c, uint32_t file, const char *name, uint64_t vaddr);
void counted_calls(struct counted *c, uint32_t from, uint32_t to, int64_t calls); /* from 0: nobody knows who */
void counted_time(struct counted *c, uint32_t leaf, uint32_t caller, int64_t ticks);

#endif
