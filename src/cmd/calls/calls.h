/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: the parts of `soprof calls`: files of counted calls as profiles with names, and why nothing was counted.
 *
 * calls.c runs the command; calls_read.c reads and names a file and tells its losses; calls_library.c finds what ld.so
 * calls a library; calls_uncounted.c tells which programs did not count; calls_why.c examines a command that counted
 * nothing. Names come from the files at the libraries' paths if the build ids are equal. Functions without a name are
 * LIBRARY+0xOFFSET, and the file's note says why. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CMD_CALLS_CALLS_H
#define SP_CMD_CALLS_CALLS_H

#include "cmd/options.h"
#include "link/file.h"

struct sp_calls_summary;
struct sp_capture_stats;
struct sp_profile;
struct sp_sampling;
struct sp_workers;

/* --- calls_read.c --- */
bool sp_calls_is_file(int fd);
/* What is read from fd (name is for words), with names. */
int sp_calls_read_named(int fd, const char *name, struct sp_profile **ret_profile, struct sp_calls_summary *summary);
int sp_calls_make(const struct sp_calls_snapshot *s, struct sp_workers *workers, struct sp_profile **ret_profile);
/* Puts the calls into the sampling's profile; is_sampled: beside its samples, else in their place. */
int sp_calls_join(struct sp_sampling *s, bool is_sampled, struct sp_profile *calls);
/* What files contain beside calls. */
struct sp_calls_summary {
	uint64_t n_calls, n_references, n_torn, counters[SP_CALLS_COUNTERS];
};
void sp_calls_summary_add(struct sp_calls_summary *t, const struct sp_calls_snapshot *s);
/* On stderr: calls, programs, and what was not counted, with why; nothing that is not so. */
void sp_calls_tell(const struct sp_calls_summary *t);
void sp_calls_losses_tell(const struct sp_calls_summary *t); /* without the first line, of calls */

/* --- calls_library.c --- */
/* What ld.so calls the library that the user has named, by its soname or as a file: a new string. */
int sp_calls_library_name(const char *given, char **ret_name);
/* Whether it is where ld.so looks by itself: programs may have others from elsewhere. */
bool sp_calls_library_is_known(const char *name);

/* --- calls_uncounted.c --- */
struct sp_calls_uncounted {
	uint64_t n_refused; /* programs that said that they cannot use the file */
	bool has_more_refused;
	const struct sp_capture_stats *seen; /* NULL: the execs of the command were not observed */
	const uint64_t *counters;            /* of this run */
};
/* On stderr: which programs were not counted, if any. 0 or -ENOMEM. */
int sp_calls_uncounted_tell(const struct sp_calls_uncounted *u);

/* --- calls_why.c --- */
/* Before `command` runs: one line about a library that is not known, a new string; NULL: all are. */
char *sp_calls_doubt(char *const *command, const struct sp_words *libraries);
/* Whether a program that counted has loaded one of the libraries. */
bool sp_calls_is_loaded(const struct sp_calls_snapshot *s);
/* One line: why `command` has counted nothing of these. A new string, or NULL: out of memory. */
char *sp_calls_why(char *const *command, const struct sp_words *libraries, const struct sp_words *functions,
		   const struct sp_calls_snapshot *s);
/* One line, a new string: which of the functions' globs have matched nothing that was called. NULL: all have. */
int sp_calls_unmatched(const struct sp_words *libraries, const struct sp_words *functions,
		       const struct sp_calls_snapshot *s, char **ret_text);

#endif
