/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_pick.h: takes of a dictionary's chunks only the items that its nodes and some keys need.
 *
 * For a dictionary of `nodes_first` (dict.h), after sp_dict_narrow(). Chunks are given from the last to the first: an
 * item refers only to items of its own chunk and of those before it, so when it comes it is known whether anything
 * needs it. What is taken is numbered anew; 0 stays none. If chunks have no gap between them, the items are those that
 * a dictionary of all chunks has, with the same content. Chunks of which only the keys were unpacked come before those
 * that have the rest of their items.
 * Owns its memory; the dictionary is the caller's, and has the items after sp_dict_pick_end() only. 0, -ENOMEM, or
 * -EBADMSG: the chunks are not those that the nodes are of. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_DICT_PICK_H
#define SP_STORE_FORMAT_DICT_PICK_H

#include "store/format/dict.h"

struct sp_dict_pick {
	struct sp_dict_arrays *d;
	struct sp_subtree needed[SP_N_DICT_KINDS]; /* bits by number in the chunks; none of nodes */
	uint32_t next[SP_N_DICT_KINDS];            /* items from here on have come */
};
/* All that the nodes need is needed. */
int sp_dict_pick_begin(struct sp_dict_pick *p, struct sp_dict_arrays *d);
/* And this key. */
void sp_dict_pick_key(struct sp_dict_pick *p, uint32_t key);
/* Whether keys are needed that have not come. */
bool sp_dict_pick_lacks_keys(const struct sp_dict_pick *p);
int sp_dict_pick_take(struct sp_dict_pick *p, const struct sp_chunk *c);
int sp_dict_pick_end(struct sp_dict_pick *p);
/* What has become of the number of a needed item; of one that there is not, 0. */
uint32_t sp_dict_pick_number(const struct sp_dict_pick *p, enum sp_dict_kind kind, uint32_t number);
void sp_dict_pick_done(struct sp_dict_pick *p);

#endif
