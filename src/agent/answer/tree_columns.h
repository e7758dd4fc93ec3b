/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_columns.h: call trees as columns of JSON numbers, with the tables of names that they share.
 *
 * Nodes narrower than a share of the whole are left out; their values are in one node "[narrow]" after their siblings.
 * Below one node, the requested root, the share is of that node: a zoom gets its deeper levels, and the rest stays the
 * same. A node's id is a hash of its path by names and build ids, so it is the same in every answer. Columns are in
 * preorder. Libraries and entities are those of the html view. The struct owns its memory, and borrows the profile. 0
 * or a negative errno. One thread.
 */
#ifndef SP_AGENT_ANSWER_TREE_COLUMNS_H
#define SP_AGENT_ANSWER_TREE_COLUMNS_H

#include "profile/profile.h"
#include "profile/tree.h"
#include "view/html/html_tables.h"

struct sp_diff;
struct sp_json;

enum { SP_API_COLUMNS = 4 };

/* A value of the nodes: the profile's value, and a factor (the samples of a difference are scaled values). */
struct sp_api_column {
	uint32_t of;
	double scale;
	int old; /* the column of the old value; -1 = none */
};

struct sp_tree_columns {
	const struct sp_profile *p;
	struct sp_html_tables t;
	uint32_t value, second;
	bool has_second;
	struct sp_api_column columns[SP_API_COLUMNS];
	uint32_t n_columns, samples;    /* the column of samples */
	struct sp_tree_label *label_of; /* by entity: the first label that it was made of */
	size_t label_capacity;
};

int sp_tree_columns_new(const struct sp_profile *p, uint32_t value, struct sp_tree_columns *ret_shape);
int sp_tree_columns_new_diff(const struct sp_diff *d, struct sp_tree_columns *ret_shape);
void sp_tree_columns_done(struct sp_tree_columns *s);

/* Writes an object of columns. root: the id of a node, 0 = none. */
int sp_tree_columns_put(struct sp_tree_columns *s, const struct sp_tree *t, uint64_t root, double least,
			struct sp_json *j);
/* Writes "values", "libraries", "names" and "entities", after the trees. */
void sp_tree_columns_end(const struct sp_tree_columns *s, struct sp_json *j);

/* The name to be shown; "[no library]" for 0. */
const char *sp_api_library_name(const struct sp_profile *p, uint32_t file);

#endif
