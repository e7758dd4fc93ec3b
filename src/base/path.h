/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.h: the last component of a path.
 *
 * The part after the last slash; the whole path where that part is empty, or where there is no slash. The result
 * points into the path. No errors, no state, thread-safe; unlike basename(3) it does not write.
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
