/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder_priv.h: the internals of a dict_builder, shared by dict_builder.c (items, rows), _stack.c (stacks),
 * _tree.c (nodes) and _sum.c (sums by library).
 *
 * There may be a million nodes, so each array holds as little as it can; those that sp_dict_view exposes also serve to
 * look up nodes. Threads, ownership and errors: as in dict_builder.h.
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_PRIV_H
#define SP_STORE_WRITE_DICT_BUILDER_PRIV_H

#include "base/mem.h"
#include "store/write/dict_builder.h"
#include "store/write/dict_builder_sum.h"

enum { SP_KERNEL_CACHE = 16384, SP_PATHS_AT_ONCE = 16, SP_NODE_BITS = 24 };
#define SP_NODE_MASK ((1U << SP_NODE_BITS) - 1)
#define SP_FRAME_OF_KERNEL (1U << 31)

/* Entry of a hash table: `frame` has followed parent_frame, with rank rank1 - 1; rank1 0: free. */
struct sp_frame_pair {
	uint32_t parent_frame, frame, rank1;
};
struct sp_memo_file {
	struct sp_file as; /* its content when it was numbered */
	uint32_t file;
};
/* A frame of the profile. 0: not numbered yet. */
struct sp_memo_frame {
	uint32_t frame, library; /* frame: with SP_FRAME_OF_KERNEL, if it is in the kernel */
};
struct sp_memo_kernel {
	uint32_t user, kernel, node; /* user: a node, with MIXED; kernel: a stack of the profile */
};

/* A stack of the profile: its node (with MIXED), and the index of its list in memo.libraries. 0: not known yet. */
struct sp_memo_stack {
	uint32_t node, libraries;
};

/* A user stack in numbers of the dictionary: its mark, then the frames from the outermost on. */
struct sp_path {
	uint32_t stack, n, *frames, *libraries; /* libraries: of the frames; not of the mark */
	uint32_t depth, node;                   /* the first `depth` frames are in the tree, down to `node` */
	size_t capacity;
	uint64_t hash;
	bool mixed;
};

/* A cache: path to node. An entry is 40 bits of the path's hash and 24 of the node; a bucket is a cache line. Evicted
 * paths are walked again. The last frame is compared, too: two of a million stacks are confused with a probability
 * below 10^-6. The seed is random. */
struct sp_known_paths {
	uint64_t *slots, seed;
	size_t n_slots, n_added;
};

/* Memo: numbers of the dictionary by number of the profile. 0: not known yet. */
struct sp_memo {
	uint64_t profile, names;              /* serial numbers of the profile */
	struct sp_items strings, funcs, keys; /* uint32_t */
	struct sp_items unnamed;              /* uint32_t: frames of the profile that had no function when numbered */
	struct sp_items files, frames, stacks;
	struct sp_items
	    libraries; /* uint32_t: lists of libraries: length, then each once, that of the innermost frame first */
	struct sp_memo_kernel kernel_nodes[SP_KERNEL_CACHE];
};

struct sp_dict_builder {
	uint32_t next[SP_N_DICT_KINDS];
	struct sp_chunk pending;
	struct sp_id_map ids[SP_N_DICT_KINDS];
	struct sp_node *nodes;
	size_t nodes_capacity;
	uint32_t *slots; /* hash table of nodes by parent and frame: 8 bits of the hash, SP_NODE_BITS of the number */
	size_t n_slots, n_slotted;
	struct sp_frame_pair *pairs;
	size_t n_pair_slots, n_pairs;
	struct sp_items n_successors; /* uint32_t by frame: number of different frames after it */
	struct sp_items owners;       /* struct sp_frame_owner by frame */
	struct sp_items group_of;     /* uint32_t by key */
	struct sp_items file_of;      /* uint32_t by func */
	struct sp_items is_kernel;    /* uint8_t by file: 1 = a kernel file */
	uint32_t kernel_file;         /* the file that kernel frames are counted for */
	struct sp_items stamps;       /* uint32_t by file: stamp of the last path it was met in */
	uint32_t stamp;
	struct sp_path paths[SP_PATHS_AT_ONCE]; /* paths of the prepared stacks */
	size_t n_paths;
	struct sp_row_sums sums;
	struct sp_known_paths known_paths;
	struct sp_memo memo;
};

static inline int sp_items_reserve(struct sp_items *items, size_t n, size_t each)
{
	int r = sp_grow(&items->data, &items->capacity, n, each);

	if (r == 0)
		items->n = SP_MAX(items->n, n);
	return r;
}

static inline uint32_t *sp_items_words(const struct sp_items *items)
{
	return items->data;
}

static inline uint64_t sp_pair_hash(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* --- dict_builder.c --- */
int sp_dict_builder_find_frame(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t frame,
			       struct sp_memo_frame *ret_memo);
int64_t sp_dict_builder_add_frame(struct sp_dict_builder *builder, const struct sp_dict_frame *f);

/* --- dict_builder_tree.c --- */
int sp_dict_builder_init_tree(struct sp_dict_builder *builder);
/* Finds or adds the child of a node by frame. A negative parent or frame is returned. */
int64_t sp_dict_builder_add_child(struct sp_dict_builder *builder, int64_t parent, int64_t frame);
/* Finds how far each path (at most SP_PATHS_AT_ONCE) is in the tree, and prefetches what adding the rest will read. */
void sp_dict_builder_find_paths(const struct sp_dict_builder *builder, struct sp_path *const *paths, size_t n_paths);

/* --- dict_builder_stack.c --- */
int sp_dict_builder_init_paths(struct sp_dict_builder *builder);
void sp_dict_builder_done_paths(struct sp_dict_builder *builder);
size_t sp_dict_builder_paths_memory(const struct sp_dict_builder *builder);
/* Prepares the user stacks of the next rows, at most SP_PATHS_AT_ONCE. */
int sp_dict_builder_prepare_stacks(struct sp_dict_builder *builder, const struct sp_profile *p, const uint32_t *stacks,
				   size_t n_stacks);
/* The node of a row. Its user stack was prepared. */
int64_t sp_dict_builder_find_node(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t user,
				  uint32_t kernel);
/* Prefetches what a row with a known user stack will read. */
void sp_dict_builder_prefetch_row(const struct sp_dict_builder *builder, const struct sp_row *row);
/* The index of the stack's list in memo.libraries. */
int64_t sp_dict_builder_find_libraries(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t stack);

static inline struct sp_memo_stack sp_memo_of_stack(const struct sp_dict_builder *builder, uint32_t stack)
{
	const struct sp_memo_stack *stacks = builder->memo.stacks.data;

	return stack < builder->memo.stacks.n ? stacks[stack] : (struct sp_memo_stack){0};
}

#endif
