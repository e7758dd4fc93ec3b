/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h: the rows of a profile folded by library, function, process and so on.
 *
 * A group's self is the value of the samples whose leaf lies in it (the kernel's leaf, if there is a kernel stack); its
 * total the value of those that have it anywhere, each counted once however often it occurs. What is one library and
 * one function is told by identity.h: copies of a file with one build id are one row, the kernel with its modules, too.
 * A sample without frames belongs to the group "none", and so do frames of no known file. Groups of threads (process,
 * comm, cgroup, user, container) have total = self. SP_TOTAL_BY_CALLER folds by pairs: library `of` and the nearest
 * other library below it, `id`, that called into it; self for the leaf's library, total for every such pair in the
 * stack, none where no other library is below the leaf's. Sums saturate. 0 or -ENOMEM, -EINVAL for a value that the
 * profile does not have. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_TOTALS_H
#define SP_PROFILE_TOTALS_H

#include <stdbool.h>

#include "profile/profile.h"

/* The order of view.h's enum sp_group_by. */
enum sp_total_by {
	SP_TOTAL_BY_LIBRARY,
	SP_TOTAL_BY_FUNCTION,
	SP_TOTAL_BY_PROCESS,
	SP_TOTAL_BY_CALLER,
	SP_TOTAL_BY_PACKAGE,
	SP_TOTAL_BY_COMM,
	SP_TOTAL_BY_CGROUP,
	SP_TOTAL_BY_USER,
	SP_TOTAL_BY_CONTAINER,
};

struct sp_total {
	/*
	 * LIBRARY: a file. FUNCTION: a function, 0 = all frames of file `of` that have no name. PROCESS: a process.
	 * CALLER: the calling library's file. PACKAGE, COMM, CGROUP, CONTAINER: a string. USER: the uid.
	 */
	uint32_t id;
	uint32_t of;          /* FUNCTION: its file. CALLER: the library called, a file. Else 0. */
	bool none;            /* no frames, no known file, no caller, no process, no package ...: id means nothing */
	int64_t self, total;  /* of the value asked for */
	uint32_t n_functions; /* LIBRARY, PACKAGE: functions met with a name; else 0 */
	int64_t n_samples;    /* counted in total: by the value named "samples"; without one, each row is a sample */
};

struct sp_totals {
	struct sp_total *rows; /* by falling self, then total, then by id and of */
	size_t n_rows;
	int64_t value, n_samples; /* of the whole profile: what a share is a share of */
};

int sp_totals_by(const struct sp_profile *p, enum sp_total_by by, uint32_t value, struct sp_totals *ret_totals);
void sp_totals_done(struct sp_totals *t);

/* Words for a row: what it is, and the library it belongs to ("" where there is none). Owned by the profile. */
const char *sp_total_name(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row);
const char *sp_total_of(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row);

#endif
