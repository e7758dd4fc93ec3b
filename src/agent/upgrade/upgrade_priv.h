/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade_priv.h: the parts of upgrade.h among themselves, private to src/agent: upgrade_seen.c remembers who runs
 * what, upgrade.c has the jobs and the process that looks at them, upgrade_compare.c is what runs in it. All belongs to
 * one struct sp_upgrades, in one thread. Errors as in upgrade.h.
 */
#ifndef SP_AGENT_UPGRADE_UPGRADE_PRIV_H
#define SP_AGENT_UPGRADE_UPGRADE_PRIV_H

#include "agent/upgrade/upgrade.h"
#include "profile/profile.h"
#include <string.h>

/* In which file system view a program runs: of those in a container the same is told when it is begun anew. */
static inline const char *sp_upgrades_place(const struct sp_profile *p, const struct sp_process *process)
{
	return sp_profile_string(p, process->container ? process->container : process->root);
}

/* The length of the directory that a library is in; its file's name may hold a version. */
static inline size_t sp_upgrades_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Looks at the rows of a window: how many libraries are of another build than before, in some program. */
int sp_upgrades_see(struct sp_upgrades *u, const struct sp_profile *p);

#endif
