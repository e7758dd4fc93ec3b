/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpm.h: which installed rpm package owns a file, from rpm's SQLite database.
 *
 * Asked for many paths at once. The database is opened read-only and as one that does not change: nothing is written
 * beside it, no lock is taken, and what an rpm at work has not yet moved out of its log is not seen. Answers are those
 * of rpm -qf: files that were replaced, or left out at installation, are nobody's; where several packages share one it
 * is the first's by name. /lib and /usr/lib are the same, as in package.h. The version is [EPOCH:]VERSION-RELEASE.
 * A machine without a database has no packages: no error. -EOPNOTSUPP: its database is of an older kind (Berkeley DB,
 * ndb). -ETIMEDOUT after the deadline, -EBADMSG when it is no database of rpm's. Headers (rpm's record of a package)
 * that make no sense are skipped and counted; at most 64 MiB each. The answer is the caller's; no state; thread-safe.
 */
#ifndef SP_PROC_RPM_H
#define SP_PROC_RPM_H

#include "proc/package.h"

struct sp_rpm_options {
	const char *root;     /* NULL = the machine's */
	unsigned deadline_ms; /* for all of it; 0 = 5,000 */
};

struct sp_rpm;

int sp_rpm_find(const struct sp_rpm_options *o, const char *const *paths, size_t n_paths, struct sp_rpm **ret_rpm);
void sp_rpm_free(struct sp_rpm *r);

/* The package of paths[i]; no name = nobody's. Lives as long as the answer. */
struct sp_package sp_rpm_get(const struct sp_rpm *r, size_t i);
uint64_t sp_rpm_n_skipped(const struct sp_rpm *r);

#endif
