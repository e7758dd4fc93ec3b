/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/maps.h"
#include "base/mem.h"
#include "worker/mounts.h"
#include "worker/priv.h"
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

char *sp_maps_named(pid_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end)
{
	char file[64];
	SP_FREE char *text = NULL;
	size_t size = 0;
	snprintf(file, sizeof(file), "/proc/%d/maps", (int)pid);
	SP_FCLOSE FILE *f = fopen(file, "re");
	while (f && getline(&text, &size, f) > 0) {
		struct sp_maps_line line;
		text[strcspn(text, "\n")] = 0;
		if (!sp_maps_parse(text, &line) || !line.is_exec || !has_name(line.path, name))
			continue;
		*ret_start = line.start;
		*ret_end = line.end;
		return strdup(line.path);
	}
	return NULL;
}

static bool is_made(const struct sp_maps_line *line)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(line->path);
	if (!line->is_exec || strcmp(line->path, "[vdso]") == 0 || strcmp(line->path, "[vsyscall]") == 0)
		return false;
	return *line->path != '/' || (n >= strlen(deleted) && strcmp(line->path + n - strlen(deleted), deleted) == 0);
}

bool sp_maps_has_made_code(pid_t pid)
{
	char file[64];
	SP_FREE char *text = NULL;
	size_t size = 0;
	snprintf(file, sizeof(file), "/proc/%d/maps", (int)pid);
	SP_FCLOSE FILE *f = fopen(file, "re");
	while (f && getline(&text, &size, f) > 0) {
		struct sp_maps_line line;
		text[strcspn(text, "\n")] = 0;
		if (sp_maps_parse(text, &line) && is_made(&line))
			return true;
	}
	return false;
}

char *sp_maps_path(pid_t pid, uint64_t address)
{
	char name[64];
	SP_FREE char *text = NULL;
	size_t size = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	SP_FCLOSE FILE *f = fopen(name, "re");
	while (f && getline(&text, &size, f) > 0) {
		struct sp_maps_line line;
		text[strcspn(text, "\n")] = 0;
		if (!sp_maps_parse(text, &line) || address >= line.end)
			continue;
		return address >= line.start && *line.path == '/' ? strdup(line.path) : NULL;
	}
	return NULL;
}
