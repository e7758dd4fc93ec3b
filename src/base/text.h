/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h: small text files (of /proc, /sys, /var/lib) read whole, with a bound.
 *
 * Files of /proc have no size that stat would tell, so this reads until the end or the bound. Only for paths of the
 * system that we trust not to block: foreign files are opened by workers. Errors are negative errno with the path in
 * the error chain; a file longer than the bound is -EFBIG, never cut in silence. Thread-safe.
 */
#ifndef SP_BASE_TEXT_H
#define SP_BASE_TEXT_H

#include <stddef.h>

/* The whole file, followed by a NUL (free it); at most max_bytes. ret_len may be NULL. */
int sp_text_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);

#endif
