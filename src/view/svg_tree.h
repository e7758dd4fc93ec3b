/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_tree.h: one call tree of a whole profile, for the flame graph.
 *
 * Node 0 is "all"; its children are the threads' names; above them stand the user frames from the root to the leaf,
 * then the kernel's. Frames merge by name, library and kind: two copies of a file with the same build id are one
 * library, an upgraded one is another. A stack that was cut short stands on a frame "[truncated]", a missing one is
 * "[no user stack]", so that nobody takes the first known frame for the thread's start. Rows whose value is not above 0
 * have no width: they are left out, and the negative ones counted. The tree owns all its memory; strings of the profile
 * are copied. Errors: 0 or negative errno (-EINVAL: no such value; -EOVERFLOW: the sum exceeds 63 bits). No limit but
 * memory.
 */
#ifndef SP_VIEW_SVG_TREE_H
#define SP_VIEW_SVG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;
struct sp_view_options;
struct sp_intern;

enum sp_svg_kind { SP_SVG_PLAIN, SP_SVG_NOTE, SP_SVG_USER, SP_SVG_GUESSED, SP_SVG_KERNEL };

struct sp_svg_library {
	const char *name;
	char build_id[13]; /* its first digits; "" = unknown */
	bool is_kernel;
	int64_t self, total; /* a row counts once in total, however often the library is on its stack */
	uint32_t row;        /* the last row counted in total, plus 1 */
};

/* What frames merge by. */
struct sp_svg_entity {
	uint32_t name;    /* in the tree's names */
	uint32_t library; /* 0 = none */
	uint32_t kind;    /* enum sp_svg_kind */
};

struct sp_svg_node {
	uint32_t parent, entity;
	uint32_t first, next; /* child and sibling, sorted by name; 0 = none */
	uint32_t depth;
	int64_t value;
};

struct sp_svg_tree {
	struct sp_intern *names, *library_keys, *entity_keys,
	    *node_keys; /* the keys' numbers are the arrays' indices */
	struct sp_svg_library *libraries;
	struct sp_svg_node *nodes;
	size_t libraries_capacity, nodes_capacity;
	uint32_t n_negative; /* rows left out for a value below 0 */
};

int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_svg_tree **ret_tree);
void sp_svg_tree_free(struct sp_svg_tree *t);
uint32_t sp_svg_tree_n_nodes(const struct sp_svg_tree *t);
uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t); /* 0 included, which is none */
const struct sp_svg_entity *sp_svg_tree_entity(const struct sp_svg_tree *t, uint32_t node);
const char *sp_svg_tree_name(const struct sp_svg_tree *t, uint32_t node);

#endif
