/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h: where `mem` is told of allocations: in a command by the library that samples them there
 * (memory/memory.h), in a process that runs by probes at malloc and its like, in all files that it has mapped and that
 * have them.
 *
 * Both change the set's recipe that holds; without one nothing is done. Errors: negative errno with sp_error_text();
 * -ENOENT: the process has no malloc that can be probed.
 */
#ifndef SP_RECIPE_MEMORY_H
#define SP_RECIPE_MEMORY_H

#include <stdint.h>

struct sp_recipe_set;

/* library: its path. */
int sp_recipe_set_memory(struct sp_recipe_set *set, const char *library);

struct sp_allocators {
	uint32_t pid;
	const char *library;  /* only in this one, as probe/file.h names it; NULL: in all */
	uint64_t thin_bytes;  /* one of so many bytes is sampled; 1: all */
	uint64_t one_in;      /* one of so many calls is, instead; 0: by bytes */
	uint64_t least, most; /* smaller and larger blocks do not count; most 0: none is too large */
};
/*
 * *ret_unseen: NULL, or the path of a library whose C++ operators do not come by its malloc, and whose ends were not
 * found, so that what they have is not seen. The caller frees it.
 */
int sp_recipe_set_allocators(struct sp_recipe_set *set, const struct sp_allocators *what, char **ret_unseen);

#endif
