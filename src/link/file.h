/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: the user half of counting calls: makes, reads and subtracts files of calls (format.h).
 *
 * sp_calls_prepare() makes or continues a file; programs started with the environment of audit_library.h count into it
 * as long as it exists. A program that cannot use the file (removed, another user's, another version) runs uncounted,
 * silently. A snapshot is a copy in memory, owned by the caller; it may be taken while programs count, and then each
 * number is of some moment during the reading. The file is untrusted: pread only, sizes by fstat, every number
 * checked; an inconsistent file is refused as a whole: -EBADMSG, -EPROTONOSUPPORT for another version. Errors:
 * negative errno with sp_error_text(); -ENOSPC: no room. Not thread-safe.
 */
#ifndef SP_LINK_FILE_H
#define SP_LINK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/format.h"

struct sp_calls_what {                /* what is counted */
	const char *const *libraries; /* sonames; or SP_CALLS_ALL alone */
	size_t n_libraries;
	const char *const *functions; /* globs of symbol names of their functions; none: all */
	size_t n_functions;
	enum sp_calls_depth depth;
	enum sp_calls_apart apart;
};

/*
 * The path of the file for these libraries: DIRECTORY/LIB[,LIB...]TAG.profile; for SP_CALLS_ALL allTAG.profile; for
 * some functions LIB-HASHTAG.profile; a new string (free it). directory NULL: $XDG_STATE_HOME/soprof/calls, or
 * ~/.local/state/soprof/calls, made 0700 and refused (-EPERM) if others own it or may write to it. A directory given by
 * the user is made (0755 less the umask) if only its last component is missing. If another user's file has the name,
 * ours is LIB[,LIB...]TAG.UID.profile: one for each user. -EINVAL: no library, or a name with
 * '/', ',' or control characters, or a glob with ',', control characters or a class of characters.
 */
int sp_calls_path(const char *directory, const char *tag, const struct sp_calls_what *what, char **ret_path);

/*
 * Makes the file (0600, symbolic links are not followed), or checks that it can be continued: owner, mode, version,
 * size, number of CPUs, libraries, functions; then depth and apart are set. -EPERM: owner or mode; -EEXIST: it counts
 * other libraries, or was made on a machine with fewer CPUs; -ENOSPC; -EBADMSG; -EPROTONOSUPPORT. Leaves nothing behind
 * on errors.
 */
int sp_calls_prepare(const char *path, const struct sp_calls_what *what, bool *ret_made);

/*
 * Sets whether programs that start from now on time their calls. ticks_hz: frequency of the CPUs' time-stamp counters,
 * 0 for no. A frequency already in the file that differs by less than 1 in 1,000 is kept, so that runs have equal
 * buckets.
 */
int sp_calls_time(const char *path, uint64_t ticks_hz);
/* Measures that frequency, in 20 ms. -ENOTSUP: the counters are not constant or not synchronized. */
int sp_calls_ticks(uint64_t *ret_hz);

/* --- contents of a file --- */
enum { SP_CALLS_NONE = UINT32_MAX };
struct sp_calls_library {          /* a library or program */
	const char *path, *soname; /* "" = none */
	uint8_t build_id[SP_CALLS_BUILD_ID];
	uint32_t build_id_len;
	bool is_target, is_program, path_cut;
	uint64_t size_bytes, mtime_ns;           /* only without a build id */
	uint32_t n_by_address, n_mixed, n_words; /* references not counted: see format.h */
};
struct sp_calls_callee {
	uint32_t library; /* into libraries */
	uint64_t offset;  /* in the file; of the code that runs, where it is an IFUNC */
	const char *name; /* the symbol's, mangled, without version */
	bool address_taken, is_ifunc, name_cut;
	bool untimed; /* its calls are counted but never timed */
};
struct sp_calls_who {      /* a program in a process, or a thread of it */
	uint64_t file_ns;  /* identifies its file: when that was made */
	uint32_t number;   /* of its record in that file */
	uint32_t pid, uid; /* pid 0: not known */
	uint32_t tid;      /* 0: not by thread */
	uint32_t program;  /* into libraries; SP_CALLS_NONE: not known */
	const char *name;
};
struct sp_calls_arc {
	uint32_t callee;       /* into callees */
	uint32_t who;          /* SP_CALLS_NONE: not by process, or no room */
	uint32_t caller;       /* into libraries: the one with the reference; SP_CALLS_NONE: call sites without a row */
	uint32_t site_library; /* of the return address; SP_CALLS_NONE: not known (by object), or no file (JIT) */
	uint64_t site_offset;  /* file offset of the return address; the call is before it. 0 with SP_CALLS_NONE */
	uint64_t n_calls;      /* > 0 */
};
struct sp_calls_time { /* of calls that returned */
	uint32_t callee;
	uint64_t low_ns, high_ns; /* n calls took low <= t < high; 0, 0: all calls together took n ns */
	uint64_t n;               /* > 0 */
};
struct sp_calls_snapshot {
	struct sp_calls_library *libraries;
	struct sp_calls_callee *callees;
	struct sp_calls_who *whos;
	struct sp_calls_arc *arcs;   /* distinct but for n_calls */
	struct sp_calls_time *times; /* distinct but for n */
	size_t n_libraries, n_callees, n_whos, n_arcs, n_times;
	char *targets; /* as in the header */
	uint64_t created_ns;
	uint64_t counters[SP_CALLS_COUNTERS];
	uint64_t n_torn; /* records taken but not READY: the program was killed, or is writing */
	enum sp_calls_depth depth;
	void *strings; /* memory of the pointers */
};

/* Whether a file that begins with these bytes (at least 8) is a file of calls. */
bool sp_calls_is(const void *bytes, size_t len);
/* The file may be another user's. */
int sp_calls_read(const char *path, struct sp_calls_snapshot *ret_snapshot);
/* The same from a descriptor of a regular file; name is for messages. */
int sp_calls_read_fd(int fd, const char *name, struct sp_calls_snapshot *ret_snapshot);
/* Subtracts an older snapshot of the same file; libraries are told apart by build id. On errors *into stays. */
int sp_calls_subtract(struct sp_calls_snapshot *into, const struct sp_calls_snapshot *older);
void sp_calls_done(struct sp_calls_snapshot *s);

#endif
