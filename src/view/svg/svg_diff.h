/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_diff.h: the flame graph of a difference: by how much a frame changed, in numbers, words and colours.
 *
 * As in flamegraph.pl's differential graphs (Brendan Gregg, "Differential Flame Graphs", 2014) widths are those of now,
 * and the colour is the difference of the frame's own value, without what it calls: what changed is where the colour
 * is, and not all the way down to the root. Unlike there the difference is of shares (percent points, "pp"), unless it
 * is asked for in absolute values, and the colour changes by steps, of which the middle one is no or little difference.
 * What is noise (profile/diff_significance.h) has the colour of no difference, however large it is.
 * In a graph of callers the own values are those of the threads' roots, so the whole value's difference is taken. Pure
 * functions; strings that are returned are new (free them), NULL = memory is short.
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
	double largest;             /* the difference that has the strongest colour */
	const struct sp_diff *diff; /* NULL: nothing is known of noise */
	struct sp_significance *judge;
};

double sp_svg_diff_of(const struct sp_svg_diff *d, int64_t now, int64_t old);
double sp_svg_diff_of_node(const struct sp_svg_diff *d, uint32_t node);
/* Finds what is noise, if the options have the diff: -ENOMEM. */
int sp_svg_diff_begin(struct sp_svg_diff *d, const struct sp_view_options *o);
void sp_svg_diff_done(struct sp_svg_diff *d);
/* Whether the node's difference is noise: of its whole value, or its own; a library's own. */
bool sp_svg_diff_is_noise(const struct sp_svg_diff *d, uint32_t node, bool whole);
bool sp_svg_diff_is_noise_of_library(const struct sp_svg_diff *d, uint32_t library);
/* What is known to be beyond noise has never the middle step.
 * 0: much less, SP_SVG_STEP_MAX: about the same, SP_SVG_N_STEPS - 1: much more. */
uint32_t sp_svg_diff_step(const struct sp_svg_diff *d, double difference);
uint32_t sp_svg_diff_step_colour(uint32_t step, bool is_dark); /* 0xRRGGBB; the least step can be told from none */
uint32_t sp_svg_diff_step_of_node(const struct sp_svg_diff *d, uint32_t node);
/* "+1.14 pp", "−20 samples" */
char *sp_svg_diff_text(const struct sp_svg_diff *d, double difference);

/* What is counted: the value's name, owned by the profile. */
const char *sp_svg_value_name(const struct sp_profile *p, const struct sp_view_options *o,
			      const struct sp_value_type *type);

#endif
