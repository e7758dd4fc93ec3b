/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_diff.h: differential flame graphs: by how much a frame changed, in numbers, words and colours.
 *
 * As in Brendan Gregg's "Differential Flame Graphs" (2014) widths are the new values, and colours show the difference
 * of the frame's self value, so that they mark what changed and not its callers. Unlike there, differences are of
 * shares (percentage points, "pp") unless absolute values are asked for, and colours are steps, the middle one for
 * little or no difference. What is noise (profile/diff_significance.h) has the middle colour, however large it is. In
 * a graph of callers self is that of thread roots, so the total's difference is used.
 * Pure functions; returned strings are new (free them); NULL: out of memory.
 */
#ifndef SP_VIEW_SVG_SVG_DIFF_H
#define SP_VIEW_SVG_SVG_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "view/svg/svg_tree.h"

enum { SP_SVG_STEP_MAX = 8, SP_SVG_N_STEPS = 2 * SP_SVG_STEP_MAX + 1 };

struct sp_diff;
struct sp_significance;

struct sp_svg_diff {
	const struct sp_svg_tree *t;
	bool absolute;
	const char *value_name, *unit;
	double largest;             /* difference with the strongest colour */
	const struct sp_diff *diff; /* NULL: noise is not known */
	struct sp_significance *significance;
};

double sp_svg_diff_of(const struct sp_svg_diff *d, int64_t now, int64_t old);
double sp_svg_diff_of_node(const struct sp_svg_diff *d, uint32_t node);
/* Prepares what is noise, if the options have the diff. -ENOMEM. */
int sp_svg_diff_begin(struct sp_svg_diff *d, const struct sp_view_options *o);
void sp_svg_diff_done(struct sp_svg_diff *d);
/* Whether a difference is noise: of a node's total (whole) or self; of a library's self. */
bool sp_svg_diff_is_noise(const struct sp_svg_diff *d, uint32_t node, bool whole);
bool sp_svg_diff_is_noise_of_library(const struct sp_svg_diff *d, uint32_t library);
/*
 * 0: much less, SP_SVG_STEP_MAX: about the same, SP_SVG_N_STEPS - 1: much more. A significant change never gets the
 * middle step.
 */
uint32_t sp_svg_diff_step(const struct sp_svg_diff *d, double difference);
uint32_t sp_svg_diff_step_colour(uint32_t step, bool is_dark); /* 0xRRGGBB; the smallest step is visible */
uint32_t sp_svg_diff_step_of_node(const struct sp_svg_diff *d, uint32_t node);
/* "+1.14 pp", "−20 samples" */
char *sp_svg_diff_text(const struct sp_svg_diff *d, double difference);

/* The value's name in words, a new string; NULL: out of memory. */
char *sp_svg_value_name(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_value_type *type);

#endif
