/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_memory.h: what `-e mem` needs beside its recipe: the library that samples allocations in the command
 * (memory/memory.h), the variables by which ld.so loads it, and stacks that begin with who allocates, not with it.
 * Errors: negative errno with sp_error_text(). The caller owns the struct.
 */
#ifndef SP_CMD_PROFILE_PROFILE_MEMORY_H
#define SP_CMD_PROFILE_PROFILE_MEMORY_H

#include "link/audit_library.h"
#include <stdint.h>

struct sp_capture_stats;
struct sp_profile;
struct sp_recipe_set;

enum { SP_MEMORY_THIN = 512 << 10 /* one of so many bytes is sampled, if nothing else is asked for */ };

struct sp_memory_library {
	struct sp_audit_library place;
	char *path;   /* of the file; NULL: there is no `mem` in the set, or it is of a process that runs */
	char *unseen; /* of that: struct sp_allocators; NULL: nothing */
	char *environment[SP_MEMORY_VARIABLES + 1];
};

/* One of thin_bytes allocated bytes is sampled. Without `mem` in the set all stays as it is. */
int sp_memory_library_make(struct sp_recipe_set *set, uint64_t thin_bytes, struct sp_memory_library *ret_library);
void sp_memory_library_done(struct sp_memory_library *library);

/* *profile is replaced, if the library is in it. */
int sp_memory_callers(const struct sp_memory_library *library, struct sp_profile **profile);

/* Says on stderr, at the beginning, what cannot be seen of the process. */
void sp_memory_unseen_tell(const struct sp_memory_library *library);
/* Says on stderr how many of the programs that ran could not load the library, and why. */
void sp_memory_unsampled_tell(const struct sp_memory_library *library, const struct sp_capture_stats *seen);
/* Says on stderr how many blocks went that a process had before. */
void sp_memory_freed_tell(const struct sp_capture_stats *seen);
/* Says on stderr how far a sample of one in thin_bytes may be off. */
void sp_memory_error_tell(const struct sp_profile *profile, uint64_t thin_bytes);

#endif
