/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.h: pruned call trees, kept beside windows of an hour and beside days, so that long ranges are answered fast.
 *
 * Of each group's tree those nodes stay that have at least SP_TREE_SHARE of all that the window has, and the marks at
 * the root. What the others have is counted at their nearest ancestor that stays, as a frame SP_DICT_SHORTENED behind
 * it: so sums of what stays, of groups and of the whole are exact. Pruning: sp_bush_make(), by numbers alone. Names are
 * then taken from the dictionary that the numbers are of: sp_graft_add(), also of several trees into one, which is how
 * a day's comes about. A record has a chunk's columns (its own dictionary), the rows', and for days up to when it is.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_TREE_H
#define SP_STORE_TREE_H

#include "store/dict.h"
#include "store/number.h"
#include "store/sums.h"
#include "store/twigs.h"

/* One in so many. */
enum { SP_TREE_SHARE = 5000 };

/* A tree by numbers: node 0 is the root, parents come before children, except for those that are cut. */
struct sp_bush {
	struct sp_node *nodes; /* parent: in here; frame: of the dictionary, or SP_BUSH_CUT */
	uint32_t n_nodes;
	size_t capacity;
	struct sp_window_rows rows; /* by group */
};
#define SP_BUSH_CUT UINT32_MAX
/* Of rows that are sorted by who, node. */
int sp_bush_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
		 struct sp_bush *ret_bush);
/* The same from twigs that have the first value's sums (twigs.h); their room is used. */
int sp_bush_cut(struct sp_twigs *s, const struct sp_window_rows *rows, struct sp_bush *ret_bush);
void sp_bush_done(struct sp_bush *b);

/* Bushes, with names. */
struct sp_graft {
	struct sp_chunk chunk;
	struct sp_seen seen[SP_N_THINGS];
	uint32_t n[SP_N_THINGS];
	struct sp_node *nodes; /* by number, in the chunk's frames */
	size_t node_capacity;
	struct sp_window_rows rows;
};
int sp_graft_init(struct sp_graft *g);
void sp_graft_done(struct sp_graft *g);
/* names: the dictionary that the bush's frames and groups are of. */
int sp_graft_add(struct sp_graft *g, const struct sp_dict *names, const struct sp_bush *b);
/* Of a tree that was read: d: its dictionary. */
int sp_graft_add_tree(struct sp_graft *g, const struct sp_dict *d, const struct sp_window_rows *rows);
/* Prunes what was added together, into another one, and is done with the first: it is large. */
int sp_graft_prune(struct sp_graft *g, struct sp_graft *ret_graft);
/* Sums' files, as those of the graft. */
int sp_graft_add_files(struct sp_graft *g, const struct sp_dict *names, struct sp_sums *sums);
/* Its columns, into a record that was begun. */
void sp_graft_pack(struct sp_graft *g, uint64_t up_to_ms, struct sp_packer *p);
/* Back: a dictionary (free it) and rows, which are emptied before. */
int sp_tree_unpack(struct sp_unpacker *u, uint64_t day_s, uint64_t id, struct sp_dict_room **ret_dict,
		   struct sp_window_rows *rows, uint64_t *ret_up_to_ms);

#endif
