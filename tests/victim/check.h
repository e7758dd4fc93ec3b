/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h: what is true of a victim, and what a frame's name means there. See check.c for the files.
 *
 * A truth is loaded once and only read afterwards; its memory lives as long as the program. truth_load() prints what
 * is wrong with the files and returns false. Limits: MAX_WORDS functions, MAX_CALLS legal pairs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_WORDS = 128, MAX_CALLS = 512 };
/* In place of a word's number: any function that the truth does not name; what stands before the first frame. */
enum { FOREIGN = -1, FROM_ROOT = -2, FROM_CUT = -3, ANY = -4 };

struct word {
	char text[128];
	bool root, must;
	int run; /* 0 = as deep as it likes */
};
struct call {
	int caller;   /* a word, FROM_ROOT or ANY */
	bool through; /* by way of foreign functions */
	int callee;   /* a word or FOREIGN */
};
struct entry { /* a function of a file */
	char *file;
	uint64_t address;
	char *name;
	bool root;
};
struct truth {
	struct word words[MAX_WORDS];
	int n_words;
	struct call calls[MAX_CALLS];
	int n_calls;
	struct entry *entries;
	size_t n_entries, room;
};

struct place {
	int word; /* or FOREIGN */
	bool root, bare;
};

bool truth_load(struct truth *t, const char *dir, const char *name);
bool truth_calls(const struct truth *t, int caller, bool through, int callee);
struct place truth_place(const struct truth *t, const char *frame);
/* Whether the text is one of the list's, which has commas between. */
bool word_in_list(const char *list, const char *text);

#endif
