/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade_priv.h: shared by the files of upgrade.h. Private to src/agent.
 *
 * upgrade_seen.c remembers which program runs which build; upgrade.c has jobs and the process that compares;
 * upgrade_compare.c runs in that process. struct sp_upgrades owns everything. One thread. Errors as in upgrade.h.
 */
#ifndef SP_AGENT_UPGRADE_UPGRADE_PRIV_H
#define SP_AGENT_UPGRADE_UPGRADE_PRIV_H

#include "agent/upgrade/upgrade.h"
#include "profile/profile.h"
#include <string.h>

/* A program's root file system: its container's name is the same after a restart of the container. */
static inline const char *sp_upgrades_root(const struct sp_profile *p, const struct sp_process *process)
{
	return sp_profile_string(p, process->container ? process->container : process->root);
}

/* The length of a library's directory. The file's name is not compared, because it may have a version. */
static inline size_t sp_upgrades_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Returns how many libraries of the window's rows have a new build under some program. */
int sp_upgrades_update(struct sp_upgrades *u, const struct sp_profile *p);

#endif
