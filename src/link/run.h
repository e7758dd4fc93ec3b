/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h: the file into which the programs of one run count.
 *
 * Without a directory the file belongs to the run: LIB[,LIB...].run-PID.profile in the state directory (file.h),
 * renamed to LIB[,LIB...].last.profile afterwards. One left by a killed run is removed by the next. In a directory
 * given by the user it is LIB[,LIB...].profile, shared by all runs and shells; whether others counted at the same
 * time can be asked. The caller owns the struct. Errors: negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_LINK_RUN_H
#define SP_LINK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/file.h"

struct sp_calls_run {
	char *path; /* absolute */
	char *last; /* the name under which a run's own file is kept; NULL: it is not, or it is shared */
	int fd;     /* of the file, with our lock; -1: none */
	bool is_own;
	bool is_new;     /* made by this run */
	bool has_others; /* another run counts in it */
	uint64_t stamp;
	char lacking[512]; /* why it will not be kept, one line; "" = it will be */
};
#define SP_CALLS_RUN_NONE ((struct sp_calls_run){.fd = -1})

/*
 * Makes the run's own file; if there is no state directory, in `spare` (NULL: fail), where it is not kept. Errors as
 * for sp_calls_path() and sp_calls_prepare().
 */
int sp_calls_run_make(const char *spare, const struct sp_calls_what *what, struct sp_calls_run *ret_run);

/* Makes or continues the shared file in a directory; NULL: the state directory. */
int sp_calls_run_share(const char *directory, const struct sp_calls_what *what, struct sp_calls_run *ret_run);

/* Whether other runs have counted in the file since it was prepared for this one. */
bool sp_calls_run_has_others(const struct sp_calls_run *run);

/* Renames the run's own file to the last run's, which becomes run->path. */
int sp_calls_run_keep(struct sp_calls_run *run);

/* Removes the run's own file, unless it was kept. */
void sp_calls_run_done(struct sp_calls_run *run);

#endif
