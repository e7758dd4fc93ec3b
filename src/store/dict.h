/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict.h: a generation's dictionary as arrays, which grows as chunks are applied to it.
 *
 * Chunks may come in any order and twice: an item stands at its number. Those that were lost are zeros (a lost node has
 * parent 0 and frame 0) until another file's chunk brings them. Every number that an item holds is checked when it is
 * applied, and 0 if it is not one: readers of a dictionary need not look again.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG: a chunk that cannot be of this generation. Not thread-safe.
 */
#ifndef SP_STORE_DICT_H
#define SP_STORE_DICT_H

#include "store/chunk.h"

/* Which frames came after a frame, by rank: `n` of the table's from `at` on. */
struct sp_successors {
	uint32_t at, n, capacity;
};
struct sp_dict_room {
	struct sp_dict d;                   /* first: what is handed out */
	struct sp_items items[SP_N_THINGS]; /* SP_STRINGS: where they begin; SP_NODES: parents */
	struct sp_items bytes, frame_of;    /* frame_of: by node */
	struct sp_items successors, successor_table;
	uint64_t last_seq;  /* of the chunks that were read */
	bool without_nodes; /* only names are wanted */
	uint32_t found_to;  /* frames of nodes up to there were all looked for */
	bool lazy;          /* frames of nodes are found when sp_dict_frame_of() asks for them */
};
/* A node's frame that was not found yet: its rank among those that come after the parent's. */
#define SP_FRAME_LAZY UINT32_C(0x80000000)
int sp_dict_new(uint64_t day_s, uint64_t generation, struct sp_dict_room **ret_dict);
void sp_dict_free(struct sp_dict_room *d);
int sp_dict_apply(struct sp_dict_room *d, const struct sp_chunk *c);
/* Only the keys that it has; what they refer to may come later, and is checked then. */
int sp_dict_apply_keys(struct sp_dict_room *d, const struct sp_chunk *c);
void sp_dict_check_keys(struct sp_dict_room *d);
/* Would there be a hole before this chunk's items? */
bool sp_dict_misses(const struct sp_dict_room *d, const struct sp_chunk *c);
/* The frame of a node of a lazy dictionary; the parent's first, if it was not asked for before. */
uint32_t sp_dict_frame_of(struct sp_dict_room *d, uint32_t node);
/* The same for one whose parent's is known. */
uint32_t sp_dict_frame_after(const struct sp_dict_room *d, uint32_t node, uint32_t of);
size_t sp_dict_memory(const struct sp_dict_room *d);

#endif
