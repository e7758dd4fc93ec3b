/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * enrich.h: adds to a profile what the machine knows about it: packages of libraries, paths of cgroups.
 *
 * Packages come from the databases of dpkg and rpm (owners.h). These are read whole, so ask about many files at once,
 * and rarely; files asked about before are skipped. With the profile's session, while its files still have their
 * numbers, files of containers are told from the machine's own; with NULL only by path. Cgroups that are gone are
 * named by number. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_NAMING_ENRICH_H
#define SP_NAMING_ENRICH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture;
struct sp_cgroups;
struct sp_profile;

int sp_enrich_packages(struct sp_profile *p, const struct sp_capture *c);
bool sp_enrich_packages_wanted(const struct sp_profile *p); /* there are files that were not asked about */
/*
 * For a profile that lasts. What it costs to look through all cgroups, of which users may have made as many as they
 * like, is the thousandth part of a CPU at most, for all profiles with one pace; meanwhile they are named by number.
 * And it is done in parts, so that a loop need not wait for it. What asks once has NULL.
 */
struct sp_enrich_pace {
	uint64_t again_ns; /* CLOCK_BOOTTIME; UINT64_MAX: they are being looked through */
};
struct sp_enrich_walk {
	struct sp_enrich_pace *pace;
	size_t n_entries; /* of directories, in a part */
	bool is_over;     /* nothing more is looked for */
	/* Private. */
	struct sp_cgroups *cgroups; /* NULL: nothing is looked for */
	uint32_t n_processes;       /* when that began */
	uint64_t used_ns;
};
/* 1: the next call goes on; 0: the processes are named that the profile had at the first call. */
int sp_enrich_cgroups(struct sp_profile *p, struct sp_enrich_walk *walk);
void sp_enrich_walk_done(struct sp_enrich_walk *w);

#endif
