/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: the interactive flame graph, one file that needs nothing else.
 *
 * The picture is complete, 1,200 px wide, for readers without scripts; svg.js lays it out again for the window. Names
 * are character data only, never part of the script, a class or an address (svg_text.h). The script gets numbers only:
 * D, depth and value of each frame in the order drawn (parents first), and B, the first hex digits of each library's
 * build id. A frame's <title> has its name, its library (if any) and its value on lines of their own. Frames narrower
 * than 0.1 px, as in flamegraph.pl, are left out and counted in the footer.
 *
 * With a second value it is a differential flame graph (svg_diff.h). Frames that are (nearly) gone have no width, but
 * the script gets them, hidden, and in O each frame's old value, so that the sums of a search are right.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/svg/svg_colour.h"
#include "view/svg/svg_diff.h"
#include "view/svg/svg_text.h"
#include "view/svg/svg_tree.h"
#include "view/view.h"

enum {
	WIDTH = 1200,
	PAD = 10,
	ROW = 17,
	LEGEND_ROW = 18,
	LEGEND_MAX = 14, /* libraries named in the legend; the rest is one entry */
};
#define INNER ((double)(WIDTH - 2 * PAD))
#define MIN_WIDTH 0.1
#define CELL 7.23 /* advance of DejaVu Sans Mono at 12 px, the widest of the usual monospaced fonts */

static const char style[] =
#include "svg.css.inc"
    ;
static const char script[] =
#include "svg.js.inc"
    ;

struct drawing {
	const struct sp_svg_tree *t;
	const struct sp_view_options *o;
	struct sp_svg_diff diff;
	const struct sp_tree_node *nodes, *all;
	FILE *out;
	const char *value_name, *unit;
	double scale, old_scale; /* px per unit of the value, and of the old value */
	int64_t *starts;         /* by node: where it begins, in units of the value */
	uint32_t deepest, n_drawn, n_gone;
	uint64_t n_dropped;
	uint64_t dropped; /* the value of frames not drawn; intermediate sums may wrap around */
	bool has_kernel, has_guessed, has_note;
	int y;          /* the next free line */
	bool no_memory; /* for some piece of text */
};

static bool is_drawn(const struct drawing *d, uint32_t node)
{
	return !node || (double)d->nodes[node].total * d->scale >= MIN_WIDTH;
}

/* Not drawn, but the script gets it. */
static bool is_gone(const struct drawing *d, uint32_t node)
{
	return !is_drawn(d, node) && (double)d->nodes[node].second_total * d->old_scale >= MIN_WIDTH;
}

static uint32_t written_of(const struct drawing *d, uint32_t sibling)
{
	while (sibling && !is_drawn(d, sibling) && !is_gone(d, sibling))
		sibling = d->nodes[sibling].next;
	return sibling;
}

/*
 * The next node to write, parents first; 0: the end. Nodes not drawn leave their room at the right, so each node's
 * start follows from the values before it.
 */
static uint32_t next_written(struct drawing *d, uint32_t node)
{
	uint32_t next = written_of(d, d->nodes[node].first);
	if (next) {
		d->starts[next] = d->starts[node];
		return next;
	}
	while (node && !(next = written_of(d, d->nodes[node].next)))
		node = d->nodes[node].parent;
	if (next)
		d->starts[next] = d->starts[node] + d->nodes[node].total;
	return next;
}

static void survey(struct drawing *d)
{
	d->n_dropped = d->t->tree.n_left_out;
	for (uint32_t i = 0; i < d->t->tree.n_nodes; i++) {
		const struct sp_tree_node *node = &d->nodes[i];
		enum sp_svg_kind kind = sp_svg_tree_kind(d->t, i);
		if (!is_drawn(d, i)) {
			d->n_gone += is_gone(d, i);
			d->n_dropped += node->total > 0 && !is_gone(d, i);
			continue;
		}
		d->dropped += (uint64_t)node->total - (uint64_t)node->self; /* less its drawn children */
		d->dropped -= i ? (uint64_t)node->total : 0;
		if (d->t->is_diff && !sp_svg_diff_is_noise(&d->diff, i, d->t->callers))
			d->diff.largest = fmax(d->diff.largest, fabs(sp_svg_diff_of_node(&d->diff, i)));
		d->n_drawn++;
		d->deepest = SP_MAX(d->deepest, node->depth);
		d->has_kernel |= kind == SP_SVG_KERNEL;
		d->has_guessed |= kind == SP_SVG_GUESSED;
		d->has_note |= kind == SP_SVG_NOTE;
	}
}

static void put_owned(struct drawing *d, char *text)
{
	SP_FREE char *owned = text;
	if (owned)
		sp_svg_put_text(d->out, owned);
	else
		d->no_memory = true;
}

static void svg_put_label(struct drawing *d, const char *text, uint32_t n_cells)
{
	d->no_memory |= sp_svg_put_label(d->out, text, n_cells) < 0;
}

static void svg_put_amount(struct drawing *d, int64_t value)
{
	put_owned(d, sp_svg_amount(value, d->value_name, d->unit));
}

static void put_percent(struct drawing *d, int64_t value)
{
	put_owned(d, sp_svg_fixed(100.0 * (double)value / (double)d->all->total, 2));
	fputc('%', d->out);
}

/* ", was 5.90%: +1.14 pp", if there is an old value. */
static void svg_put_change(struct drawing *d, int64_t now, int64_t old, bool with_amount, bool is_noise)
{
	if (!d->t->is_diff)
		return;
	fputs(", was ", d->out);
	if (with_amount) {
		svg_put_amount(d, old);
		fputs(", ", d->out);
	}
	put_owned(d, sp_svg_fixed(100.0 * (double)old / (double)SP_MAX(d->all->second_total, 1), 2));
	fputs("%: ", d->out);
	put_owned(d, sp_svg_diff_text(&d->diff, sp_svg_diff_of(&d->diff, now, old)));
	fputs(is_noise ? ", within noise" : "", d->out);
}

/* --- style --- */

static void put_colours(struct drawing *d, bool is_dark)
{
	for (uint32_t i = 0; i < SP_SVG_N_STEPS && d->t->is_diff; i++)
		fprintf(d->out, ".d%u{fill:#%06x}", i, sp_svg_diff_step_colour(i, is_dark));
	for (uint32_t i = 1; i < sp_svg_tree_n_libraries(d->t) && !d->t->is_diff; i++) {
		const struct sp_svg_library *l = &d->t->libraries[i];
		fprintf(d->out, ".l%u{fill:#%06x}", i, sp_svg_colour(l->name, l->is_kernel, is_dark));
	}
}

static void put_style(struct drawing *d)
{
	fprintf(d->out, "<style><![CDATA[\n%s", style);
	put_colours(d, false);
	fputs("\n@media (prefers-color-scheme:dark){", d->out);
	put_colours(d, true);
	fputs("}\n]]></style>\n", d->out);
}

/* --- legend --- */

struct legend {
	double x;
	int y;
};

/* Begins an entry with a text of n_cells; on a new line if there is no room. */
static void begin_entry(struct drawing *d, struct legend *at, const char *class, uint32_t n_cells)
{
	double width = 16 + n_cells * CELL + 16;
	if (at->x > PAD && at->x + width > WIDTH - PAD) {
		at->x = PAD;
		at->y += LEGEND_ROW;
	}
	fprintf(d->out, "<g class=\"%s\" transform=\"translate(", class);
	sp_svg_put_px(d->out, at->x);
	fprintf(d->out, " %d)\">", at->y);
	at->x += width;
}

static void put_library_entry(struct drawing *d, struct legend *at, uint32_t library)
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
	put_percent(d, l->self);
	svg_put_change(d, l->self, l->old_self, false, is_noise);
	fputs(d->t->is_diff ? "; total " : ", total ", d->out);
	put_percent(d, l->total);
	svg_put_change(d, l->total, l->old_total, false, false);
	fprintf(d->out, "%s%s</title><rect class=\"%c%u\" width=\"11\" height=\"11\"/><text x=\"16\" y=\"10\">",
		l->build_id[0] ? "\nbuild id " : "", l->build_id, d->t->is_diff ? 'd' : 'l',
		d->t->is_diff ? sp_svg_diff_step(&d->diff, is_noise ? 0 : change) : library);
	svg_put_label(d, l->name, NAME_CELLS);
	fputc(' ', d->out);
	if (d->t->is_diff)
		put_owned(d, sp_svg_diff_text(&d->diff, change));
	else
		put_percent(d, l->self);
	fputs("</text></g>\n", d->out);
}

static void put_kind_entry(struct drawing *d, struct legend *at, const char *class, const char *text)
{
	begin_entry(d, at, "y", (uint32_t)strlen(text));
	fprintf(d->out, "<rect class=\"%s\" width=\"11\" height=\"11\"/><text x=\"16\" y=\"10\">%s</text></g>\n", class,
		text);
}

/* By the size of the change; without changes by self. */
static int by_self(const void *a, const void *b, void *arg)
{
	const struct drawing *d = arg;
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

static void put_rest_entry(struct drawing *d, struct legend *at, const uint32_t *order, uint32_t n)
{
	char text[64];
	int64_t self = 0;
	for (uint32_t i = 0; i < n; i++)
		self += d->t->libraries[order[i]].self;
	SP_FREE char *percent = sp_svg_fixed(100.0 * (double)self / (double)d->all->total, 2);
	snprintf(text, sizeof(text), "%u more librar%s %s%%", n, n == 1 ? "y" : "ies", percent ? percent : "");
	put_kind_entry(d, at, "t", text);
}

/* Five of the colour steps with their meanings, on a line of their own ("z": its end). */
static void put_scale(struct drawing *d, struct legend *at)
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
	at->x = PAD;
	at->y += LEGEND_ROW;
}

static int put_legend(struct drawing *d)
{
	struct legend at = {.x = PAD, .y = d->y};
	uint32_t n = 0;
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
	for (uint32_t i = 0; i < SP_MIN(n, LEGEND_MAX); i++)
		put_library_entry(d, &at, order[i]);
	if (n > LEGEND_MAX)
		put_rest_entry(d, &at, order + LEGEND_MAX, n - LEGEND_MAX);
	if (d->has_kernel)
		put_kind_entry(d, &at, "kernel", "kernel");
	if (d->has_guessed)
		put_kind_entry(d, &at, "guessed", "guessed frame");
	if (d->has_note)
		put_kind_entry(d, &at, "n", "stack not whole");
	fputs("</g>\n", d->out);
	d->y = at.y + LEGEND_ROW + 6;
	return 0;
}

/* --- frames --- */

/* A library's colour has two tones, chosen by the function's name, so that neighbours differ. */
static const char *tone_of(const char *name)
{
	uint32_t h = 0;
	while (*name)
		h = h * 31 + (uint8_t)*name++;
	return h % 3 == 0 ? "" : h % 3 == 1 ? " b" : " c";
}

static void put_class(struct drawing *d, uint32_t node)
{
	enum sp_svg_kind kind = sp_svg_tree_kind(d->t, node);
	uint32_t library = sp_svg_tree_library(d->t, node);
	if (d->t->is_diff)
		fprintf(d->out, "l%u d%u%s", library, sp_svg_diff_step_of_node(&d->diff, node),
			kind == SP_SVG_NOTE ? " n" : "");
	else if (kind == SP_SVG_PLAIN || kind == SP_SVG_NOTE || !library)
		fputs(kind == SP_SVG_NOTE ? "n" : "t", d->out);
	else
		fprintf(d->out, "l%u%s", library, tone_of(sp_svg_tree_name(d->t, node)));
	fputs(kind == SP_SVG_KERNEL ? " k" : kind == SP_SVG_GUESSED ? " g" : "", d->out);
}

static void put_title(struct drawing *d, uint32_t node)
{
	const struct sp_tree_node *it = &d->nodes[node];
	uint32_t library = sp_svg_tree_library(d->t, node);
	const bool is_noise[] = {sp_svg_diff_is_noise(&d->diff, node, false),
				 sp_svg_diff_is_noise(&d->diff, node, true)};
	fputs("<title>", d->out);
	sp_svg_put_text(d->out, sp_svg_tree_name(d->t, node));
	if (library) {
		fputc('\n', d->out);
		sp_svg_put_text(d->out, d->t->libraries[library].name);
	}
	fputc('\n', d->out);
	svg_put_amount(d, it->total);
	fputs(", ", d->out);
	put_percent(d, it->total);
	svg_put_change(d, it->total, it->second_total, true, is_noise[1]);
	if (d->t->is_diff && !d->t->callers && (it->self || it->second_self)) {
		fputs("; self ", d->out);
		put_percent(d, it->self);
		svg_put_change(d, it->self, it->second_self, false, is_noise[0]);
	}
	fputs("</title>", d->out);
}

static void svg_put_frame(struct drawing *d, uint32_t node)
{
	const struct sp_tree_node *it = &d->nodes[node];
	double x = PAD + (double)d->starts[node] * d->scale, width = (double)it->total * d->scale;
	bool hidden = !is_drawn(d, node);
	int y = d->y + (hidden ? 0 : (int)(d->o->icicle ? it->depth : d->deepest - it->depth) * ROW);
	fputs(hidden ? "<g class=\"off\">" : "<g>", d->out);
	put_title(d, node);
	fputs("<rect class=\"", d->out);
	put_class(d, node);
	fputs("\" x=\"", d->out);
	sp_svg_put_px(d->out, x);
	fprintf(d->out, "\" y=\"%d\" width=\"", y);
	sp_svg_put_px(d->out, width > 2 ? width - 0.5 : width);
	fprintf(d->out, "\" height=\"%d\"/>", ROW - 1);
	if (width >= 3 * CELL + 6) {
		fputs("<text x=\"", d->out);
		sp_svg_put_px(d->out, x + 3);
		fprintf(d->out, "\" y=\"%d\">", y + 12);
		svg_put_label(d, sp_svg_tree_name(d->t, node), (uint32_t)((width - 6) / CELL));
		fputs("</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

static void put_frames(struct drawing *d)
{
	uint32_t node = 0;
	fputs("<g id=\"frames\">\n", d->out);
	do
		svg_put_frame(d, node);
	while ((node = next_written(d, node)));
	fputs("</g>\n", d->out);
	d->y += (int)(d->deepest + 1) * ROW;
}

static void put_script(struct drawing *d)
{
	uint32_t node = 0;
	fputs("<script><![CDATA[\nconst D=[", d->out);
	do
		fprintf(d->out, "%u,%" PRId64 ",", d->nodes[node].depth, d->nodes[node].total);
	while ((node = next_written(d, node)));
	fputs("],\nO=[", d->out);
	if (d->t->is_diff)
		do
			fprintf(d->out, "%" PRId64 ",", d->nodes[node].second_total);
		while ((node = next_written(d, node)));
	fputs("],\nB=[", d->out);
	for (uint32_t i = 0; i < sp_svg_tree_n_libraries(d->t); i++)
		fprintf(d->out, "\"%s\",", d->t->libraries[i].build_id);
	fprintf(d->out, "];\n%s]]></script>\n", script);
}

/* --- the page --- */

static void svg_put_line(struct drawing *d, const char *id, int y, const char *text, uint32_t n_cells)
{
	fprintf(d->out, "<text id=\"%s\" x=\"%d\" y=\"%d\"><title>", id, PAD, y);
	sp_svg_put_text(d->out, text);
	fputs("</title>", d->out);
	svg_put_label(d, text, n_cells);
	fputs("</text>\n", d->out);
}

/* The height is known only after the legend, so the picture is written to memory first, and the head before it. */
static void svg_put_head(struct drawing *d, int height)
{
	static const char *const classes[2][2] = {{"", " class=\"icicle\""},
						  {" class=\"diff\"", " class=\"diff icicle\""}};
	const char *title = d->o->title ? d->o->title : "Flame graph";
	fprintf(
	    d->out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by soprof -->\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\"%s width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
	    classes[d->t->is_diff][d->o->icicle], WIDTH, height, WIDTH, height);
	sp_svg_put_text(d->out, title);
	fputs("</title>\n", d->out);
	put_style(d);
	fputs("<rect id=\"page\" width=\"100%\" height=\"100%\"/>\n<g id=\"head\">\n", d->out);
	svg_put_line(d, "title", 26, title, 105);
	if (d->o->subtitle)
		svg_put_line(d, "subtitle", 44, d->o->subtitle, 160);
}

static void put_sum(struct drawing *d)
{
	fprintf(d->out, "<text id=\"sum\" x=\"%d\" y=\"%d\">", PAD, d->y);
	svg_put_amount(d, d->all->total);
	if (d->t->is_diff) {
		fputs(", was ", d->out);
		svg_put_amount(d, d->all->second_total);
	}
	fputs(", ", d->out);
	put_owned(d, sp_svg_count(d->n_drawn));
	fprintf(d->out, " frame%s; ", d->n_drawn == 1 ? "" : "s");
	if (d->t->is_diff)
		fprintf(d->out, "width: now; red: %s is more than before, blue: less; libraries by the change of self:",
			d->t->callers ? "total" : "self");
	else
		fputs("libraries by their own share:", d->out);
	fputs("</text>\n", d->out);
}

/* "Not drawn: N THINGS AND MORE"; the caller ends it. */
static void begin_note(struct drawing *d, uint64_t n, const char *thing, const char *more)
{
	fprintf(d->out, "<text class=\"note\" x=\"%d\" y=\"%d\">Not drawn: ", PAD, d->y += 16);
	put_owned(d, sp_svg_count(n));
	fprintf(d->out, " %s%s %s", thing, n == 1 ? "" : "s", more);
}

/* The next smaller one of the gone frames whose parent is drawn; 0: none. */
static uint32_t largest_gone(const struct drawing *d, uint32_t above)
{
	uint32_t found = 0;
	for (uint32_t i = 1; i < d->t->tree.n_nodes; i++) {
		int64_t old = d->nodes[i].second_total, most = d->nodes[found].second_total;
		bool is_next =
		    !above || old < d->nodes[above].second_total || (old == d->nodes[above].second_total && i > above);
		if (is_next && (!found || old > most) && is_gone(d, i) && is_drawn(d, d->nodes[i].parent))
			found = i;
	}
	return found;
}

static void put_gone(struct drawing *d)
{
	enum { SHOWN = 3, NAME_CELLS = 24 };
	uint32_t node = 0;
	begin_note(d, d->n_gone, "frame", "that are gone or nearly so, but found by a search; the largest:");
	for (int i = 0; i < SHOWN && (node = largest_gone(d, node)); i++) {
		fputs(i ? ", " : " ", d->out);
		svg_put_label(d, sp_svg_tree_name(d->t, node), NAME_CELLS);
		fputc(' ', d->out);
		put_owned(d, sp_svg_diff_text(&d->diff, sp_svg_diff_of(&d->diff, d->nodes[node].total,
								       d->nodes[node].second_total)));
	}
	fputs("</text>\n", d->out);
}

static void put_notes(struct drawing *d)
{
	fputs("<g id=\"foot\">\n", d->out);
	if (d->n_gone)
		put_gone(d);
	if (d->n_dropped) {
		begin_note(d, d->n_dropped, "frame", "narrower than 0.1 of 1,200 px, together ");
		put_percent(d, (int64_t)d->dropped);
		fputs(" of the whole.</text>\n", d->out);
	}
	if (d->t->n_negative) {
		begin_note(d, d->t->n_negative, "row", "with a value below 0.");
		fputs("</text>\n", d->out);
	}
	fputs("</g>\n", d->out);
}

static int put_body(struct drawing *d)
{
	d->y = d->o->subtitle ? 64 : 46;
	if (!d->all->total) {
		fprintf(d->out, "<text id=\"empty\" x=\"%d\" y=\"%d\">There were no samples.</text>\n</g>\n", PAD,
			d->y + 10);
		d->y += 10;
		put_notes(d);
		return 0;
	}
	put_sum(d);
	d->y += 12;
	int r = put_legend(d);
	if (r < 0)
		return r;
	fputs("</g>\n", d->out);
	put_frames(d);
	put_notes(d);
	put_script(d);
	return 0;
}

static int draw(struct drawing *d, FILE *out)
{
	SP_FREE char *body = NULL;
	size_t len = 0;
	survey(d);
	d->out = open_memstream(&body, &len);
	if (!d->out)
		return -ENOMEM;
	int r = put_body(d);
	if (fclose(d->out) || r < 0)
		return r < 0 ? r : -ENOMEM;
	d->out = out;
	svg_put_head(d, d->y + 16);
	fwrite(body, 1, len, out);
	fputs("</svg>\n", out);
	return d->no_memory ? -ENOMEM : 0;
}

static int write_svg(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_svg_tree *t;
	int r = sp_svg_tree_new(p, o, MIN_WIDTH / INNER, &t);
	if (r < 0)
		return sp_fail(r, "flame graph");
	const struct sp_value_type *type = sp_profile_value_type(p, o->value);
	SP_FREE int64_t *starts = calloc(t->tree.n_nodes, sizeof(*starts));
	struct drawing d = {.t = t, .o = o, .starts = starts, .nodes = t->tree.nodes, .all = &t->tree.nodes[0]};
	SP_FREE char *value_name = sp_svg_value_name(p, o, type);
	d.value_name = value_name;
	d.unit = sp_profile_string(p, type->unit);
	d.diff = (struct sp_svg_diff){.t = t, .absolute = o->absolute, .value_name = d.value_name, .unit = d.unit};
	d.scale = d.all->total ? INNER / (double)d.all->total : 0;
	d.old_scale = d.all->second_total ? INNER / (double)d.all->second_total : 0;
	r = starts && value_name ? sp_svg_diff_begin(&d.diff, o) : -ENOMEM;
	if (r >= 0)
		r = draw(&d, out);
	sp_svg_diff_done(&d.diff);
	sp_svg_tree_free(t);
	return r < 0 ? sp_fail(r, "flame graph") : 0;
}

const struct sp_view sp_view_svg = {
    .name = "svg",
    .suffix = ".svg",
    .mime = "image/svg+xml",
    .summary = "interactive flame graph, one file for a browser",
    .write = write_svg,
};
