/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h: the file that the programs of one run count in.
 *
 * Without a directory the file is the run's alone: LIB[,LIB...].run-PID.profile where the state of programs is kept
 * (file.h), and afterwards LIB[,LIB...].last.profile. One that a killed run has left is removed by the next. In a
 * directory that the user names it is LIB[,LIB...].profile, which all runs and shells share, one after the other or at
 * once; whether others counted at the same time can be asked. The caller owns the struct. Errors are negative errno
 * with sp_error_text(). Not thread-safe.
 */
#ifndef SP_LINK_RUN_H
#define SP_LINK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/file.h"

struct sp_calls_run {
	char *path; /* absolute: where programs count */
	char *last; /* where a run's own file is kept; NULL: nowhere, or it is shared */
	int fd;     /* of the file, which holds our lock; -1: none */
	bool is_own;
	bool is_new;     /* made just now */
	bool has_others; /* another run counts in it already */
	uint64_t stamp;
	char lacking[512]; /* why it will not be kept, one line; "": it will be */
};
#define SP_CALLS_RUN_NONE ((struct sp_calls_run){.fd = -1})

/*
 * A file of this run, or, if no directory of ours can be had, one in spare (NULL: then it fails), which is not kept.
 * Errors as for sp_calls_path() and sp_calls_prepare().
 */
int sp_calls_run_make(const char *spare, const struct sp_calls_what *what, struct sp_calls_run *ret_run);

/* The file that is shared in this directory; NULL: in ours. */
int sp_calls_run_share(const char *directory, const struct sp_calls_what *what, struct sp_calls_run *ret_run);

/* Whether other runs have counted in the file since it was made ready for this one. */
bool sp_calls_run_has_others(const struct sp_calls_run *run);

/* The run's own file becomes the last run's: run->path is its name then. */
int sp_calls_run_keep(struct sp_calls_run *run);

/* Removes the run's own file, if it was not kept. */
void sp_calls_run_done(struct sp_calls_run *run);

#endif
