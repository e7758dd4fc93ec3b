/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict.h: a generation's dictionary as arrays, which grows as chunks are applied to it.
 *
 * Chunks may come in any order and twice: an item stands at its number. Those that were lost are zeros (a lost node has
 * parent 0 and frame 0) until another file's chunk brings them. Every number that an item holds is checked when it is
 * applied, and 0 if it is not one: readers of a dictionary need not look again.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG: a chunk that cannot be of this generation. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_DICT_H
#define SP_STORE_FORMAT_DICT_H

#include "store/format/chunk.h"
#include "store/format/subtree.h"

/* Which frames came after a frame, by rank: `n` of the table's from `at` on. */
struct sp_successors {
	uint32_t at, n, capacity;
};
struct sp_dict_arrays {
	struct sp_dict d;                       /* first: what is handed out */
	struct sp_items items[SP_N_DICT_KINDS]; /* SP_STRINGS: where they begin; SP_NODES: parents */
	struct sp_items bytes, frame_of;        /* frame_of: by node */
	struct sp_items successors, successor_table;
	uint64_t last_seq;  /* of the chunks that were read */
	bool without_nodes; /* only names are wanted */
	bool without_keys;
	bool lazy;            /* frames of nodes are not known before sp_dict_narrow() */
	struct sp_items news; /* struct sp_news */
};
/* Of a lazy dictionary: a node that was the first to have its frame after the parent's. */
struct sp_news {
	uint32_t node, rank, frame;
};
/* A node's frame that was not found yet: its rank among those that come after the parent's; or which news it is. */
#define SP_FRAME_LAZY UINT32_C(0x80000000)
#define SP_FRAME_NEWS UINT32_C(0x40000000)
int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_arrays **ret_dict);
void sp_dict_free(struct sp_dict_arrays *d);
/* Of a lazy dictionary: the nodes are taken from the chunk's record. */
int sp_dict_apply(struct sp_dict_arrays *d, const struct sp_chunk *c);
/* Room for so many at once: growing is copying. */
int sp_dict_reserve_nodes(struct sp_dict_arrays *d, size_t n);
/* Only the keys that it has; what they refer to may come later, and is checked then. */
int sp_dict_apply_keys(struct sp_dict_arrays *d, const struct sp_chunk *c);
void sp_dict_check_keys(struct sp_dict_arrays *d);
/* Would there be a hole before this chunk's items? */
bool sp_dict_misses(const struct sp_dict_arrays *d, const struct sp_chunk *c);
/*
 * The end of a lazy dictionary: its nodes become those of a part, which are numbered anew, and their frames are found.
 * In the part must be all that there are news of. No more chunks are applied then.
 */
int sp_dict_narrow(struct sp_dict_arrays *d, const struct sp_subtree *part);
size_t sp_dict_memory(const struct sp_dict_arrays *d);

#endif
