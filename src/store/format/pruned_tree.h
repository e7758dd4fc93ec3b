/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pruned_tree.h: pruned call trees, kept beside windows of an hour and beside days, so that long ranges are answered
 * fast.
 *
 * Of each group's tree those nodes stay that have at least SP_TREE_SHARE of all that the window has, and the marks at
 * the root. What the others have is counted at their nearest ancestor that stays, as a frame SP_DICT_SHORTENED behind
 * it: so sums of what stays, of groups and of the whole are exact. Pruning: sp_pruned_tree_make(), by numbers alone.
 * Names are then taken from the dictionary that the numbers are of: sp_tree_merge_add(), also of several trees into
 * one, which is how a day's comes about. A record has a chunk's columns (its own dictionary), the rows', and for days
 * up to when it is. Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_PRUNED_TREE_H
#define SP_STORE_FORMAT_PRUNED_TREE_H

#include "store/format/dict.h"
#include "store/format/rows.h"
#include "store/format/subtree_sums.h"
#include "store/format/sums.h"

/* One in so many. */
enum { SP_TREE_SHARE = 5000 };

/* A tree by numbers: node 0 is the root, parents come before children, except for those that are cut. */
struct sp_pruned_tree {
	struct sp_node *nodes; /* parent: in here; frame: of the dictionary, or SP_PRUNED_TREE_CUT */
	uint32_t n_nodes;
	size_t capacity;
	struct sp_window_rows rows; /* by group */
};
#define SP_PRUNED_TREE_CUT UINT32_MAX
/* Of rows that are sorted by who, node. */
int sp_pruned_tree_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
			struct sp_pruned_tree *ret_tree);
/* The same from nodes that have the first value's sums (nodes.h); their room is used. */
int sp_pruned_tree_cut(struct sp_subtree_sums *s, const struct sp_window_rows *rows, struct sp_pruned_tree *ret_tree);
void sp_pruned_tree_done(struct sp_pruned_tree *b);

/* Bushes, with names. */
struct sp_tree_merge {
	struct sp_chunk chunk;
	struct sp_id_map seen[SP_N_DICT_KINDS];
	uint32_t n[SP_N_DICT_KINDS];
	struct sp_node *nodes; /* by number, in the chunk's frames */
	size_t node_capacity;
	struct sp_window_rows rows;
};
int sp_tree_merge_init(struct sp_tree_merge *g);
void sp_tree_merge_done(struct sp_tree_merge *g);
/* names: the dictionary that the pruned's frames and groups are of. */
int sp_tree_merge_add(struct sp_tree_merge *g, const struct sp_dict *names, const struct sp_pruned_tree *b);
/* Of a tree that was read: d: its dictionary. */
int sp_tree_merge_add_record(struct sp_tree_merge *g, const struct sp_dict *d, const struct sp_window_rows *rows);
/* Prunes what was added together, into another one, and is done with the first: it is large. */
int sp_tree_merge_prune(struct sp_tree_merge *g, struct sp_tree_merge *ret_merge);
/* Sums' files, as those of the merge. */
int sp_tree_merge_add_files(struct sp_tree_merge *g, const struct sp_dict *names, struct sp_sums *sums);
/* Its columns, into a record that was begun. */
void sp_tree_merge_pack(struct sp_tree_merge *g, uint64_t up_to_ms, struct sp_packer *p);
/* Back: a dictionary (free it) and rows, which are emptied before. */
int sp_tree_unpack(struct sp_unpacker *u, uint64_t day_s, uint64_t id, struct sp_dict_arrays **ret_dict,
		   struct sp_window_rows *rows, uint64_t *ret_up_to_ms);

#endif
