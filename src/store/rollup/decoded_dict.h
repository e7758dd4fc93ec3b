/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decoded_dict.h: the view of a dictionary (format/rows.h) for roll-ups and sums.
 *
 * For the generation being written it is the dict_builder's, whose arrays may move with each window: get it again each
 * time. For other generations it is read from the files and kept until another generation is asked for.
 * Zero-initialized; sp_decoded_dict_done(), also after an error. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_DECODED_DICT_H
#define SP_STORE_ROLLUP_DECODED_DICT_H

#include "store/priv.h"

struct sp_decoded_dict {
	uint64_t generation;
	struct sp_dict_view view;
	struct sp_dict_arrays *dict;
	struct sp_frame_owner *owners;
	uint32_t *group_of, *file_of;
	struct sp_node *nodes;
};
int sp_decoded_dict_get(struct sp_store *s, struct sp_day_file *f, uint64_t generation,
			struct sp_decoded_dict *decoded);
/* From a dictionary, which stays the caller's. decoded: zeroed. */
int sp_decoded_dict_init(const struct sp_dict *d, struct sp_decoded_dict *decoded);
void sp_decoded_dict_done(struct sp_decoded_dict *decoded);

#endif
