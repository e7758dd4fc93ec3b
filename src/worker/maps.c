/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/maps.h"
#include "base/mem.h"
#include "worker/mounts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* " (deleted)" may stand behind it. */
static bool has_name(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t n = strlen(name);
	return slash && strncmp(slash + 1, name, n) == 0 && (!slash[1 + n] || strcmp(slash + 1 + n, " (deleted)") == 0);
}

/*
 * The first line of a process's maps that `is` says yes to; false: there is none, or they are hidden. Its path lies in
 * *ret_text, which the caller frees in any case.
 */
static bool line_find(pid_t pid, bool (*is)(const struct sp_maps_line *line, const void *arg), const void *arg,
		      struct sp_maps_line *ret_line, char **ret_text)
{
	char file[64];
	size_t size = 0;
	*ret_text = NULL;
	snprintf(file, sizeof(file), "/proc/%d/maps", (int)pid);
	SP_FCLOSE FILE *f = fopen(file, "re");
	while (f && getline(ret_text, &size, f) > 0) {
		(*ret_text)[strcspn(*ret_text, "\n")] = 0;
		if (sp_maps_parse(*ret_text, ret_line) && is(ret_line, arg))
			return true;
	}
	return false;
}

static bool is_code_of(const struct sp_maps_line *line, const void *name)
{
	return line->is_exec && has_name(line->path, name);
}

char *sp_maps_named(pid_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end)
{
	SP_FREE char *text;
	struct sp_maps_line line;
	if (!line_find(pid, is_code_of, name, &line, &text))
		return NULL;
	*ret_start = line.start;
	*ret_end = line.end;
	return strdup(line.path);
}

static bool is_made(const struct sp_maps_line *line, const void *none)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(line->path);
	(void)none;
	if (!line->is_exec || strcmp(line->path, "[vdso]") == 0 || strcmp(line->path, "[vsyscall]") == 0)
		return false;
	return *line->path != '/' || (n >= strlen(deleted) && strcmp(line->path + n - strlen(deleted), deleted) == 0);
}

bool sp_maps_has_made_code(pid_t pid)
{
	SP_FREE char *text;
	struct sp_maps_line line;
	return line_find(pid, is_made, NULL, &line, &text);
}

static bool ends_behind(const struct sp_maps_line *line, const void *address)
{
	return *(const uint64_t *)address < line->end;
}

char *sp_maps_path(pid_t pid, uint64_t address)
{
	SP_FREE char *text;
	struct sp_maps_line line;
	if (!line_find(pid, ends_behind, &address, &line, &text))
		return NULL;
	return address >= line.start && *line.path == '/' ? strdup(line.path) : NULL;
}
