/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk.h: a part of a dictionary: what a window was the first to name.
 *
 * A chunk holds items of every kind with the numbers from first[] up; those of a generation follow each other. The
 * writer fills one until it is written; several read back are appended into one for a roll-up's file; readers apply
 * them to a dictionary (dict.h). A node is its parent (as the distance of the numbers) and which of the frames that
 * have come after the parent's frame so far its own is: twice that rank, plus 1 the first time, when the frame itself
 * stands in fresh[]. So most nodes are two small numbers, and a chunk that is lost costs only what it defined.
 * Owns its memory, which sp_chunk_clear() keeps. Errors: -ENOMEM, -EBADMSG for what cannot be, -E2BIG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_CHUNK_H
#define SP_STORE_FORMAT_CHUNK_H

#include "store/format/dict_items.h"
#include "store/format/pack.h"

enum sp_dict_kind { SP_STRINGS, SP_FILES, SP_FUNCS, SP_FRAMES, SP_NODES, SP_GROUPS, SP_KEYS, SP_N_DICT_KINDS };

struct sp_items {
	void *data; /* of SP_STRINGS: uint32_t lengths with their NUL; SP_NODES: uint32_t distances; else the structs */
	size_t n, capacity;
};
struct sp_chunk {
	uint32_t first[SP_N_DICT_KINDS];
	struct sp_items items[SP_N_DICT_KINDS];
	struct sp_items bytes;        /* char, of the strings, each with its NUL */
	struct sp_items ranks, fresh; /* uint32_t, of the nodes */
	bool without_nodes;           /* they are not wanted, when it is unpacked */
	bool nodes_stay;              /* in its record, which is open then: only how many there are is told */
	struct sp_unpacker *record;
};
void sp_chunk_done(struct sp_chunk *c);
/* Empties it. */
void sp_chunk_clear(struct sp_chunk *c, const uint32_t first[SP_N_DICT_KINDS]);
bool sp_chunk_is_empty(const struct sp_chunk *c);
size_t sp_chunk_memory(const struct sp_chunk *c);

/* Each copies the item behind the others of its kind. */
int sp_chunk_add(struct sp_chunk *c, enum sp_dict_kind thing, const void *item);
int sp_chunk_add_string(struct sp_chunk *c, const char *s, size_t len);
int sp_chunk_add_node(struct sp_chunk *c, uint32_t distance, uint32_t rank, uint32_t fresh_frame);

/* All columns, into a record that was begun. without_keys: for files of hours. */
void sp_chunk_pack(const struct sp_chunk *c, struct sp_packer *p, bool without_keys);
/* Behind what c has: its numbers must go on where c's end, unless c is empty. */
int sp_chunk_unpack(struct sp_chunk *c, struct sp_unpacker *u);
/* Of how many columns a record of a chunk begins, those of the nodes left out if c is without. */
size_t sp_chunk_columns(const struct sp_chunk *c);

size_t sp_dict_kind_bytes(enum sp_dict_kind thing);

#endif
