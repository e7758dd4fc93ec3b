/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip.h: compresses a text as a gzip file.
 *
 * Equal texts give equal bytes: the file has no name and no time. level: zlib's, 1 (fast) to 9 (small). The result is
 * new, and the caller frees it. 0 or -ENOMEM, also for a text of 2 GiB or more. No state; thread-safe.
 */
#ifndef SP_BASE_GZIP_H
#define SP_BASE_GZIP_H

#include <stddef.h>

int sp_gzip(const char *text, size_t n, int level, char **ret_text, size_t *ret_n);

#endif
