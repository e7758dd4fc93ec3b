/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meaning.h: what the numbers in rows stand for, as rolling up needs it: groups, the call tree, libraries.
 *
 * Of the generation that is being written it is in memory, and may move with each window: it is asked for each time.
 * Of others it is read from the files, and kept until another one is asked for.
 * Begins zeroed; sp_meaning_done(). 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_MEANING_H
#define SP_STORE_MEANING_H

#include "store/priv.h"

/* What the rows of a generation mean: of the one being written from its numbering, of others from the files. */
struct sp_meaning {
	uint64_t generation;
	struct sp_shape shape;
	struct sp_dict_room *dict;
	struct sp_place *places;
	uint32_t *group_of, *file_of;
	struct sp_node *nodes;
};
int sp_meaning_of(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_meaning *m);
/* Of a dictionary that is at hand, and stays the caller's. m: zeroed; sp_meaning_done() also where it fails. */
int sp_meaning_make(const struct sp_dict *d, struct sp_meaning *m);
void sp_meaning_done(struct sp_meaning *m);

#endif
