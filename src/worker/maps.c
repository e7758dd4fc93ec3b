/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/maps.h"
#include "base/mem.h"
#include "worker/priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
