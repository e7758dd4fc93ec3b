/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_items.h: what a dictionary holds: strings, files, functions, frames, nodes of the call tree, groups and keys,
 * each kind an array by number.
 *
 * Node 0 is the root; a parent has a lower number than its children. The path of a row, from the root: a mark with the
 * class and reason of the user stack, the user's frames from the outermost to the leaf, the kernel's frames from the
 * outermost to the leaf. The kernel's part begins with the first frame that has SP_FRAMEF_KERNEL, or with a mark
 * KERNEL, which gives the class of the kernel stack; after a mark MIXED there is always a mark KERNEL. A node that was
 * lost with its chunk has parent 0 and frame 0, like the root: the stack of its rows is unknown.
 * No state; dict.h owns the arrays.
 */
#ifndef SP_STORE_FORMAT_DICT_ITEMS_H
#define SP_STORE_FORMAT_DICT_ITEMS_H

#include "profile/profile.h"

/* MIXED: a user stack that has frames of the kernel, as foreign profiles may. */
enum sp_mark { SP_MARK_NONE, SP_MARK_USER, SP_MARK_MIXED, SP_MARK_KERNEL };

struct sp_dict_frame {
	uint64_t offset;     /* in the file; 0 if there is a function */
	uint32_t func, file; /* file: the frame's own; a function's may be a kernel module */
	uint16_t flags;      /* SP_FRAMEF_* */
	uint16_t mark;       /* enum sp_mark; if it is not NONE this is no frame, and the next two count: */
	uint16_t stack_class, reason;
};

/* The key of windows of 1m and 1h; also what the keys of one process have in common. */
struct sp_dict_group {
	uint32_t exe; /* file */
	uint32_t uid;
	uint32_t comm, cgroup_path, container; /* strings; comm: of the thread group leader */
	uint32_t root;                         /* string; "" where there is a container, which implies it */
};
struct sp_dict_key {
	uint32_t group;
	uint32_t pid, ns_pid, exec_id;
	uint32_t thread; /* string: the thread's name */
	uint32_t unused;
	uint64_t start_ns, cgroup;
};

/*
 * In each kind, number 0 is "none". Strings in files and functions are numbers of the dictionary; tag and process are
 * 0.
 */
struct sp_dict {
	uint64_t generation; /* unique in the store, together with day_s */
	uint64_t day_s;      /* when its UTC day began */
	uint32_t n_strings, n_files, n_funcs, n_frames, n_nodes, n_groups, n_keys;
	const uint32_t *string_at; /* offset in bytes */
	const char *bytes;
	const struct sp_file *files;
	const struct sp_func *funcs; /* of the kernel and of memory without a file: start and vaddr are 0 */
	const struct sp_dict_frame *frames;
	const uint32_t *parent, *frame; /* by node */
	const struct sp_dict_group *groups;
	const struct sp_dict_key *keys;
	uint64_t n_lost_chunks;
	bool is_tree; /* dictionary of one pruned tree */
};
/* Flag of a frame in a pruned tree: it stands for all frames removed below the frame before it. */
#define SP_DICT_SHORTENED 0x8000
static inline const char *sp_dict_string(const struct sp_dict *d, uint32_t string)
{
	return string < d->n_strings ? d->bytes + d->string_at[string] : "";
}

#endif
