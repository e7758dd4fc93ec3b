/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c: finding a view by its name or by the suffix of a file's name. */
#include "view/view.h"

#include <string.h>

const char *const sp_view_groupings[SP_N_TOTAL_BY] = {
    [SP_TOTAL_BY_LIBRARY] = "library", [SP_TOTAL_BY_FUNCTION] = "function", [SP_TOTAL_BY_PROCESS] = "process",
    [SP_TOTAL_BY_CALLER] = "caller",   [SP_TOTAL_BY_PACKAGE] = "package",   [SP_TOTAL_BY_COMM] = "comm",
    [SP_TOTAL_BY_CGROUP] = "cgroup",   [SP_TOTAL_BY_USER] = "user",         [SP_TOTAL_BY_CONTAINER] = "container",
    [SP_TOTAL_BY_MATRIX] = "matrix",   [SP_TOTAL_BY_STATE] = "state",       [SP_TOTAL_BY_LOCK] = "lock",
    [SP_TOTAL_BY_MEMORY] = "memory",   [SP_TOTAL_BY_FAULT] = "fault",       [SP_TOTAL_BY_WAKER] = "waker",
    [SP_TOTAL_BY_HOST] = "host",
};

const struct sp_view *sp_view_by_name(const char *name)
{
	for (size_t i = 0; sp_views[i]; i++)
		if (!strcmp(sp_views[i]->name, name))
			return sp_views[i];
	return NULL;
}

/* A file whose name is only a suffix (".svg", "dir/.svg") has none. */
static bool ends_in(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return m && n > m && path[n - m - 1] != '/' && !strcmp(path + n - m, suffix);
}

const struct sp_view *sp_view_by_path(const char *path)
{
	const struct sp_view *best = NULL;

	for (size_t i = 0; sp_views[i]; i++)
		if (ends_in(path, sp_views[i]->suffix) && (!best || strlen(sp_views[i]->suffix) > strlen(best->suffix)))
			best = sp_views[i];
	return best;
}
