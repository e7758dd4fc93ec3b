/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit_library.h: where the programs of one run find the audit library, and where those that cannot count say so.
 *
 * The library is loaded from where it is built or installed. If we are root and not every user may read it there, from
 * a copy: /run/soprof-calls/KEY or /var/cache/soprof-calls/KEY, one for each build of it, which stays.
 * In a directory of the run (/run, $TMPDIR, /tmp or /var/tmp) is a file that programs open when they cannot use the
 * file of counts; inotify tells. What cannot be had, and what follows, is in `lacking`. The caller owns the struct.
 * Errors are negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_LINK_AUDIT_LIBRARY_H
#define SP_LINK_AUDIT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_audit_library {
	char *library;      /* as LD_AUDIT names it */
	char *directory;    /* of this run; NULL: none */
	int opened_fd;      /* of inotify; -1: nothing is told */
	char lacking[4096]; /* one line; "": nothing */
};
#define SP_AUDIT_LIBRARY_NONE ((struct sp_audit_library){.opened_fd = -1})

/*
 * lasting: for a shell, so that nothing is told, and there is no directory of a run. -ENOENT: there is no library;
 * -EPERM, -EINVAL: ld.so cannot load it from where it is.
 */
int sp_audit_library_make(bool lasting, struct sp_audit_library *ret_place);

/*
 * What a program's environment must have: "LD_AUDIT=...", "SOPROF_CALLS=..." and, if it can be told,
 * "SOPROF_UNCOUNTED=..."; new strings, NULL behind them. path: the file of counts, absolute. Auditors that are there
 * already are kept, in front; not another run's, since two would count twice.
 */
enum { SP_CALLS_VARIABLES = 3 };
int sp_calls_environment(const struct sp_audit_library *place, const char *path, char *ret_set[SP_CALLS_VARIABLES + 1]);

/* Programs that could not count, so far; asked once. *ret_more: there were more than inotify keeps. */
uint64_t sp_audit_library_uncounted(const struct sp_audit_library *place, bool *ret_more);

void sp_audit_library_done(struct sp_audit_library *place);

#endif
