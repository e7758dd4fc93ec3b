/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip.h: a text as a gzip file, for clients that take one.
 *
 * Of the same text always the same bytes: no name and no time are in it. The level is zlib's, 1 (fast) to 9 (small).
 * The result is new, and the caller's to free. 0 or -ENOMEM, also for a text of 2 GiB or more. No state, so that any
 * thread may call it.
 */
#ifndef SP_AGENT_ANSWER_GZIP_H
#define SP_AGENT_ANSWER_GZIP_H

#include <stddef.h>

int sp_gzip(const char *text, size_t n, int level, char **ret_text, size_t *ret_n);

#endif
