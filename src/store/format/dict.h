/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict.h: the dictionary of a generation, as arrays that grow while chunks are applied.
 *
 * Chunks may come in any order, and twice: each item is put at its number. Items of a lost chunk are zeros until
 * another file supplies that chunk; a lost node has parent 0 and frame 0. sp_dict_apply() checks every number inside
 * an item and replaces invalid ones by 0, so that users of a dictionary need no checks.
 * A lazy dictionary does not find the frames of nodes until sp_dict_narrow() has dropped the nodes that nobody needs.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG: the chunk cannot be of this generation. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_DICT_H
#define SP_STORE_FORMAT_DICT_H

#include "store/format/chunk.h"
#include "store/format/subtree.h"

/* The frames that follow a frame in the tree, by rank: n entries of successor_table from `at` on. */
struct sp_successors {
	uint32_t at, n, capacity; /* capacity: a power of two; 0 = none */
};
enum { SP_SUCCESSOR_SIZES = 32 };
struct sp_dict_arrays {
	struct sp_dict dict;                    /* what users see */
	struct sp_items items[SP_N_DICT_KINDS]; /* SP_STRINGS: offsets into bytes; SP_NODES: parents */
	struct sp_items bytes, frame_of;        /* frame_of: by node */
	struct sp_items successors, successor_table;
	uint32_t free_entries[SP_SUCCESSOR_SIZES]; /* of the table, by log2 of how many: where, from 1, which has the
						      next; 0 = none */
	uint64_t last_seq;                         /* number of the last chunk read */
	bool skip_nodes;                           /* nodes are not needed */
	bool skip_keys;
	bool lazy;
	struct sp_items new_successors; /* struct sp_new_successor */
};
/* Of a lazy dictionary: the frame of a node that is the first to follow its parent's frame at this rank. */
struct sp_new_successor {
	uint32_t rank, frame;
};
/*
 * Bits of a frame's number while the frame is not known: IS_LAZY: the rest is a rank; with IS_NEW, too: an index into
 * new_successors.
 */
#define SP_FRAME_IS_LAZY UINT32_C(0x80000000)
#define SP_FRAME_IS_NEW UINT32_C(0x40000000)
static inline bool sp_frame_is_new(uint32_t frame)
{
	return frame >= (SP_FRAME_IS_LAZY | SP_FRAME_IS_NEW);
}
int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_arrays **ret_dict);
void sp_dict_free(struct sp_dict_arrays *d);
/* A lazy dictionary unpacks the nodes from c->record. */
int sp_dict_apply(struct sp_dict_arrays *d, const struct sp_chunk *c);
/* Reserves room for n nodes, to avoid copies. */
int sp_dict_reserve_nodes(struct sp_dict_arrays *d, size_t n);
/* Applies only the keys. What they refer to may come later: call sp_dict_check_keys() then. */
int sp_dict_apply_keys_only(struct sp_dict_arrays *d, const struct sp_chunk *c);
void sp_dict_check_keys(struct sp_dict_arrays *d);
/* Whether items are missing between those of d and those of c. */
bool sp_dict_has_gap_before(const struct sp_dict_arrays *d, const struct sp_chunk *c);
/*
 * Finishes a lazy dictionary: keeps the nodes of the subtree, numbers them anew and finds their frames. The subtree
 * must contain all nodes of new_successors. No chunk can be applied afterwards.
 */
int sp_dict_narrow(struct sp_dict_arrays *d, const struct sp_subtree *subtree);

#endif
