/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg_narrow.c: frames too narrow to be drawn, for the script: a search counts them, too. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "view/svg/svg_priv.h"
#include "view/svg/svg_text.h"

enum { MAX_NARROW = 20000 };

bool sp_svg_draw_is_drawn(const struct sp_svg_drawing *d, uint32_t node)
{
	return !node || (double)d->nodes[node].total * d->scale >= d->min_width;
}

static bool is_narrow(const struct sp_svg_drawing *d, uint32_t node)
{
	return !d->t->is_diff && !sp_svg_draw_is_drawn(d, node) &&
	       (double)d->nodes[node].total * d->scale >= d->min_narrow;
}

/* Few enough for a file that is sent around; those that are not told are a share that the search names. */
void sp_svg_narrow_choose(struct sp_svg_drawing *d, double min_width)
{
	uint32_t n = MAX_NARROW + 1;
	for (d->min_narrow = min_width; n > MAX_NARROW; d->min_narrow *= n > MAX_NARROW ? 2 : 1) {
		n = 0;
		for (uint32_t i = 0; i < d->t->tree.n_nodes; i++)
			n += is_narrow(d, i);
	}
}

static uint32_t narrow_of(const struct sp_svg_drawing *d, uint32_t sibling)
{
	while (sibling && !is_narrow(d, sibling))
		sibling = d->nodes[sibling].next;
	return sibling;
}

/* The next one below this drawn frame, parents first; node: the one before, or the frame itself. 0: there is none. */
static uint32_t next_narrow(const struct sp_svg_drawing *d, uint32_t frame, uint32_t node)
{
	uint32_t next = narrow_of(d, d->nodes[node].first);
	while (!next && node != frame) {
		next = narrow_of(d, d->nodes[node].next);
		node = d->nodes[node].parent;
	}
	return next;
}

static void put_name(struct sp_svg_drawing *d, uint32_t node)
{
	const char *library = d->t->libraries[sp_svg_tree_library(d->t, node)].name;
	fputs("<title>", d->out);
	sp_svg_put_text(d->out, sp_svg_tree_name(d->t, node));
	fputs("\n", d->out);
	sp_svg_put_text(d->out, library);
	fputs("</title>", d->out);
}

/* The names, each once, as text; *ret_numbers: by label, from 1. */
static int put_names(struct sp_svg_drawing *d, uint32_t **ret_numbers)
{
	uint32_t *numbers = calloc((size_t)d->t->tree.n_labels + 1, sizeof(*numbers)), n = 0;
	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->t->tree.n_nodes; i++) {
		uint32_t *number = &numbers[d->nodes[i].label];
		if (*number || !is_narrow(d, i))
			continue;
		fputs(n ? "" : "<metadata id=\"narrow\">", d->out);
		*number = ++n;
		put_name(d, i);
	}
	fputs(n ? "</metadata>\n" : "", d->out);
	*ret_numbers = numbers;
	return 0;
}

int sp_svg_narrow_put(struct sp_svg_drawing *d, const uint32_t *drawn, uint32_t n_drawn, char **ret_script)
{
	SP_FREE uint32_t *numbers = NULL;
	size_t size = 0;
	int64_t told = 0;
	int r = put_names(d, &numbers);
	FILE *script = r < 0 ? NULL : open_memstream(ret_script, &size);
	if (!script)
		return -ENOMEM;
	fputs("L=[", script);
	for (uint32_t i = 0; i < n_drawn; i++) {
		uint32_t frame = drawn[i], node = frame;
		while ((node = next_narrow(d, frame, node))) {
			const struct sp_tree_node *it = &d->nodes[node];
			told += it->parent == frame ? it->total : 0;
			fprintf(script, "%u,%u,%" PRId64 ",%u,", i, it->depth - d->nodes[frame].depth, it->total,
				numbers[it->label] - 1);
		}
	}
	fprintf(script, "],\nX=%" PRIu64 ";\n", d->dropped - (uint64_t)told);
	return fclose(script) ? -ENOMEM : 0;
}
