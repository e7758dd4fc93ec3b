/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded.h: detects the variant of folded text by its first lines.
 *
 * Nothing in the format says whether the first name is a thread's (soprof, bcc, stackcollapse-perf) or a function's,
 * whether lines have one count or two (difffolded), and how many decimals counts have. So the first 64 KiB are
 * examined, and the result holds for the whole input. First names are threads' if all of them can be: at most 15
 * bytes (without a trailing "-PID/TID"), no characters that only functions have, and none is a function that stacks
 * usually begin with. Private to the reader. No state, no errors.
 */
#ifndef SP_READ_FOLDED_H
#define SP_READ_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_folded_shape {
	size_t n_lines, n_counted; /* lines, without blank ones and comments; those of them that end in a count */
	bool has_frames;           /* there is a line with a `;` */
	bool is_text;              /* no control characters */
	bool thread_first;
	unsigned int n_counts; /* 1 or 2 */
	unsigned int decimals; /* of counts: 0, 3, 6 or 9 are kept */
};

struct sp_folded_shape sp_folded_detect(const uint8_t *head, size_t n);

/* A line that begins with `#`, unless it has several frames or a count: a thread's name may begin with it, too. */
bool sp_folded_is_comment(const char *line, size_t len);

/*
 * Parses the count at the end of a line, and cuts *len before it and its space. ret_decimals: its number of decimals.
 * -EINVAL: no count; -ERANGE: too large.
 */
int sp_folded_count(const char *line, size_t *len, unsigned int decimals, int64_t *ret_count,
		    unsigned int *ret_decimals);

#endif
