/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_tree.h: the call tree (profile/tree.h) that a flame graph draws, and its libraries.
 *
 * Node 0 is "all"; paths begin with the thread's name (o->callers: with the leaf). A cut stack stands on a frame
 * "[truncated]", a missing one is "[no user stack]", so that its first known frame is not taken for the thread's
 * start. Negative values count as 0, and their rows are counted. With o->has_second the second value is the old one;
 * nodes that have only an old value are there, too. Names belong to the profile, the rest to the tree. Errors: 0 or a
 * negative errno (-EINVAL: no such value; -EOVERFLOW: the sum exceeds 63 bits). No limit but memory.
 */
#ifndef SP_VIEW_SVG_SVG_TREE_H
#define SP_VIEW_SVG_SVG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/tree.h"

struct sp_view_options;

enum sp_svg_kind { SP_SVG_PLAIN, SP_SVG_NOTE, SP_SVG_USER, SP_SVG_GUESSED, SP_SVG_KERNEL };

struct sp_svg_library {
	const char *name;
	char build_id[13]; /* its first digits; "" = unknown */
	bool is_kernel;
	int64_t self, total, old_self, old_total; /* as in tree.h */
};

struct sp_svg_tree {
	const struct sp_profile *p;
	struct sp_tree tree;
	struct sp_svg_library *libraries; /* by the tree's numbers */
	uint32_t n_negative;              /* rows with a value below 0 */
	bool is_diff, callers;
};

/* Nodes below min_drawn, a share of the whole, may be left out: see tree.h. */
int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, double min_drawn,
		    struct sp_svg_tree **ret_tree);
void sp_svg_tree_free(struct sp_svg_tree *t);
uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t);            /* 0 included, which is none */
uint32_t sp_svg_tree_library(const struct sp_svg_tree *t, uint32_t node); /* 0 = none */
enum sp_svg_kind sp_svg_tree_kind(const struct sp_svg_tree *t, uint32_t node);
const char *sp_svg_tree_name(const struct sp_svg_tree *t, uint32_t node);

#endif
