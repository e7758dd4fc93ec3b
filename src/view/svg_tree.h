/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_tree.h: what the flame graph draws: a call tree (profile/tree.h) and the libraries whose frames stand in it.
 *
 * Node 0 is "all"; paths begin with the thread's name (o->callers: with the leaf). A stack that was cut short stands on
 * a frame "[truncated]", a missing one is "[no user stack]", so that nobody takes the first known frame for the
 * thread's start. Values below 0 have no width and count as 0; rows with one are counted. With o->has_second the second
 * value is what was before, and nodes without any value now may have one then. Unlike in identity.h, a module of the
 * kernel is a library of its own here. Names belong to the profile, the rest to the tree. Errors: 0 or negative errno
 * (-EINVAL: no such value; -EOVERFLOW: the sum exceeds 63 bits). No limit but memory.
 */
#ifndef SP_VIEW_SVG_TREE_H
#define SP_VIEW_SVG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/tree.h"

struct sp_view_options;
struct sp_intern;

enum sp_svg_kind { SP_SVG_PLAIN, SP_SVG_NOTE, SP_SVG_USER, SP_SVG_GUESSED, SP_SVG_KERNEL };

struct sp_svg_library {
	const char *name;
	char build_id[13]; /* its first digits; "" = unknown */
	bool is_kernel;
	int64_t self, total; /* a sample counts once in total, however often the library is on its stack */
	int64_t old_self, old_total;
};

struct sp_svg_tree {
	const struct sp_profile *p;
	struct sp_tree tree;
	struct sp_intern *library_keys; /* the keys' numbers are the libraries' indices */
	struct sp_svg_library *libraries;
	size_t libraries_capacity;
	uint32_t *library_of; /* by label */
	uint32_t n_negative;  /* rows with a value below 0 */
	bool is_diff, callers;
};

int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_svg_tree **ret_tree);
void sp_svg_tree_free(struct sp_svg_tree *t);
uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t);            /* 0 included, which is none */
uint32_t sp_svg_tree_library(const struct sp_svg_tree *t, uint32_t node); /* 0 = none */
enum sp_svg_kind sp_svg_tree_kind(const struct sp_svg_tree *t, uint32_t node);
const char *sp_svg_tree_name(const struct sp_svg_tree *t, uint32_t node);

#endif
