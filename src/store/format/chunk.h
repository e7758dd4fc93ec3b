/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk.h: a chunk is the part of a dictionary that one window added: the items that no window before it had named.
 *
 * For each kind of item a chunk holds those numbered from first[] up. The chunks of a generation follow each other
 * without gaps. The writer fills a chunk until it is committed; a roll-up joins several into one; readers apply them
 * to a dictionary (dict.h).
 * A node is stored as two small numbers. One is the distance to its parent's number. The other is the rank of its
 * frame among all frames that have followed the parent's frame so far, times two; plus one if the frame follows it for
 * the first time, and then the frame's number is in new_frames. So a lost chunk loses only what it defined.
 * Owns its memory; sp_chunk_clear() keeps it for reuse. Errors: -ENOMEM, -EBADMSG: the record is invalid, -E2BIG. Not
 * thread-safe.
 */
#ifndef SP_STORE_FORMAT_CHUNK_H
#define SP_STORE_FORMAT_CHUNK_H

#include "store/format/dict_items.h"
#include "store/format/id_map.h"
#include "store/format/pack.h"
#include "store/format/subtree.h"

enum sp_dict_kind { SP_STRINGS, SP_FILES, SP_FUNCS, SP_FRAMES, SP_NODES, SP_GROUPS, SP_KEYS, SP_N_DICT_KINDS };

struct sp_items {
	void *data; /* SP_STRINGS: uint32_t lengths, NUL included; SP_NODES: uint32_t distances; else structs */
	size_t n, capacity;
};
/* Room for n items in all. It grows by halves, and is left as it comes: untouched, it takes no memory. 0 or -ENOMEM. */
int sp_items_room(struct sp_items *items, size_t n, size_t each);
/* The place of n more items, to be filled by the caller; NULL: no memory. */
void *sp_items_add(struct sp_items *items, size_t n, size_t each);

struct sp_chunk {
	uint32_t first[SP_N_DICT_KINDS];
	struct sp_items items[SP_N_DICT_KINDS];
	struct sp_items bytes;             /* char: the strings, each with its NUL */
	struct sp_items ranks, new_frames; /* uint32_t: of the nodes */
	bool skip_nodes;                   /* sp_chunk_unpack() leaves the nodes out */
	bool only_keys;                    /* it leaves out all but the keys */
	bool only_nodes;                   /* all but the nodes, and only counts the rest */
	bool nodes_in_record; /* sp_chunk_unpack() leaves them in `record`, which stays open, and only counts them */
	struct sp_unpacker *record;
	const struct sp_subtree *keys; /* sp_chunk_unpack() only counts keys where none is among these; NULL = all */
};
void sp_chunk_done(struct sp_chunk *c);
void sp_chunk_clear(struct sp_chunk *c, const uint32_t first[SP_N_DICT_KINDS]);
bool sp_chunk_is_empty(const struct sp_chunk *c);
size_t sp_chunk_memory(const struct sp_chunk *c);
size_t sp_chunk_bytes(const struct sp_chunk *c); /* of its items; memory: with room for more */

int sp_chunk_add_node(struct sp_chunk *c, uint32_t distance, uint32_t rank, uint32_t new_frame);
/*
 * The number of the item with this identity, or a negative errno. If `ids` has none, the item is appended and gets the
 * number *next, which grows. A string is its own identity.
 */
int64_t sp_chunk_intern(struct sp_chunk *c, enum sp_dict_kind kind, struct sp_id_map *ids, uint32_t *next,
			const void *identity, size_t len, const void *item);

/* Appends all columns to a record that was begun. skip_keys: for files of hours, which have none. */
void sp_chunk_pack(const struct sp_chunk *c, struct sp_packer *p, bool skip_keys);
/* Appends to c. The numbers must continue those of c, unless c is empty. */
int sp_chunk_unpack(struct sp_chunk *c, struct sp_unpacker *u);
/* The number of columns to unpack, depending on c->skip_nodes. */
size_t sp_chunk_columns(const struct sp_chunk *c);
/* What the first columns of a record say: where its items begin, and how many there are. */
enum { SP_CHUNK_COUNT_COLUMNS = 2 };
int sp_chunk_unpack_counts(struct sp_unpacker *u, uint32_t ret_first[SP_N_DICT_KINDS],
			   uint32_t ret_counts[SP_N_DICT_KINDS]);

size_t sp_dict_kind_bytes(enum sp_dict_kind kind);

#endif
