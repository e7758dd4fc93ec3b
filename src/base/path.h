/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.h: what a file is called without its directories.
 *
 * The part of the path behind its last slash; the whole path where nothing stands there, or where there is no slash. It
 * points into the path, which stays the caller's. No errors, no state, thread-safe; not basename(3), which writes.
 */
#ifndef SP_BASE_PATH_H
#define SP_BASE_PATH_H

#include <string.h>

static inline const char *sp_path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
