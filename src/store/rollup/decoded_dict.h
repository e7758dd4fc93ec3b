/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decoded_dict.h: what the numbers in rows stand for, as rolling up needs it: groups, the call tree, libraries.
 *
 * Of the generation that is being written it is in memory, and may move with each window: it is asked for each time.
 * Of others it is read from the files, and kept until another one is asked for.
 * Begins zeroed; sp_decoded_dict_done(). 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_DECODED_DICT_H
#define SP_STORE_ROLLUP_DECODED_DICT_H

#include "store/priv.h"

/* What the rows of a generation mean: of the one being written from its dict_builder, of others from the files. */
struct sp_decoded_dict {
	uint64_t generation;
	struct sp_dict_view view;
	struct sp_dict_arrays *dict;
	struct sp_frame_owner *owners;
	uint32_t *group_of, *file_of;
	struct sp_node *nodes;
};
int sp_decoded_dict_of(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_decoded_dict *m);
/* Of a dictionary that is at hand, and stays the caller's. m: zeroed; sp_decoded_dict_done() also where it fails. */
int sp_decoded_dict_make(const struct sp_dict *d, struct sp_decoded_dict *m);
void sp_decoded_dict_done(struct sp_decoded_dict *m);

#endif
