/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * enrich.h: what the machine knows beside the samples, into a profile: packages of libraries, paths of cgroups.
 *
 * Packages come from the databases of dpkg and rpm (owners.h), which are read whole: ask for many files at once, and
 * not often. Files that were asked about before are left out. With the session that the profile is of, while its files
 * have the numbers that they have there, files of containers are told from the machine's own; NULL: by path only.
 * Cgroups that are gone have their number for a name. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_NAMING_ENRICH_H
#define SP_NAMING_ENRICH_H

#include <stdbool.h>

struct sp_capture;
struct sp_profile;

int sp_enrich_packages(struct sp_profile *p, const struct sp_capture *c);
bool sp_enrich_packages_wanted(const struct sp_profile *p); /* there are files that were not asked about */
int sp_enrich_cgroups(struct sp_profile *p);

#endif
