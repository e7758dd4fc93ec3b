/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * number_priv.h: the insides of a numbering, which number.c (things by their identity, rows) and number_tree.c (nodes)
 * share.
 *
 * What is kept for each thing is as little as its use allows: there may be a million nodes. The arrays that readers of
 * a shape want (number.h) are the ones that nodes are looked up by, too. Threads, ownership and errors: as in number.h.
 */
#ifndef SP_STORE_NUMBER_PRIV_H
#define SP_STORE_NUMBER_PRIV_H

#include "base/mem.h"
#include "store/number.h"

enum { SP_KERNEL_CACHE = 16384, SP_PATH_MAX = 128, SP_WALKERS = 16 };

/* Which frame came after which, and as which: 1 + its rank; 0 = free. */
struct sp_frame_pair {
	uint32_t of, frame, rank1;
};
struct sp_memo_file {
	struct sp_file as; /* what it was like when it was numbered */
	uint32_t file;
};
struct sp_memo_frame {
	uint32_t frame, func; /* func: of the profile */
};
struct sp_memo_kernel {
	uint32_t user, kernel, node; /* user: a node, and whether it is mixed; kernel: a stack of the profile */
};

/* The stack that was walked last: the next one has its beginning in common, often. */
struct sp_memo_path {
	uint32_t n, frames[SP_PATH_MAX], nodes[SP_PATH_MAX]; /* from the outermost; node 0: the mark's */
	uint32_t mark;
};

/* Numbers of the profile as numbers of the dictionary, 0 = not asked for yet. */
struct sp_memo {
	uint64_t profile;
	struct sp_items strings, funcs, keys, stacks; /* uint32_t */
	struct sp_items files, frames;
	struct sp_memo_kernel kernels[SP_KERNEL_CACHE];
	struct sp_memo_path path;
};

struct sp_numbering {
	uint32_t n[SP_N_THINGS];
	struct sp_chunk pending;
	struct sp_seen seen[SP_N_THINGS];
	struct sp_node *nodes;
	size_t nodes_capacity;
	uint32_t *slots; /* nodes by parent and frame: 8 bits of the hash, 24 of the number */
	size_t n_slots;
	struct sp_frame_pair *pairs;
	size_t n_pair_slots, n_pairs;
	struct sp_items n_after; /* uint32_t by frame: different frames after it */
	struct sp_items places;  /* struct sp_place by frame */
	struct sp_items flags;   /* uint8_t by frame: the kernel's? */
	struct sp_items groups;  /* uint32_t by key */
	struct sp_items file_of; /* uint32_t by func */
	struct sp_items kernels; /* uint8_t by file: is it the kernel's? */
	uint32_t kernel;         /* the file that stands for the kernel */
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

/* number.c: the dictionary's number of a frame of the profile; of a mark. */
int64_t sp_numbering_frame(struct sp_numbering *n, const struct sp_profile *p, uint32_t frame);
int64_t sp_numbering_add_frame(struct sp_numbering *n, const struct sp_dict_frame *f);
/* number_tree.c: the node of a row. */
int64_t sp_numbering_node(struct sp_numbering *n, const struct sp_profile *p, uint32_t user, uint32_t kernel);
/* Before so many new user stacks are numbered: reads what that will need. */
void sp_numbering_make_ready(struct sp_numbering *n, const struct sp_profile *p, const uint32_t *stacks,
			     size_t n_stacks);
int sp_numbering_make_tree(struct sp_numbering *n);

#endif
