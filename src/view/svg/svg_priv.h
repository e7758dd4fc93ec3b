/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_priv.h: a flame graph while it is drawn: svg.c draws it, svg_legend.c its legend;
 * svg_narrow.c has what is left out.
 *
 * `y` is the next free line. What is written needs memory for some texts: `no_memory` says that there was none, and the
 * picture is then given up at the end. Nothing here is freed by these functions; they write to `out`.
 */
#ifndef SP_VIEW_SVG_SVG_PRIV_H
#define SP_VIEW_SVG_SVG_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/svg/svg_diff.h"
#include "view/svg/svg_palette.h"
#include "view/svg/svg_tree.h"

struct sp_view_options;

enum {
	SP_SVG_WIDTH = 1200,
	SP_SVG_PAD = 10,
	SP_SVG_ROW = 17,
};
#define SP_SVG_INNER ((double)(SP_SVG_WIDTH - 2 * SP_SVG_PAD))
#define SP_SVG_CELL 7.23 /* advance of DejaVu Sans Mono at 12 px, the widest of the usual monospaced fonts */

struct sp_svg_drawing {
	const struct sp_svg_tree *t;
	const struct sp_view_options *o;
	struct sp_svg_diff diff;
	struct sp_svg_palette palette;
	const struct sp_tree_node *nodes, *all;
	FILE *out;
	const char *value_name, *unit;
	double scale, old_scale; /* px per unit of the value, and of the old value */
	double min_width;        /* px of the narrowest frame drawn */
	double min_narrow;       /* px of the narrowest frame that is not drawn, but searched */
	int64_t *starts;         /* by node: where it begins, in units of the value */
	uint32_t deepest, n_drawn, n_gone;
	uint64_t n_dropped;
	uint64_t dropped; /* the value of frames not drawn; intermediate sums may wrap around */
	bool has_kernel, has_guessed, has_note;
	uint32_t tints; /* bits: which of the palette's are in the picture */
	int y;          /* the next free line */
	bool no_memory; /* for some piece of text */
};

/* Writes the text and frees it; NULL: there was no memory for it. */
void sp_svg_draw_owned(struct sp_svg_drawing *d, char *text);
void sp_svg_draw_label(struct sp_svg_drawing *d, const char *text, uint32_t n_cells);
void sp_svg_draw_amount(struct sp_svg_drawing *d, int64_t value);
void sp_svg_draw_percent(struct sp_svg_drawing *d, int64_t value);
/* ", was 5.90%: +1.14 pp", if there is an old value. */
void sp_svg_draw_change(struct sp_svg_drawing *d, int64_t now, int64_t old, bool with_amount, bool is_noise);
bool sp_svg_draw_is_drawn(const struct sp_svg_drawing *d, uint32_t node);
/* --- svg_narrow.c --- */
void sp_svg_narrow_choose(struct sp_svg_drawing *d, double min_width);
/*
 * Writes the names of frames that are not drawn. *ret_script: what the script gets of each, by the number of the drawn
 * frame below it (`drawn`): how much deeper, value, name; and the value of those that it gets nothing of. -ENOMEM.
 */
int sp_svg_narrow_put(struct sp_svg_drawing *d, const uint32_t *drawn, uint32_t n_drawn, char **ret_script);
/* What the colours mean, by what weighs most. -ENOMEM. */
int sp_svg_draw_legend(struct sp_svg_drawing *d);

#endif
