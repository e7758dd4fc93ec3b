/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg: the interactive flame graph, one file that needs nothing else.
 *
 * The picture is complete, 1,200 px wide, for readers without scripts; svg.js lays it out again for the window. Names
 * are character data only, never part of the script, a class or an address (svg_text.h). The script gets numbers only:
 * D, depth and value of each frame in the order drawn (parents first), B, the first hex digits of each library's
 * build id, L, the frames that are too narrow to be drawn but are searched (svg_narrow.c), and X, the value of those
 * that are not. A frame's <title> has its name, its library (if any) and its value
 * on lines of their own. Frames narrower than 0.1 px, as in flamegraph.pl, are left out and counted in the footer; so
 * are wider ones, 0.2 px, 0.4 px and so on, while there are more than a browser shows at once.
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
#include "view/svg/svg_priv.h"
#include "view/svg/svg_text.h"
#include "view/view.h"

#define MIN_WIDTH 0.1
enum { MAX_FRAMES = 10000, NARROWER = 32, SLIM = 4 }; /* frames of 1/NARROWER of the least width are searched */

static const char style[] =
#include "svg.css.inc"
    ;
static const char script[] =
#include "svg.js.inc"
    ;

/* Not drawn, but the script gets it. */
static bool is_gone(const struct sp_svg_drawing *d, uint32_t node)
{
	return !sp_svg_draw_is_drawn(d, node) && (double)d->nodes[node].second_total * d->old_scale >= d->min_width;
}

static uint32_t written_of(const struct sp_svg_drawing *d, uint32_t sibling)
{
	while (sibling && !sp_svg_draw_is_drawn(d, sibling) && !is_gone(d, sibling))
		sibling = d->nodes[sibling].next;
	return sibling;
}

/*
 * The next node to write, parents first; 0: the end. Nodes not drawn leave their room at the right, so each node's
 * start follows from the values before it.
 */
static uint32_t next_written(struct sp_svg_drawing *d, uint32_t node)
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

/* Few enough frames for a browser; tens of thousands take it half a minute. */
static void choose_width(struct sp_svg_drawing *d)
{
	uint32_t n = MAX_FRAMES + 1;
	for (d->min_width = MIN_WIDTH; n > MAX_FRAMES; d->min_width *= n > MAX_FRAMES ? 2 : 1) {
		n = 0;
		for (uint32_t i = 0; i < d->t->tree.n_nodes; i++)
			n += sp_svg_draw_is_drawn(d, i) || is_gone(d, i);
	}
}

/* -1: the frame has its library's colour, or none. */
static int tint_of(const struct sp_svg_drawing *d, uint32_t node, enum sp_svg_kind kind)
{
	if (kind != SP_SVG_USER && kind != SP_SVG_GUESSED)
		return -1;
	return sp_svg_palette_tint(&d->palette, d->t->libraries[sp_svg_tree_library(d->t, node)].name,
				   sp_svg_tree_name(d->t, node));
}

static void survey(struct sp_svg_drawing *d)
{
	d->n_dropped = d->t->tree.n_left_out;
	for (uint32_t i = 0; i < d->t->tree.n_nodes; i++) {
		const struct sp_tree_node *node = &d->nodes[i];
		enum sp_svg_kind kind = sp_svg_tree_kind(d->t, i);
		int tint;
		if (!sp_svg_draw_is_drawn(d, i)) {
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
		tint = tint_of(d, i, kind);
		d->tints |= tint >= 0 ? UINT32_C(1) << tint : 0;
	}
}

void sp_svg_draw_owned(struct sp_svg_drawing *d, char *text)
{
	SP_FREE char *owned = text;
	if (owned)
		sp_svg_put_text(d->out, owned);
	else
		d->no_memory = true;
}

void sp_svg_draw_label(struct sp_svg_drawing *d, const char *text, uint32_t n_cells)
{
	d->no_memory |= sp_svg_put_label(d->out, text, n_cells) < 0;
}

void sp_svg_draw_amount(struct sp_svg_drawing *d, int64_t value)
{
	sp_svg_draw_owned(d, sp_svg_amount(value, d->value_name, d->unit));
}

void sp_svg_draw_percent(struct sp_svg_drawing *d, int64_t value)
{
	sp_svg_draw_owned(d, sp_svg_fixed(100.0 * (double)value / (double)d->all->total, 2));
	fputc('%', d->out);
}

/* ", was 5.90%: +1.14 pp", if there is an old value. */
void sp_svg_draw_change(struct sp_svg_drawing *d, int64_t now, int64_t old, bool with_amount, bool is_noise)
{
	if (!d->t->is_diff)
		return;
	fputs(", was ", d->out);
	if (with_amount) {
		sp_svg_draw_amount(d, old);
		fputs(", ", d->out);
	}
	sp_svg_draw_owned(d, sp_svg_fixed(100.0 * (double)old / (double)SP_MAX(d->all->second_total, 1), 2));
	fputs("%: ", d->out);
	sp_svg_draw_owned(d, sp_svg_diff_text(&d->diff, sp_svg_diff_of(&d->diff, now, old)));
	fputs(is_noise ? ", within noise" : "", d->out);
}

/* --- style --- */

static void put_colours(struct sp_svg_drawing *d, bool is_dark)
{
	for (uint32_t i = 0; i < SP_SVG_N_STEPS && d->t->is_diff; i++)
		fprintf(d->out, ".d%u{fill:#%06x}", i, sp_svg_diff_step_colour(i, is_dark));
	for (uint32_t i = 1; i < sp_svg_tree_n_libraries(d->t) && !d->t->is_diff; i++) {
		const struct sp_svg_library *l = &d->t->libraries[i];
		fprintf(d->out, ".l%u{fill:#%06x}", i,
			sp_svg_palette_colour(&d->palette, l->name, l->is_kernel, is_dark));
	}
	for (uint32_t i = 0; i < SP_SVG_TINTS && d->palette.n_packages; i++)
		fprintf(d->out, ".p%u{fill:#%06x}", i, sp_svg_palette_tint_colour(&d->palette, i, is_dark));
}

static void put_style(struct sp_svg_drawing *d)
{
	fprintf(d->out, "<style><![CDATA[\n%s", style);
	put_colours(d, false);
	fputs("\n@media (prefers-color-scheme:dark){", d->out);
	put_colours(d, true);
	fputs("}\n]]></style>\n", d->out);
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

static void put_class(struct sp_svg_drawing *d, uint32_t node)
{
	enum sp_svg_kind kind = sp_svg_tree_kind(d->t, node);
	uint32_t library = sp_svg_tree_library(d->t, node);
	const char *name = sp_svg_tree_name(d->t, node);
	int tint = tint_of(d, node, kind);
	if (d->t->is_diff)
		fprintf(d->out, "l%u d%u%s", library, sp_svg_diff_step_of_node(&d->diff, node),
			kind == SP_SVG_NOTE ? " n" : "");
	else if (tint >= 0) /* the first class says which library it is */
		fprintf(d->out, "l%u p%d%s", library, tint, tone_of(name));
	else if (kind == SP_SVG_PLAIN || kind == SP_SVG_NOTE || !library)
		fputs(kind == SP_SVG_NOTE ? "n" : "t", d->out);
	else
		fprintf(d->out, "l%u%s", library, tone_of(name));
	fputs(kind == SP_SVG_KERNEL ? " k" : kind == SP_SVG_GUESSED ? " g" : "", d->out);
	if ((kind == SP_SVG_KERNEL || kind == SP_SVG_GUESSED) && (double)d->nodes[node].total * d->scale < SLIM)
		fputs(" s", d->out); /* an outline would be all of it */
}

static void put_title(struct sp_svg_drawing *d, uint32_t node)
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
	sp_svg_draw_amount(d, it->total);
	fputs(", ", d->out);
	sp_svg_draw_percent(d, it->total);
	sp_svg_draw_change(d, it->total, it->second_total, true, is_noise[1]);
	if (d->t->is_diff && !d->t->callers && (it->self || it->second_self)) {
		fputs("; self ", d->out);
		sp_svg_draw_percent(d, it->self);
		sp_svg_draw_change(d, it->self, it->second_self, false, is_noise[0]);
	}
	fputs("</title>", d->out);
}

static void svg_put_frame(struct sp_svg_drawing *d, uint32_t node)
{
	const struct sp_tree_node *it = &d->nodes[node];
	double x = SP_SVG_PAD + (double)d->starts[node] * d->scale, width = (double)it->total * d->scale;
	bool hidden = !sp_svg_draw_is_drawn(d, node);
	int y = d->y + (hidden ? 0 : (int)(d->o->icicle ? it->depth : d->deepest - it->depth) * SP_SVG_ROW);
	fputs(hidden ? "<g class=\"off\">" : "<g>", d->out);
	put_title(d, node);
	fputs("<rect class=\"", d->out);
	put_class(d, node);
	fputs("\" x=\"", d->out);
	sp_svg_put_px(d->out, x);
	fprintf(d->out, "\" y=\"%d\" width=\"", y);
	sp_svg_put_px(d->out, width > 2 ? width - 0.5 : width);
	fprintf(d->out, "\" height=\"%d\"/>", SP_SVG_ROW - 1);
	if (width >= 3 * SP_SVG_CELL + 6) {
		fputs("<text x=\"", d->out);
		sp_svg_put_px(d->out, x + 3);
		fprintf(d->out, "\" y=\"%d\">", y + 12);
		sp_svg_draw_label(d, sp_svg_tree_name(d->t, node), (uint32_t)((width - 6) / SP_SVG_CELL));
		fputs("</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

static void put_frames(struct sp_svg_drawing *d)
{
	uint32_t node = 0;
	fputs("<g id=\"frames\">\n", d->out);
	do
		svg_put_frame(d, node);
	while ((node = next_written(d, node)));
	fputs("</g>\n", d->out);
	d->y += (int)(d->deepest + 1) * SP_SVG_ROW;
}

static int put_script(struct sp_svg_drawing *d)
{
	SP_FREE uint32_t *written = calloc(d->t->tree.n_nodes, sizeof(*written));
	SP_FREE char *narrow = NULL;
	uint32_t node = 0, n = 0;
	if (!written)
		return -ENOMEM;
	do
		written[n++] = node;
	while ((node = next_written(d, node)));
	int r = sp_svg_narrow_put(d, written, n, &narrow);
	if (r < 0)
		return r;
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
	fprintf(d->out, "],\n%s%s]]></script>\n", narrow, script);
	return 0;
}

/* --- the page --- */

static void svg_put_line(struct sp_svg_drawing *d, const char *id, int y, const char *text, uint32_t n_cells)
{
	fprintf(d->out, "<text id=\"%s\" x=\"%d\" y=\"%d\"><title>", id, SP_SVG_PAD, y);
	sp_svg_put_text(d->out, text);
	fputs("</title>", d->out);
	sp_svg_draw_label(d, text, n_cells);
	fputs("</text>\n", d->out);
}

/* The height is known only after the legend, so the picture is written to memory first, and the head before it. */
static void svg_put_head(struct sp_svg_drawing *d, int height)
{
	static const char *const classes[2][2] = {{"", " class=\"icicle\""},
						  {" class=\"diff\"", " class=\"diff icicle\""}};
	const char *title = d->o->title ? d->o->title : "Flame graph";
	fprintf(
	    d->out,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by soprof -->\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\"%s width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
	    classes[d->t->is_diff][d->o->icicle], SP_SVG_WIDTH, height, SP_SVG_WIDTH, height);
	sp_svg_put_text(d->out, title);
	fputs("</title>\n", d->out);
	put_style(d);
	fputs("<rect id=\"page\" width=\"100%\" height=\"100%\"/>\n<g id=\"head\">\n", d->out);
	svg_put_line(d, "title", 26, title, 105);
	if (d->o->subtitle)
		svg_put_line(d, "subtitle", 44, d->o->subtitle, 160);
}

static void put_sum(struct sp_svg_drawing *d)
{
	fprintf(d->out, "<text id=\"sum\" x=\"%d\" y=\"%d\">", SP_SVG_PAD, d->y);
	sp_svg_draw_amount(d, d->all->total);
	if (d->t->is_diff) {
		fputs(", was ", d->out);
		sp_svg_draw_amount(d, d->all->second_total);
	}
	fputs(", ", d->out);
	sp_svg_draw_owned(d, sp_svg_count(d->n_drawn));
	fprintf(d->out, " frame%s; ", d->n_drawn == 1 ? "" : "s");
	if (d->t->is_diff)
		fprintf(d->out, "width: now; red: %s is more than before, blue: less; libraries by the change of self:",
			d->t->callers ? "total" : "self");
	else
		fputs("libraries by their own share:", d->out);
	fputs("</text>\n", d->out);
}

/* "Not drawn: N THINGS AND MORE"; the caller ends it. */
static void begin_note(struct sp_svg_drawing *d, uint64_t n, const char *thing, const char *more)
{
	fprintf(d->out, "<text class=\"note\" x=\"%d\" y=\"%d\">Not drawn: ", SP_SVG_PAD, d->y += 16);
	sp_svg_draw_owned(d, sp_svg_count(n));
	fprintf(d->out, " %s%s %s", thing, n == 1 ? "" : "s", more);
}

/* The next smaller one of the gone frames whose parent is drawn; 0: none. */
static uint32_t largest_gone(const struct sp_svg_drawing *d, uint32_t above)
{
	uint32_t found = 0;
	for (uint32_t i = 1; i < d->t->tree.n_nodes; i++) {
		int64_t old = d->nodes[i].second_total, most = d->nodes[found].second_total;
		bool is_next =
		    !above || old < d->nodes[above].second_total || (old == d->nodes[above].second_total && i > above);
		if (is_next && (!found || old > most) && is_gone(d, i) && sp_svg_draw_is_drawn(d, d->nodes[i].parent))
			found = i;
	}
	return found;
}

static void put_gone(struct sp_svg_drawing *d)
{
	enum { SHOWN = 3, NAME_CELLS = 24 };
	uint32_t node = 0;
	begin_note(d, d->n_gone, "frame", "that are gone or nearly so, but found by a search; the largest:");
	for (int i = 0; i < SHOWN && (node = largest_gone(d, node)); i++) {
		fputs(i ? ", " : " ", d->out);
		sp_svg_draw_label(d, sp_svg_tree_name(d->t, node), NAME_CELLS);
		fputc(' ', d->out);
		sp_svg_draw_owned(d, sp_svg_diff_text(&d->diff, sp_svg_diff_of(&d->diff, d->nodes[node].total,
									       d->nodes[node].second_total)));
	}
	fputs("</text>\n", d->out);
}

static void put_notes(struct sp_svg_drawing *d)
{
	fputs("<g id=\"foot\">\n", d->out);
	if (d->n_gone)
		put_gone(d);
	if (d->n_dropped) {
		begin_note(d, d->n_dropped, "frame", "narrower than ");
		sp_svg_put_px(d->out, d->min_width);
		fputs(" of 1,200 px, together ", d->out);
		sp_svg_draw_percent(d, (int64_t)d->dropped);
		fprintf(d->out, " of the whole%s.</text>\n", d->t->is_diff ? "" : "; a search counts them");
	}
	if (d->t->n_negative) {
		begin_note(d, d->t->n_negative, "row", "with a value below 0.");
		fputs("</text>\n", d->out);
	}
	fputs("</g>\n", d->out);
}

static int put_body(struct sp_svg_drawing *d)
{
	d->y = d->o->subtitle ? 64 : 46;
	if (!d->all->total) {
		fprintf(d->out, "<text id=\"empty\" x=\"%d\" y=\"%d\">There were no samples.</text>\n</g>\n",
			SP_SVG_PAD, d->y + 10);
		d->y += 10;
		put_notes(d);
		return 0;
	}
	put_sum(d);
	d->y += 12;
	int r = sp_svg_draw_legend(d);
	if (r < 0)
		return r;
	fputs("</g>\n", d->out);
	put_frames(d);
	put_notes(d);
	return put_script(d);
}

static int draw(struct sp_svg_drawing *d, FILE *out)
{
	SP_FREE char *body = NULL;
	size_t len = 0;
	choose_width(d);
	sp_svg_narrow_choose(d, MIN_WIDTH / NARROWER);
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
	int r = sp_svg_tree_new(p, o, MIN_WIDTH / (o->has_second ? 1 : NARROWER) / SP_SVG_INNER, &t);
	if (r < 0)
		return sp_fail(r, "flame graph");
	const struct sp_value_type *type = sp_profile_value_type(p, o->value);
	SP_FREE int64_t *starts = calloc(t->tree.n_nodes, sizeof(*starts));
	struct sp_svg_drawing d = {.t = t, .o = o, .starts = starts, .nodes = t->tree.nodes, .all = &t->tree.nodes[0]};
	SP_FREE char *value_name = sp_svg_value_name(p, o, type);
	d.value_name = value_name;
	d.unit = sp_profile_string(p, type->unit);
	d.diff = (struct sp_svg_diff){.t = t, .absolute = o->absolute, .value_name = d.value_name, .unit = d.unit};
	d.scale = d.all->total ? SP_SVG_INNER / (double)d.all->total : 0;
	d.old_scale = d.all->second_total ? SP_SVG_INNER / (double)d.all->second_total : 0;
	r = starts && value_name ? sp_svg_diff_begin(&d.diff, o) : -ENOMEM;
	if (r >= 0 && !o->has_second)
		r = sp_svg_palette_of(p, o->value, NULL, &d.palette);
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
