/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_items.h: what a generation's dictionary holds: strings, files, functions, frames, nodes of the call tree, groups
 * and keys, as arrays by their numbers.
 *
 * Node 0 is the root; a node's parent has a lower number. The path of a row, from the root: a mark (class and reason of
 * the user stack), the user frames from the outermost to the leaf, the kernel's from the outermost to the leaf. The
 * kernel's begin with the first frame that has SP_FRAMEF_KERNEL, or, after the mark MIXED always, with a mark KERNEL,
 * which then tells their class. A node that was lost with its chunk has parent 0 and frame 0, as has the root: the
 * stack of its rows is not known. No state; who hands out a dictionary owns its arrays (dict.h).
 */
#ifndef SP_STORE_FORMAT_DICT_ITEMS_H
#define SP_STORE_FORMAT_DICT_ITEMS_H

#include "profile/profile.h"

enum sp_mark { SP_MARK_NONE, SP_MARK_USER, SP_MARK_MIXED, SP_MARK_KERNEL };

struct sp_dict_frame {
	uint64_t offset;     /* in the file, if there is no function */
	uint32_t func, file; /* the frame's file; func.file may be a module's */
	uint16_t flags;      /* SP_FRAMEF_* */
	uint16_t mark;       /* enum sp_mark: not a frame, but what the stack's two numbers are: */
	uint16_t stack_class, reason;
};

/* Who windows of 1m and 1h are keyed by; and what all rows of a key have in common. */
struct sp_dict_group {
	uint32_t exe; /* file */
	uint32_t uid;
	uint32_t comm, cgroup_path, container; /* strings; the leader's name */
	uint32_t root;                         /* string; "" where there is a container, which says as much */
};
struct sp_dict_key {
	uint32_t group;
	uint32_t pid, ns_pid, exec_id;
	uint32_t thread; /* string: the thread's name */
	uint32_t unused;
	uint64_t start_ns, cgroup;
};

/* Number 0 of each is none. In files and functions numbers of strings are the dictionary's; tag and process are 0. */
struct sp_dict {
	uint64_t generation; /* with day_s: distinct in a store */
	uint64_t day_s;      /* when its UTC day began */
	uint32_t n_strings, n_files, n_funcs, n_frames, n_nodes, n_groups, n_keys;
	const uint32_t *string_at; /* of bytes */
	const char *bytes;
	const struct sp_file *files;
	const struct sp_func *funcs; /* of the kernel and of memory without a file: start and vaddr are 0 */
	const struct sp_dict_frame *frames;
	const uint32_t *parent, *frame; /* by node */
	const struct sp_dict_group *groups;
	const struct sp_dict_key *keys;
	uint64_t n_lost_chunks;
	bool is_tree; /* a pruned tree's own */
};
/* Of a frame's flags, in pruned trees: it stands for all that was cut behind the one before it. */
#define SP_DICT_SHORTENED 0x8000
static inline const char *sp_dict_string(const struct sp_dict *d, uint32_t string)
{
	return string < d->n_strings ? d->bytes + d->string_at[string] : "";
}

#endif
