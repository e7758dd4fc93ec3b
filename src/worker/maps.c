/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "worker/priv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* START-END PERM OFFSET DEVICE INODE PATH; proc_pid_maps(5) */
char *sp_maps_path(pid_t pid, uint64_t address)
{
	char name[64];
	SP_FREE char *line = NULL;
	size_t size = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	SP_FCLOSE FILE *f = fopen(name, "re");
	while (f && getline(&line, &size, f) > 0) {
		unsigned long long start, end;
		int path_at = 0;
		if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &start, &end, &path_at) < 2 || address >= end)
			continue;
		line[strcspn(line, "\n")] = 0;
		return address >= start && path_at && line[path_at] == '/' ? strdup(line + path_at) : NULL;
	}
	return NULL;
}
