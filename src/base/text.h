/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h: reads small text files (of /proc, /sys, /var/lib) whole, with a limit.
 *
 * stat(2) gives no size for files of /proc, so this reads to the end or the limit. Only for the system's own paths,
 * which are trusted not to block: workers open foreign files. Errors: negative errno with the path in the error
 * chain; -EFBIG for a file beyond the limit, which is never cut silently. Thread-safe, but for sp_text_open_by().
 */
#ifndef SP_BASE_TEXT_H
#define SP_BASE_TEXT_H

#include <stddef.h>

/* The whole file, followed by a NUL (free it); at most max_bytes. ret_len may be NULL. */
int sp_text_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);
/*
 * The same of a file of the user's configuration: what this process may not open (-EACCES) is asked for from whoever
 * sp_text_open_by() has named, in the process as a whole, if anybody: a descriptor, or a negative errno, which is not
 * told.
 */
int sp_text_read_config(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);
void sp_text_open_by(int (*open_file)(void *arg, const char *path), void *arg);

#endif
