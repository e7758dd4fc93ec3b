/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade_priv.h: the parts of upgrade.h among themselves, private to src/agent: upgrade_seen.c remembers who runs
 * what, upgrade.c has the jobs and the process that looks at them, upgrade_compare.c is what runs in it. All belongs to
 * one struct sp_upgrades, in one thread. Errors as in upgrade.h.
 */
#ifndef SP_AGENT_UPGRADE_PRIV_H
#define SP_AGENT_UPGRADE_PRIV_H

#include "agent/upgrade.h"

/* Looks at the rows of a window: how many libraries are of another build than before, in some program. */
int sp_upgrades_see(struct sp_upgrades *u, const struct sp_profile *p);

#endif
