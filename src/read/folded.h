/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded.h: what the first lines of folded text show about all of them.
 *
 * Nothing in the format says whether the first word is a thread's name (soprof, bcc, stackcollapse-perf) or a function,
 * whether a line has one count or two (difffolded), and in which unit fractions are to be kept. So the first 64 KiB are
 * looked at, once, and what they show holds for the whole input. The first word is a thread's name if all first words
 * could be: at most 15 bytes (apart from a "-PID/TID" behind), without what only functions have, and none of them a
 * function that stacks begin with. Private to the reader. No state, no errors.
 */
#ifndef SP_READ_FOLDED_H
#define SP_READ_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_folded_shape {
	size_t n_lines, n_counted; /* lines that are neither blank nor comments; of these, that end in a count */
	bool has_frames;           /* a line with a `;` */
	bool is_text;              /* no control characters */
	bool thread_first;
	unsigned int n_counts; /* 1 or 2 */
	unsigned int decimals; /* that are kept of counts: 0, 3, 6 or 9 */
};

struct sp_folded_shape sp_folded_look(const uint8_t *head, size_t n);

/* A `#`, and neither several frames nor a count: a thread may be called so, too. */
bool sp_folded_is_comment(const char *line, size_t len);

/* Takes a count off the end of the line of *len bytes, and the space before it. 0, or -EINVAL: there is none, -ERANGE:
 * too big. ret_decimals: how many digits it has behind its point. */
int sp_folded_count(const char *line, size_t *len, unsigned int decimals, int64_t *ret_count,
		    unsigned int *ret_decimals);

#endif
