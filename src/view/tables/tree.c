/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree.c: call trees as text: from the root down (callees), from the leaf up (callers), or both around a function or a
 * library (a sandwich). One line a node: its share with and without its callees, and its name, indented by depth.
 *
 * A node's only child that costs as much is not indented further, so that long chains stay narrow.
 */
#include "profile/tree.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "view/priv.h"
#include "view/units.h"
#include "view/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PERCENT_COLUMNS = 7, INDENT = 2 };

struct text {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	const struct sp_tree *t;
	FILE *out;
};

/* --- a line --- */
static void tree_put_label(const struct text *x, uint32_t node)
{
	const struct sp_tree_node *n = &x->t->nodes[node];
	const struct sp_tree_label *label = &x->t->labels[n->label];
	const char *name = sp_tree_name(x->p, x->t, node);

	switch (label->kind) {
	case SP_TREE_ALL:
		fputs("all", x->out);
		return;
	case SP_TREE_CUT:
		fputs("[cut]", x->out);
		return;
	case SP_TREE_NO_STACK:
		fputs("[no user stack]", x->out);
		return;
	case SP_TREE_OTHER:
		fprintf(x->out, "[%" PRIu32 " more]", n->n_cut);
		return;
	default:
		sp_encode(x->out, SP_ENCODE_TERMINAL, *name ? name : "[no name]");
		if (label->kind != SP_TREE_COMM && label->func &&
		    (sp_profile_file(x->p, label->library)->kind == SP_FILE_ANON || /* tells the process */
		     !sp_view_is_place(x->p, name, label->library)))
			sp_view_put_in_library(x->p, label->library, 0, x->out);
	}
}

static void tree_put_line(const struct text *x, uint32_t node, uint32_t depth)
{
	const struct sp_tree_node *n = &x->t->nodes[node];

	fprintf(x->out, "%*.2f  %*.2f  %*s", PERCENT_COLUMNS, sp_percent(n->total, x->t->value), PERCENT_COLUMNS,
		sp_percent(n->leaf, x->t->value), (int)depth * INDENT, "");
	tree_put_label(x, node);
	fputc('\n', x->out);
}

/* Nodes are in the tree before their children, and siblings in the order shown. */
static int put_nodes(const struct text *x)
{
	SP_FREE uint32_t *depths = calloc(x->t->n_nodes, sizeof(*depths));
	uint32_t node = 0;

	if (!depths)
		return -ENOMEM;
	for (;;) {
		const struct sp_tree_node *n = &x->t->nodes[node];

		tree_put_line(x, node, depths[node]);
		if (n->first) {
			const struct sp_tree_node *child = &x->t->nodes[n->first];
			bool chain = node && !child->next && child->total == n->total;

			for (uint32_t c = n->first; c; c = x->t->nodes[c].next)
				depths[c] = depths[node] + !chain;
			node = n->first;
			continue;
		}
		while (node && !x->t->nodes[node].next)
			node = x->t->nodes[node].parent;
		if (!node)
			return 0;
		node = x->t->nodes[node].next;
	}
}

/* --- a tree --- */
static int put_tree(const struct sp_profile *p, const struct sp_view_options *o, enum sp_tree_direction direction,
		    const bool *focus, FILE *out)
{
	struct sp_tree_options options = {.value = o->value,
					  .direction = direction,
					  .granularity = o->granularity,
					  .fold_recursion = o->fold_recursion,
					  .marks = true,
					  .user_only = o->user_only,
					  .kernel_only = o->kernel_only,
					  .focus = focus,
					  .focus_run = o->focus_is_library,
					  .min_share = o->min_share};
	struct sp_tree tree;
	struct text x = {p, o, &tree, out};
	int r = sp_tree_new(p, &options, &tree);

	if (r < 0)
		return r;
	if (direction == SP_TREE_CALLERS || !o->callers) { /* one line for both directions */
		sp_value_put(p, o->value, tree.value, tree.n_samples, out);
		fputc('\n', out);
	}
	fprintf(out, "%s%*s  %*s  %s%s\n", o->colour ? "\033[1m" : "", PERCENT_COLUMNS, "total %", PERCENT_COLUMNS,
		"self %", direction == SP_TREE_CALLERS ? "called by" : "calls", o->colour ? "\033[0m" : "");
	r = put_nodes(&x);
	sp_tree_done(&tree);
	return r;
}

static int tree_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	SP_FREE bool *focus = NULL;
	int r = 0;

	if (o->focus) {
		focus = sp_profile_frames_matching(p, o->focus_is_library ? SP_FILTER_LIBRARY : SP_FILTER_FUNCTION,
						   o->focus);
		if (!focus)
			return sp_fail(-ENOMEM, "look for %s", o->focus);
	}
	if (o->callers)
		r = put_tree(p, o, SP_TREE_CALLERS, focus, out);
	if (r >= 0 && o->callers && o->callees)
		fputc('\n', out);
	if (r >= 0 && (o->callees || !o->callers))
		r = put_tree(p, o, SP_TREE_CALLEES, focus, out);
	return r;
}

const struct sp_view sp_view_tree = {
    .name = "tree",
    .suffix = ".tree",
    .mime = "text/plain; charset=utf-8",
    .summary = "call tree: what calls what, down or up",
    .write = tree_write,
};
