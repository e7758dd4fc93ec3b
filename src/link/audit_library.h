/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit_library.h: where the programs of a run load the audit library from, or the one that samples allocations, and
 * where those that cannot count report it.
 *
 * The library is loaded from where it is built or installed; if we are root and not every user may read it there,
 * from a copy: /run/soprof-calls/KEY or /var/cache/soprof-calls/KEY, one for each build, which stays. A directory of
 * the run (in /run, $TMPDIR, /tmp or /var/tmp) has a file that programs open if they cannot use the file of calls,
 * which inotify reports. What could not be set up, with the consequence, is in `lacking`. The caller owns the struct.
 * Errors: negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_LINK_AUDIT_LIBRARY_H
#define SP_LINK_AUDIT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_audit_library {
	char *place;        /* in front of a library's name, for LD_AUDIT and LD_PRELOAD */
	char *directory;    /* of this run; NULL = none */
	int opened_fd;      /* inotify; -1 = nothing is reported */
	char lacking[4096]; /* one line; "" = nothing is lacking */
};
#define SP_AUDIT_LIBRARY_NONE ((struct sp_audit_library){.opened_fd = -1})

int sp_audit_library_find(void); /* whether there is one to make it of: 0, or why not */
/*
 * lasting: for a shell, without a run's directory and reports. -ENOENT: no library found; -EPERM, -EINVAL: ld.so cannot
 * load it from there.
 */
int sp_audit_library_make(bool lasting, struct sp_audit_library *ret_place);

/*
 * The variables that a program needs: "LD_AUDIT=...", "SOPROF_CALLS=..." and, with reports, "SOPROF_UNCOUNTED=..."; new
 * strings, ended by NULL. path: the file of calls, absolute. Other auditors are kept, in front; not another run's,
 * since calls would be counted twice.
 */
enum { SP_CALLS_VARIABLES = 3 };
int sp_calls_environment(const struct sp_audit_library *place, const char *path, char *ret_set[SP_CALLS_VARIABLES + 1]);

/*
 * Those of a program whose allocations are sampled, a byte in `distance` (memory/memory.h): "LD_PRELOAD=..." and
 * "SOPROF_MEMORY=...". Other preloaded libraries are kept, in front.
 */
enum { SP_MEMORY_VARIABLES = 2 };
int sp_memory_environment(const struct sp_audit_library *place, uint64_t distance,
			  char *ret_set[SP_MEMORY_VARIABLES + 1]);

/* The file of the library that samples allocations; the caller's. */
int sp_memory_path(const struct sp_audit_library *place, char **ret_path);

/* The number of programs that could not count; call it once. *ret_more: inotify lost some. */
uint64_t sp_audit_library_uncounted(const struct sp_audit_library *place, bool *ret_more);

void sp_audit_library_done(struct sp_audit_library *place);

#endif
