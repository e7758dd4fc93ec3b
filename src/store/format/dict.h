/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict.h: the dictionary of a generation, as arrays that grow while chunks are applied.
 *
 * Chunks may come in any order, and twice: each item is put at its number. Items of a lost chunk are zeros until
 * another file supplies that chunk; a lost node has parent 0 and frame 0. sp_dict_apply() checks every number inside
 * an item and replaces invalid ones by 0, so that users of a dictionary need no checks.
 * A lazy dictionary does not find the frames of nodes until sp_dict_narrow() has dropped the nodes that nobody needs.
 * One of `nodes_first` has only its nodes, with their frames' numbers; dict_pick.h takes the rest that is needed.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG: the chunk cannot be of this generation. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_DICT_H
#define SP_STORE_FORMAT_DICT_H

#include "store/format/chunk.h"
#include "store/format/subtree.h"

/*
 * The frames that follow a frame in the tree, by rank. Of one that is `at`; of more it is where they begin in
 * successor_table, which has room for a power of two.
 */
struct sp_successors {
	uint32_t at, n;
};
enum { SP_SUCCESSOR_SIZES = 32, SP_DICT_FILES = 3 };
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
	bool nodes_first;                /* of other items there are only numbers */
	uint64_t read_to[SP_DICT_FILES]; /* of nodes_first, by file: the last chunk that was read of it; 0 = none */
	struct sp_items new_successors;  /* struct sp_new_successor */
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
/* Begins anew, as a lazy dictionary. */
int sp_dict_make_lazy(struct sp_dict_arrays *d);
/* A lazy dictionary unpacks the nodes from c->record. */
int sp_dict_apply(struct sp_dict_arrays *d, const struct sp_chunk *c);
/* After the last chunk. */
void sp_dict_forget_successors(struct sp_dict_arrays *d);
/* Reserves room for n nodes, to avoid copies. */
int sp_dict_reserve_nodes(struct sp_dict_arrays *d, size_t n);
/* Applies only the keys. What they refer to may come later: call sp_dict_check_keys() then. */
int sp_dict_apply_keys_only(struct sp_dict_arrays *d, const struct sp_chunk *c);
void sp_dict_check_keys(struct sp_dict_arrays *d);
/* Whether items are missing between those of d and those of c. */
bool sp_dict_has_gap_before(const struct sp_dict_arrays *d, const struct sp_chunk *c);
/*
 * Keeps the nodes of the subtree and numbers them anew. Of a lazy dictionary it finds their frames, and the subtree
 * must contain all nodes of new_successors. No chunk can be applied afterwards.
 */
int sp_dict_narrow(struct sp_dict_arrays *d, const struct sp_subtree *subtree);

/* --- for dict_pick.c --- */
/* A number in items of a kind: where it is, and of which kind. */
struct sp_dict_ref {
	uint8_t kind, offset, to;
};
enum { SP_DICT_REFS = 19 };
extern const struct sp_dict_ref sp_dict_refs[SP_DICT_REFS];
/* Shows the arrays as they are now. */
void sp_dict_update(struct sp_dict_arrays *d);

#endif
