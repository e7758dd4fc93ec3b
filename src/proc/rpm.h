/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpm.h: which installed rpm package owns a file, from rpm's SQLite database.
 *
 * For many paths at once. The database is opened read-only and immutable: nothing is written beside it, no lock is
 * taken, and what a running rpm has only in its write-ahead log is not seen. Results are those of rpm -qf: files that
 * were replaced, or not installed, have no owner; of several packages the first by name. /lib and /usr/lib are the
 * same, as in package.h. Versions are [EPOCH:]VERSION-RELEASE. A machine without a database has no packages, which is
 * not an error. -EOPNOTSUPP: an older kind of database (Berkeley DB, ndb). -ETIMEDOUT after the deadline, -EBADMSG:
 * not a database of rpm's. Invalid headers (rpm's record of a package) are skipped and counted; at most 64 MiB each.
 * The result is the caller's; no state; thread-safe.
 */
#ifndef SP_PROC_RPM_H
#define SP_PROC_RPM_H

#include "proc/package.h"

struct sp_rpm_options {
	const char *root;     /* NULL = the machine's */
	unsigned deadline_ms; /* for the whole query; 0 = 5,000 */
};

struct sp_rpm;

int sp_rpm_find(const struct sp_rpm_options *o, const char *const *paths, size_t n_paths, struct sp_rpm **ret_rpm);
void sp_rpm_free(struct sp_rpm *r);

/* The package of paths[i]; without a name: no owner. Valid as long as the result. */
struct sp_package sp_rpm_get(const struct sp_rpm *r, size_t i);
uint64_t sp_rpm_n_skipped(const struct sp_rpm *r);

#endif
