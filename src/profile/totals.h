/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h: sums of a profile's rows by library, function, process and so on.
 *
 * A group's self is the value of the samples whose leaf is in it (the kernel's leaf, if there is a kernel stack); its
 * total that of the samples that have it anywhere on the stack, each counted once. Libraries and functions are those
 * of identity.h: copies of a file with one build id are one row, and so is the kernel with its modules. Samples
 * without frames, and frames of no known file, are in the group "none". Groups of threads (process, comm, cgroup,
 * user, container) and of labels have total = self. SP_TOTAL_BY_CALLER groups by pairs: library `file` and the nearest
 * other library below it, `id`, that called it; self counts for the leaf's library, total for every such pair on the
 * stack; id is none where no other library is below the leaf's. Sums saturate. Errors: -ENOMEM; -EINVAL for a value
 * that the profile does not have. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_TOTALS_H
#define SP_PROFILE_TOTALS_H

#include <stdbool.h>

#include "profile/profile.h"

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
	SP_TOTAL_BY_MATRIX, /* matrix.h; sp_totals_by() gives -EINVAL */
	SP_TOTAL_BY_STATE,  /* from here on: by the label of this name */
	SP_TOTAL_BY_LOCK,
	SP_TOTAL_BY_MEMORY,
	SP_TOTAL_BY_FAULT,
	SP_TOTAL_BY_WAKER,
	SP_TOTAL_BY_HOST, /* of a fleet */
	SP_N_TOTAL_BY,
};

/*
 * Whether the groups are of frames. The others are of pairs, or of what whole threads belong to (a process, a cgroup).
 */
static inline bool sp_total_is_by_frames(enum sp_total_by by)
{
	return by == SP_TOTAL_BY_LIBRARY || by == SP_TOTAL_BY_FUNCTION || by == SP_TOTAL_BY_PACKAGE;
}

struct sp_total {
	/*
	 * LIBRARY: a file. FUNCTION: a function, 0 = all frames of file `of` that have no name. PROCESS: a process.
	 * CALLER: the calling library's file. PACKAGE, COMM, CGROUP, CONTAINER, labels: a string. USER: the uid.
	 */
	uint32_t id;
	uint32_t file;        /* FUNCTION: its file. CALLER: the library called. Else 0. */
	bool none;            /* no frames, no known file, no caller, no process, no package ...: id is invalid */
	int64_t self, total;  /* of the value asked for */
	uint32_t n_functions; /* LIBRARY, PACKAGE: different functions with a name; else 0 */
	int64_t n_samples;    /* in total: by the value "samples"; without one, each row is a sample */
};

struct sp_totals {
	struct sp_total *rows; /* by falling self, then total, then by id and file */
	size_t n_rows;
	int64_t value, n_samples; /* of the whole profile, for shares */
};

int sp_totals_by(const struct sp_profile *p, enum sp_total_by by, uint32_t value, struct sp_totals *ret_totals);
void sp_totals_done(struct sp_totals *t);

/* A row's name, and the name of its `file` ("" if it has none). Owned by the profile. */
const char *sp_total_name(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row);
const char *sp_total_library(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row);

#endif
