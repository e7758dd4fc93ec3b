/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: the user half of counting calls: files of calls (format.h) made, read at any time, and merged.
 *
 * sp_calls_prepare() makes or continues a file; programs that ld.so starts with the environment of audit_library.h
 * count into it for as long as it lasts. A program that cannot use the file (gone, somebody else's, other version) runs
 * uncounted, silent. A snapshot is a copy in memory, owned by the caller; it may be taken while programs count: each
 * number is then as of some moment during the reading. The file is not trusted: pread only, sizes by fstat, every
 * number checked; a file that does not hold together is refused whole: -EBADMSG, -EPROTONOSUPPORT for another version.
 * Errors are negative errno with sp_error_text(); -ENOSPC: no room. Not thread-safe.
 */
#ifndef SP_LINK_FILE_H
#define SP_LINK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/format.h"

struct sp_calls_what {                /* is counted */
	const char *const *libraries; /* sonames; or SP_CALLS_ALL alone */
	size_t n_libraries;
	const char *const *functions; /* globs of their functions' names, as symbols have them; none: all */
	size_t n_functions;
	enum sp_calls_depth depth;
	enum sp_calls_apart apart;
};

/*
 * Where the calls of these libraries go: DIRECTORY/LIB[,LIB...]TAG.profile, of SP_CALLS_ALL, which stands alone,
 * allTAG.profile; of some functions LIB-HASHTAG.profile; a new string (free it). directory NULL:
 * $XDG_STATE_HOME/soprof/calls, or ~/.local/state/soprof/calls, made 0700 and refused (-EPERM) if others own it or may
 * write to it. One that the user names is made if its last part alone is missing: 0755 less the umask. Where a file of
 * another user has the name, ours is LIB[,LIB...]TAG.UID.profile: each user has his own, and readers merge. -EINVAL: no
 * library, or a name with '/', ',' or controls, or a glob with ',', controls or a class of characters.
 */
int sp_calls_path(const char *directory, const char *tag, const struct sp_calls_what *what, char **ret_path);

/*
 * Makes the file (0600, no links followed), or looks whether it can be continued: owner, mode, version, size, number of
 * CPUs, libraries, functions; depth and apart become these. -EPERM: owner or mode; -EEXIST: it counts others, or was
 * made on a machine with fewer CPUs; -ENOSPC; -EBADMSG; -EPROTONOSUPPORT. Nothing is left behind where it fails.
 */
int sp_calls_prepare(const char *path, const struct sp_calls_what *what, bool *ret_made);

/*
 * Whether programs that start from now on time their calls: ticks_hz is of the CPUs' time-stamp counters, 0 for no. An
 * older number that is the same to 1 in 1,000 stays, so that buckets of several runs are alike.
 */
int sp_calls_time(const char *path, uint64_t ticks_hz);
/* How fast they count: takes 20 ms. -ENOTSUP: they are no clock. */
int sp_calls_ticks(uint64_t *ret_hz);

/* --- what a file says ------------------------------------------------------------------------------------------ */
enum { SP_CALLS_NONE = UINT32_MAX };
struct sp_calls_library {          /* a library or program, as a snapshot has it */
	const char *path, *soname; /* "" if there is none */
	uint8_t build_id[SP_CALLS_BUILD_ID];
	uint32_t build_id_len;
	bool is_target, is_program, path_cut;
	uint64_t size_bytes, mtime_ns;           /* only without a build id */
	uint32_t n_by_address, n_mixed, n_words; /* references left alone: see format.h */
};
struct sp_calls_callee {
	uint32_t library; /* into libraries */
	uint64_t offset;  /* in the file; of the code that runs, where it is an IFUNC */
	const char *name; /* as the caller asked for it: mangled, without version */
	bool address_taken, is_ifunc, name_cut;
	bool untimed; /* its calls are counted only */
};
struct sp_calls_who {      /* a program in a process, or a thread of it */
	uint64_t file_ns;  /* of which file: when that was made */
	uint32_t number;   /* of the record in it */
	uint32_t pid, uid; /* pid 0: not known */
	uint32_t tid;      /* 0: threads were not told apart */
	uint32_t program;  /* into libraries; SP_CALLS_NONE: not known */
	const char *name;
};
struct sp_calls_arc {
	uint32_t callee;       /* into callees */
	uint32_t who;          /* SP_CALLS_NONE: processes were not told apart, or there was no room */
	uint32_t caller;       /* into libraries: whose reference was called; SP_CALLS_NONE: of places without a row */
	uint32_t site_library; /* where it returns to; SP_CALLS_NONE: not known (by object), or no file (JIT) */
	uint64_t site_offset;  /* in the file: return address; look up less 1. 0 with SP_CALLS_NONE */
	uint64_t n_calls;      /* > 0 */
};
struct sp_calls_time { /* of calls that were seen to return */
	uint32_t callee;
	uint64_t low_ns, high_ns; /* n calls took so long: low <= t < high; 0, 0: all together took n ns */
	uint64_t n;               /* > 0 */
};
struct sp_calls_snapshot {
	struct sp_calls_library *libraries;
	struct sp_calls_callee *callees;
	struct sp_calls_who *whos;
	struct sp_calls_arc *arcs;   /* no two alike in everything but n_calls */
	struct sp_calls_time *times; /* no two alike in everything but n */
	size_t n_libraries, n_callees, n_whos, n_arcs, n_times;
	char *targets;       /* as in the header; of merged files that of the first */
	uint64_t created_ns; /* of the oldest */
	uint64_t counters[SP_CALLS_COUNTERS];
	uint64_t n_torn; /* records taken and never used: programs killed in between, just at it, or two at once */
	enum sp_calls_depth depth;
	void *strings; /* what the pointers lead to */
};

/* Do these first bytes (at least 8) look like a file of calls? */
bool sp_calls_is(const void *bytes, size_t len);
/* The file may be anybody's. */
int sp_calls_read(const char *path, struct sp_calls_snapshot *ret_snapshot);
/* From a descriptor of a regular file; name is for words. */
int sp_calls_read_fd(int fd, const char *name, struct sp_calls_snapshot *ret_snapshot);
/* Adds from to *into: libraries joined by build id, callees, arcs. On failure *into is as before, or still whole. */
int sp_calls_merge(struct sp_calls_snapshot *into, const struct sp_calls_snapshot *from);
/* Leaves in *into what of its calls, and of its counters, was not in an older snapshot of the same file. As for merge.
 */
int sp_calls_since(struct sp_calls_snapshot *into, const struct sp_calls_snapshot *older);
void sp_calls_done(struct sp_calls_snapshot *s);

#endif
