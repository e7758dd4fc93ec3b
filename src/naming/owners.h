/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owners.h: the packages that own paths of this machine, from dpkg's database, else rpm's.
 *
 * The caller knows which paths are files of this machine. If a database, or a part of it, cannot be read, its packages
 * are missing, and sp_owners_warn is called once for each. 0 or a negative errno with sp_error_text(); the answer is
 * the caller's. Main thread only.
 */
#ifndef SP_NAMING_OWNERS_H
#define SP_NAMING_OWNERS_H

#include "proc/package.h"

struct sp_rpm;

struct sp_owners {
	struct sp_packages *dpkg;
	struct sp_rpm *rpm; /* NULL: there is none */
};

/* Set by who has somebody to tell; NULL: nobody. */
extern void (*sp_owners_warn)(const char *text);

int sp_owners_find(const char *const *paths, size_t n_paths, struct sp_owners *ret_owners);
void sp_owners_done(struct sp_owners *o);
/* The package of paths[i]; no name = nobody's. */
struct sp_package sp_owners_get(const struct sp_owners *o, size_t i);

#endif
