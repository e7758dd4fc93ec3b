/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg_legend.c: the flame graph's legend. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/svg/svg_priv.h"
#include "view/svg/svg_text.h"

enum {
	LEGEND_ROW = 18,
	SWATCH = 11,
	LEGEND_MAX = 14, /* libraries named in the legend; the rest is one entry */
};

struct legend {
	double x;
	int y;
};

/* Begins an entry with a text of n_cells; on a new line if there is no room. */
static void begin_entry(struct sp_svg_drawing *d, struct legend *at, const char *class, uint32_t n_cells)
{
	double width = 16 + n_cells * SP_SVG_CELL + 16;
	if (at->x > SP_SVG_PAD && at->x + width > SP_SVG_WIDTH - SP_SVG_PAD) {
		at->x = SP_SVG_PAD;
		at->y += LEGEND_ROW;
	}
	fprintf(d->out, "<g class=\"%s\" transform=\"translate(", class);
	sp_svg_put_px(d->out, at->x);
	fprintf(d->out, " %d)\">", at->y);
	at->x += width;
}

static void put_swatch(const struct sp_svg_drawing *d, char class, uint32_t number, int x, int width)
{
	fprintf(d->out, "<rect class=\"%c%u\"", class, number);
	if (x)
		fprintf(d->out, " x=\"%d\"", x);
	fprintf(d->out, " width=\"%d\" height=\"%d\"/>", width, SWATCH);
}

/* Of a library whose functions have tints no frame has the library's own colour: some of theirs. */
static bool put_stripes(const struct sp_svg_drawing *d, const char *library)
{
	enum { N_STRIPES = 3 };
	uint32_t found[N_STRIPES], n = 0;
	if (!d->palette.n_packages || strcmp(library, d->palette.tinted) != 0)
		return false;
	for (uint32_t i = 0; i < SP_SVG_TINTS && n < N_STRIPES; i++)
		if (d->tints >> i & 1)
			found[n++] = i;
	for (uint32_t i = 0; i < n; i++) {
		int x = (int)(i * SWATCH / n), end = (int)((i + 1) * SWATCH / n);
		put_swatch(d, 'p', found[i], x, end - x);
	}
	return n > 0;
}

static void put_library_entry(struct sp_svg_drawing *d, struct legend *at, uint32_t library)
{
	enum { NAME_CELLS = 40 };
	const struct sp_svg_library *l = &d->t->libraries[library];
	uint32_t cells = SP_MIN(sp_svg_text_cells(l->name), NAME_CELLS);
	double change = sp_svg_diff_of(&d->diff, l->self, l->old_self);
	bool is_noise = sp_svg_diff_is_noise_of_library(&d->diff, library);
	begin_entry(d, at, "e", cells + (d->t->is_diff ? 10 : 7));
	fputs("<title>", d->out);
	sp_svg_put_text(d->out, l->name);
	fputs("\nself ", d->out);
	sp_svg_draw_percent(d, l->self);
	sp_svg_draw_change(d, l->self, l->old_self, false, is_noise);
	fputs(d->t->is_diff ? "; total " : ", total ", d->out);
	sp_svg_draw_percent(d, l->total);
	sp_svg_draw_change(d, l->total, l->old_total, false, false);
	fprintf(d->out, "%s%s</title>", l->build_id[0] ? "\nbuild id " : "", l->build_id);
	if (d->t->is_diff)
		put_swatch(d, 'd', sp_svg_diff_step(&d->diff, is_noise ? 0 : change), 0, SWATCH);
	else if (!put_stripes(d, l->name))
		put_swatch(d, 'l', library, 0, SWATCH);
	fputs("<text x=\"16\" y=\"10\">", d->out);
	sp_svg_draw_label(d, l->name, NAME_CELLS);
	fputc(' ', d->out);
	if (d->t->is_diff)
		sp_svg_draw_owned(d, sp_svg_diff_text(&d->diff, change));
	else
		sp_svg_draw_percent(d, l->self);
	fputs("</text></g>\n", d->out);
}

static void put_kind_entry(struct sp_svg_drawing *d, struct legend *at, const char *class, const char *text)
{
	begin_entry(d, at, "y", (uint32_t)strlen(text));
	fprintf(d->out, "<rect class=\"%s\" width=\"11\" height=\"11\"/><text x=\"16\" y=\"10\">%s</text></g>\n", class,
		text);
}

/* By the size of the change; without changes by self. */
static int by_self(const void *a, const void *b, void *arg)
{
	const struct sp_svg_drawing *d = arg;
	const struct sp_svg_library *all = d->t->libraries;
	const struct sp_svg_library *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
	double dx = d->t->is_diff ? fabs(sp_svg_diff_of(&d->diff, x->self, x->old_self)) : 0;
	double dy = d->t->is_diff ? fabs(sp_svg_diff_of(&d->diff, y->self, y->old_self)) : 0;
	if (dx < dy || dx > dy)
		return dx > dy ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return strcmp(x->name, y->name) ?: strcmp(x->build_id, y->build_id);
}

static void put_rest_entry(struct sp_svg_drawing *d, struct legend *at, const uint32_t *order, uint32_t n)
{
	char text[64];
	int64_t self = 0;
	for (uint32_t i = 0; i < n; i++)
		self += d->t->libraries[order[i]].self;
	SP_FREE char *percent = sp_svg_fixed(100.0 * (double)self / (double)d->all->total, 2);
	snprintf(text, sizeof(text), "%u more librar%s %s%%", n, n == 1 ? "y" : "ies", percent ? percent : "");
	put_kind_entry(d, at, "t", text);
}

/* Where functions have tints: the packages or functions that weigh most, of those in the picture. */
static void put_tints(struct sp_svg_drawing *d, struct legend *at)
{
	enum { NAME_CELLS = 30, LEAST = 200 }; /* one in so many of all */
	for (uint32_t i = 0; i < d->palette.n_packages; i++) {
		const struct sp_svg_hue *it = &d->palette.packages[i];
		if (it->self < d->all->total / LEAST)
			return;
		if (!(d->tints >> i & 1))
			continue;
		SP_FREE char *name = strndup(it->name, it->len);
		if (!name) {
			d->no_memory = true;
			return;
		}
		begin_entry(d, at, "y", SP_MIN(sp_svg_text_cells(name), NAME_CELLS) + 7);
		fprintf(d->out, "<rect class=\"p%u\" width=\"11\" height=\"11\"/><text x=\"16\" y=\"10\">", i);
		sp_svg_draw_label(d, name, NAME_CELLS);
		fputc(' ', d->out);
		sp_svg_draw_percent(d, it->self);
		fputs("</text></g>\n", d->out);
	}
}

/* Five of the colour steps with their meanings, on a line of their own ("z": its end). */
static void put_scale(struct sp_svg_drawing *d, struct legend *at)
{
	static const char *const words[] = {"less: ", "", "", "", "more: "};
	int n = d->diff.largest > 0 ? 2 : 0;
	for (int i = -n; i <= n; i++) {
		SP_FREE char *change = sp_svg_diff_text(&d->diff, d->diff.largest * i / 2);
		SP_FREE char *text = NULL;
		if (!change || asprintf(&text, "%s%s", words[i + 2], i ? change : "the same, or within noise") < 0) {
			d->no_memory = true;
			return;
		}
		begin_entry(d, at, i < n ? "y" : "y z", sp_svg_text_cells(text));
		fprintf(d->out,
			"<rect class=\"d%d\" width=\"11\" height=\"11\"/><text x=\"16\" y=\"10\">%s</text></g>\n",
			SP_SVG_STEP_MAX + i * (SP_SVG_STEP_MAX / 2), text);
	}
	at->x = SP_SVG_PAD;
	at->y += LEGEND_ROW;
}

int sp_svg_draw_legend(struct sp_svg_drawing *d)
{
	struct legend at = {.x = SP_SVG_PAD, .y = d->y};
	uint32_t n = 0;
	bool has_kernel = false;
	SP_FREE uint32_t *order = calloc(sp_svg_tree_n_libraries(d->t), sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < sp_svg_tree_n_libraries(d->t); i++)
		if (d->t->libraries[i].self > 0 || d->t->libraries[i].old_self > 0)
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_self, d);
	fputs("<g id=\"legend\">\n", d->out);
	if (d->t->is_diff)
		put_scale(d, &at);
	for (uint32_t i = 0; i < SP_MIN(n, LEGEND_MAX); i++) {
		put_library_entry(d, &at, order[i]);
		has_kernel |= d->t->libraries[order[i]].is_kernel;
	}
	if (n > LEGEND_MAX)
		put_rest_entry(d, &at, order + LEGEND_MAX, n - LEGEND_MAX);
	put_tints(d, &at);
	if (d->has_kernel && (d->t->is_diff || !has_kernel)) /* in a difference they are outlined */
		put_kind_entry(d, &at, "kernel", "kernel frame");
	if (d->has_guessed)
		put_kind_entry(d, &at, "guessed", "guessed frame");
	if (d->has_note)
		put_kind_entry(d, &at, "n", "stack not whole");
	fputs("</g>\n", d->out);
	d->y = at.y + LEGEND_ROW + 6;
	return 0;
}
