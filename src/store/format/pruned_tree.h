/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pruned_tree.h: call trees without rare branches, stored beside hours and days to answer questions about long ranges
 * fast.
 *
 * A node stays if it has at least 1/SP_TREE_SHARE of the window's sum of the first value, in each group's tree; marks
 * below the root always stay. What the removed nodes have is added to a frame SP_DICT_SHORTENED below the nearest
 * ancestor that stays. So the sums of nodes that stay, of groups and of the whole are exact.
 * sp_pruned_tree_make() works on numbers alone. sp_tree_merge_add() then takes the names from the dictionary of those
 * numbers. It may be called for several trees, which become one: that of a day. A record has a chunk's columns (its
 * own dictionary), the columns of rows, and the last hour in the tree.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_PRUNED_TREE_H
#define SP_STORE_FORMAT_PRUNED_TREE_H

#include "store/format/dict.h"
#include "store/format/rows.h"
#include "store/format/subtree_sums.h"
#include "store/format/sums.h"

enum { SP_TREE_SHARE = 5000 };

/* A tree by numbers. Node 0 is the root; parents come before children, except that [shortened] nodes are last. */
struct sp_pruned_tree {
	struct sp_node *nodes; /* parent: an index here; frame: of the dictionary, or SP_PRUNED_TREE_SHORTENED */
	uint32_t n_nodes;
	size_t capacity;
	struct sp_window_rows rows;
};
#define SP_PRUNED_TREE_SHORTENED UINT32_MAX
/* rows: sorted by who and node. */
int sp_pruned_tree_make(const struct sp_node *nodes, uint32_t n_nodes, const struct sp_window_rows *rows,
			struct sp_pruned_tree *ret_tree);
/* The same, if s has the sums of the first value. Overwrites `kept` of its nodes. */
int sp_pruned_tree_make_from_sums(struct sp_subtree_sums *sums, const struct sp_window_rows *rows,
				  struct sp_pruned_tree *ret_tree);
void sp_pruned_tree_done(struct sp_pruned_tree *tree);

/* Pruned trees made one, with a dictionary of its own. */
struct sp_tree_merge {
	struct sp_chunk chunk;
	struct sp_id_map ids[SP_N_DICT_KINDS];
	uint32_t next[SP_N_DICT_KINDS];
	struct sp_node *nodes; /* by number; frames are the chunk's */
	size_t node_capacity;
	struct sp_window_rows rows;
};
int sp_tree_merge_init(struct sp_tree_merge *merge);
void sp_tree_merge_done(struct sp_tree_merge *merge);
/* names: the dictionary of the tree's frames and groups. */
int sp_tree_merge_add(struct sp_tree_merge *merge, const struct sp_dict *names, const struct sp_pruned_tree *tree);
/* Adds a tree that was read; d: its dictionary. */
int sp_tree_merge_add_record(struct sp_tree_merge *merge, const struct sp_dict *d, const struct sp_window_rows *rows);
/* Prunes what was added, into ret_merge, and frees `merge`, which is large. */
int sp_tree_merge_prune(struct sp_tree_merge *merge, struct sp_tree_merge *ret_merge);
/* Replaces the files of the sums by their numbers in the merge. */
int sp_tree_merge_add_files(struct sp_tree_merge *merge, const struct sp_dict *names, struct sp_sums *sums);
/* Appends the columns to a record that was begun. */
void sp_tree_merge_pack(struct sp_tree_merge *merge, uint64_t up_to_ms, struct sp_packer *p);
/* Reads a record. *ret_dict is the caller's (sp_dict_free()); rows are replaced. */
int sp_tree_unpack(struct sp_unpacker *u, uint64_t day_s, uint64_t id, struct sp_dict_arrays **ret_dict,
		   struct sp_window_rows *rows, uint64_t *ret_up_to_ms);

#endif
