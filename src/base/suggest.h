/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suggest.h: the nearest name to one that nobody knows.
 *
 * Nearness is the optimal string alignment distance (insert, delete, replace, swap neighbours: Damerau 1964) over at
 * most SP_SUGGEST_MAX bytes. A name counts as near when at most a third of the longer one's bytes differ, or when the
 * word is its beginning. Of a library's name what stands before ".so" counts, unless the word has that, too.
 */
#ifndef SP_BASE_SUGGEST_H
#define SP_BASE_SUGGEST_H

#include <stddef.h>

enum { SP_SUGGEST_MAX = 63 };

/* Collects the best of the names that are offered one by one. Start with .word set. */
struct sp_suggest {
	const char *word;
	const char *best; /* NULL = nothing is near */
	unsigned distance;
};
void sp_suggest_offer(struct sp_suggest *s, const char *name);

#endif
