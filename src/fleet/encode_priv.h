/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * encode_priv.h: what the encoder's two files share: rows that name something (encode_names.c), and rows of samples,
 * libraries and windows (encode.c).
 *
 * Names are those of the dictionary at hand, from which each id is made once; a row is made at a time, so what it
 * refers to comes first. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_FLEET_ENCODE_PRIV_H
#define SP_FLEET_ENCODE_PRIV_H

#include "fleet/encode.h"

/* --- encode_names.c --- */
/* Ids by number of a dictionary; 0 = not made yet. */
struct sp_encode_names {
	struct sp_fleet_rows *into;
	struct sp_sent *sent;
	uint64_t seed;
	uint16_t day;
	const struct sp_dict *dict;
	bool by_group;
	uint64_t *file_of, *frame_of, *who_of, *stack_of; /* stack_of: by end */
	uint32_t n_who;
	struct sp_bytes row; /* the one that is being made, without day and id */
	int error;
};
/* Another dictionary: what was made of the one before is forgotten. */
int sp_encode_names_begin(struct sp_encode_names *n, const struct sp_stored_window *w);
void sp_encode_names_done(struct sp_encode_names *n);

/* The frames of a row's stack, leaf first: numbers of the dictionary, of which the first are the kernel's. */
struct sp_encode_path {
	uint32_t *frames;
	size_t capacity;
	uint32_t n, n_kernel;
	const struct sp_dict_frame *user, *kernel; /* marks; NULL = none */
};
int sp_encode_path_find(const struct sp_dict *d, uint32_t node, struct sp_encode_path *path);

/* Ids; their rows are put if they are new. After an error, which is kept, any. */
uint64_t sp_encode_who(struct sp_encode_names *n, uint32_t who);
uint64_t sp_encode_stack(struct sp_encode_names *n, uint32_t end, const struct sp_encode_path *path);

#endif
