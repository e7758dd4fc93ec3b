/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder_priv.h: the insides of a dict_builder, which number.c (things by their identity, rows), number_stack.c
 * (user stacks) and number_tree.c (nodes) share.
 *
 * What is kept for each thing is as little as its use allows: there may be a million nodes. The arrays that readers of
 * a shape want (number.h) are the ones that nodes are looked up by, too. Threads, ownership and errors: as in number.h.
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_PRIV_H
#define SP_STORE_WRITE_DICT_BUILDER_PRIV_H

#include "base/mem.h"
#include "store/write/dict_builder.h"
#include "store/write/dict_builder_sum.h"

enum { SP_KERNEL_CACHE = 16384, SP_PATHS = 16, SP_NODE_BITS = 24 };
#define SP_NODE_MASK ((1U << SP_NODE_BITS) - 1)
#define SP_OF_KERNEL (1U << 31)

/* Which frame came after which, and as which: 1 + its rank; 0 = free. */
struct sp_frame_pair {
	uint32_t of, frame, rank1;
};
struct sp_memo_file {
	struct sp_file as; /* what it was like when it was numbered */
	uint32_t file;
};
/* A frame of the profile, 0 = not numbered yet; and where it lies. */
struct sp_memo_frame {
	uint32_t frame, library; /* frame: with SP_OF_KERNEL, if it is the kernel's */
};
struct sp_memo_kernel {
	uint32_t user, kernel, node; /* user: a node, and whether it is mixed; kernel: a stack of the profile */
};

/* A stack of the profile: its node, and where its libraries are in the memo's; 0 = not asked for yet. */
struct sp_memo_stack {
	uint32_t node, libraries;
};

/* A user stack by the dictionary's frames, from its mark and the outermost on. */
struct sp_path {
	uint32_t stack, n, *frames, *libraries; /* libraries: of each frame but the mark */
	uint32_t depth, node;                   /* how many of them the tree has, and the last one's node */
	size_t capacity;
	uint64_t hash;
	bool mixed;
};

/* Nodes of paths that were walked, by 40 bits of the path's hash beside 24 of the node: in buckets of a cache line.
 * What has no room any more is walked again. With the path's last frame compared, too, two of a million stacks are
 * taken for one with a probability below 10^-6; the seed is random. */
struct sp_known_paths {
	uint64_t *slots, seed;
	size_t n_slots, n_added;
};

/* Numbers of the profile as numbers of the dictionary, 0 = not asked for yet. */
struct sp_memo {
	uint64_t profile, names;              /* its serial numbers */
	struct sp_items strings, funcs, keys; /* uint32_t */
	struct sp_items unnamed; /* uint32_t: the profile's frames that had no function when they were numbered */
	struct sp_items files, frames, stacks;
	struct sp_items
	    libraries; /* uint32_t, of stacks: how many, then each once, that of the innermost frame first */
	struct sp_memo_kernel kernels[SP_KERNEL_CACHE];
};

struct sp_dict_builder {
	uint32_t n[SP_N_DICT_KINDS];
	struct sp_chunk pending;
	struct sp_id_map seen[SP_N_DICT_KINDS];
	struct sp_node *nodes;
	size_t nodes_capacity;
	uint32_t *slots; /* nodes by parent and frame: 8 bits of the hash, SP_NODE_BITS of the number */
	size_t n_slots, n_slotted;
	struct sp_frame_pair *pairs;
	size_t n_pair_slots, n_pairs;
	struct sp_items n_after; /* uint32_t by frame: different frames after it */
	struct sp_items places;  /* struct sp_frame_owner by frame */
	struct sp_items groups;  /* uint32_t by key */
	struct sp_items file_of; /* uint32_t by func */
	struct sp_items kernels; /* uint8_t by file: is it the kernel's? */
	uint32_t kernel;         /* the file that stands for the kernel */
	struct sp_items met;     /* uint32_t by file: in which stack it was met last */
	uint32_t n_met;
	struct sp_path paths[SP_PATHS]; /* of those that are expected */
	size_t n_paths;
	struct sp_row_sums sums;
	struct sp_known_paths known;
	struct sp_memo memo;
};

static inline int sp_items_room(struct sp_items *items, size_t n, size_t each)
{
	int r = sp_grow(&items->data, &items->capacity, n, each);

	if (r == 0)
		items->n = SP_MAX(items->n, n);
	return r;
}

static inline uint32_t *sp_words(const struct sp_items *items)
{
	return items->data;
}

static inline uint64_t sp_pair_hash(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* number.c: what is remembered of a frame of the profile; the dictionary's number of a mark. */
int sp_dict_builder_frame(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t frame,
			  struct sp_memo_frame *ret_memo);
int64_t sp_dict_builder_add_frame(struct sp_dict_builder *n, const struct sp_dict_frame *f);

/* number_tree.c: nodes. */
int sp_dict_builder_make_tree(struct sp_dict_builder *n);
/* The node of a frame under another, which is new perhaps; an error of either stays. */
int64_t sp_dict_builder_child(struct sp_dict_builder *n, int64_t parent, int64_t frame);
/* How far down the tree has each of these paths, at most SP_PATHS; what adding the rest will read is asked for. */
void sp_dict_builder_find(const struct sp_dict_builder *n, struct sp_path *const *paths, size_t n_paths);

/* number_stack.c: the nodes of stacks, and their libraries. */
int sp_dict_builder_make_paths(struct sp_dict_builder *n);
void sp_dict_builder_done_paths(struct sp_dict_builder *n);
size_t sp_dict_builder_paths_memory(const struct sp_dict_builder *n);
/* Of at most SP_PATHS user stacks that the next rows have: makes ready what dict_builder them needs. */
int sp_dict_builder_expect(struct sp_dict_builder *n, const struct sp_profile *p, const uint32_t *stacks,
			   size_t n_stacks);
/* The node of a row, whose user stack was expected. */
int64_t sp_dict_builder_node(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t user, uint32_t kernel);
/* Of a row whose user stack is remembered, what its dict_builder will read. */
void sp_dict_builder_prefetch_row(const struct sp_dict_builder *n, const struct sp_row *row);
/* Where the libraries of a stack are in the memo's. */
int64_t sp_dict_builder_libraries(struct sp_dict_builder *n, const struct sp_profile *p, uint32_t stack);

static inline struct sp_memo_stack sp_memo_of_stack(const struct sp_dict_builder *n, uint32_t stack)
{
	const struct sp_memo_stack *stacks = n->memo.stacks.data;

	return stack < n->memo.stacks.n ? stacks[stack] : (struct sp_memo_stack){0};
}

#endif
