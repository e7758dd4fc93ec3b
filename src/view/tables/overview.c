/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overview.c: what a person looks at first: the dearest libraries with their packages, the hottest functions with who
 * calls them most, and the heaviest stacks.
 *
 * A profile of several events has the table of its costs in place of the libraries; functions and stacks are of the
 * value shown. Frames without a name are one function for each library, as everywhere.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "profile/tree.h"
#include "view/priv.h"
#include "view/tables/costs.h"
#include "view/units.h"
#include "view/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_ROWS = 10,
	N_STACKS = 3,
	PERCENT_COLUMNS = 7,
	NAME_COLUMNS = 28,
	ROOT_FRAMES = 3,
	LEAF_FRAMES = 9,
	WIDTH = 80
};

struct overview {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	FILE *out;
};

/* --- columns --- */
static unsigned overview_width(const struct overview *v)
{
	return v->o->width ? v->o->width : WIDTH;
}

static void put_heading(const struct overview *v, const char *shares, const char *text)
{
	fprintf(v->out, "\n%s%s  %s%s\n", v->o->colour ? "\033[1m" : "", shares, text, v->o->colour ? "\033[0m" : "");
}

static void put_percent(const struct overview *v, int64_t value, int64_t of)
{
	sp_percent_put(sp_percent(value, of), PERCENT_COLUMNS, v->o->colour, v->out);
}

/* --- libraries --- */
static char *library_text(const struct overview *v, const struct sp_total *row)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (row->none)
		fputs("[no library]", f);
	else
		sp_view_put_library(v->p, row->id, f);
	fclose(f);
	return text;
}

/* The library, and its package in the next column. */
static void put_package(const struct overview *v, const struct sp_total *row, const char *library, size_t columns)
{
	const struct sp_file *f = sp_profile_file(v->p, row->none ? 0 : row->id);
	const char *version = sp_profile_string(v->p, f->package_version);
	size_t n = sp_view_columns(library);

	sp_view_put_cut(library, columns, false, v->out);
	if (row->none || !f->package)
		return;
	fprintf(v->out, "%*s", (int)(columns - SP_MIN(n, columns)) + 2, "");
	sp_encode(v->out, SP_ENCODE_TERMINAL, sp_profile_string(v->p, f->package));
	fputs(*version ? " " : "", v->out);
	sp_encode(v->out, SP_ENCODE_TERMINAL, version);
}

/* How much is behind the last row shown. */
static void put_more(const struct overview *v, int columns, size_t n, const char *what, int64_t self, int64_t of)
{
	if (!n)
		return;
	put_percent(v, self, of);
	fprintf(v->out, "%*s  in %zu more %s%s\n", columns, "", n, what, n == 1 ? "" : "s");
}

static size_t widest(char *const *texts, size_t n)
{
	size_t columns = strlen("library");

	for (size_t i = 0; i < n; i++)
		columns = SP_MAX(columns, SP_MIN(sp_view_columns(texts[i]), (size_t)NAME_COLUMNS));
	return columns;
}

static int put_library_rows(const struct overview *v, const struct sp_totals *t)
{
	char *texts[N_ROWS] = {0}, heading[NAME_COLUMNS + 16];
	size_t n = SP_MIN(t->n_rows, (size_t)N_ROWS), columns, i;
	int64_t rest = 0;
	int r = 0;

	for (i = 0; i < n && r == 0; i++)
		r = (texts[i] = library_text(v, &t->rows[i])) ? 0 : -ENOMEM;
	columns = r ? 0 : widest(texts, n);
	snprintf(heading, sizeof(heading), "%-*s  package", (int)columns, "library");
	put_heading(v, " self %  total %", heading);
	for (i = 0; i < n && r == 0; i++) {
		put_percent(v, t->rows[i].self, t->value);
		fputs("  ", v->out);
		put_percent(v, t->rows[i].total, t->value);
		fputs("  ", v->out);
		put_package(v, &t->rows[i], texts[i], columns);
		fputc('\n', v->out);
	}
	for (i = n; i < t->n_rows; i++)
		rest += t->rows[i].self;
	put_more(v, PERCENT_COLUMNS + 2, t->n_rows - n, "file", rest, t->value);
	for (i = 0; i < N_ROWS; i++)
		free(texts[i]);
	return r;
}

static int put_libraries(const struct overview *v)
{
	struct sp_totals t;
	int r = sp_totals_by(v->p, SP_TOTAL_BY_LIBRARY, v->o->value, &t);

	if (r < 0)
		return r;
	sp_value_put(v->p, v->o->value, t.value, t.n_samples, v->out);
	fputc('\n', v->out);
	r = put_library_rows(v, &t);
	sp_totals_done(&t);
	return r;
}

static int put_costs(const struct overview *v)
{
	struct sp_view_options o = *v->o;

	o.by = SP_TOTAL_BY_LIBRARY;
	o.limit = N_ROWS;
	return sp_costs_put(v->p, &o, v->out);
}

/* --- functions, each with its main caller --- */
/*
 * All waits end in the scheduler, behind the kernel functions of a system call, which say less than who made it:
 * functions and stacks of waits are without the kernel's frames, unless only these are asked for.
 */
static bool is_user_only(const struct overview *v)
{
	return v->o->user_only || (!v->o->kernel_only && sp_value_has_waits(v->p, v->o->value));
}

static void put_node(const struct overview *v, const struct sp_tree *t, uint32_t node, bool with_library, FILE *out)
{
	const struct sp_tree_label *label = &t->labels[t->nodes[node].label];
	const char *name = sp_tree_name(v->p, t, node);

	sp_encode(out, SP_ENCODE_TERMINAL, *name ? name : "[no name]");
	if (with_library && label->kind == SP_TREE_FRAME && label->func &&
	    !sp_view_is_place(v->p, name, label->library))
		sp_view_put_in_library(v->p, label->library, 0, out);
}

static bool same_library(const struct sp_tree *t, uint32_t a, uint32_t b)
{
	const struct sp_tree_label *x = &t->labels[t->nodes[a].label], *y = &t->labels[t->nodes[b].label];

	return x->kind == SP_TREE_FRAME && y->kind == SP_TREE_FRAME && x->library == y->library;
}

/* The child that has the most of the node; 0 = none is a function. */
static uint32_t main_caller(const struct sp_tree *t, uint32_t node)
{
	uint32_t best = 0;

	for (uint32_t c = t->nodes[node].first; c; c = t->nodes[c].next)
		if (t->labels[t->nodes[c].label].kind == SP_TREE_FRAME &&
		    (!best || t->nodes[c].total > t->nodes[best].total))
			best = c;
	return best;
}

/* Of names without room the end is left out, never the caller's share. */
static int put_function(const struct overview *v, const struct sp_tree *t, uint32_t node)
{
	uint32_t caller = main_caller(t, node);
	size_t room = sp_view_room(v->o->width, PERCENT_COLUMNS + 2);
	char *text = NULL, share[16] = "";
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	put_node(v, t, node, true, f);
	if (caller) {
		fputs(" <- ", f);
		put_node(v, t, caller, !same_library(t, node, caller), f);
		snprintf(share, sizeof(share), " (%.0f %%)", sp_percent(t->nodes[caller].total, t->nodes[node].total));
	}
	fclose(f);
	put_percent(v, t->nodes[node].leaf, t->value);
	fputs("  ", v->out);
	sp_view_put_cut(text, room ? room - strlen(share) : 0, false, v->out);
	fprintf(v->out, "%s\n", share);
	free(text);
	return 0;
}

/* Children are in the tree by falling total, which is self where a tree goes from the leaf. */
static int put_functions(const struct overview *v)
{
	struct sp_tree_options options = {.value = v->o->value,
					  .direction = SP_TREE_CALLERS,
					  .user_only = is_user_only(v),
					  .kernel_only = v->o->kernel_only,
					  .max_depth = 2};
	struct sp_tree t;
	size_t n = 0, more = 0;
	int64_t rest = 0;
	int r = sp_tree_new(v->p, &options, &t);

	if (r < 0)
		return r;
	put_heading(v, " self %",
		    is_user_only(v) && !v->o->user_only
			? "function [library] outside the kernel <- main caller (% of its samples)"
			: "function [library] <- its main caller (% of its samples)");
	for (uint32_t c = t.nodes[0].first; c && r == 0; c = t.nodes[c].next) {
		if (n < N_ROWS && t.labels[t.nodes[c].label].kind == SP_TREE_FRAME) {
			r = put_function(v, &t, c);
			n++;
		} else {
			more++;
			rest += t.nodes[c].total;
		}
	}
	put_more(v, 0, more, "function", rest, t.value);
	sp_tree_done(&t);
	return r;
}

/* --- stacks --- */
/* The nodes with the most samples that end there, falling. */
static size_t heaviest(const struct sp_tree *t, uint32_t *ret_nodes)
{
	size_t n = 0;

	for (uint32_t i = 1; i < t->n_nodes; i++) {
		size_t at = n;

		while (at && t->nodes[ret_nodes[at - 1]].self < t->nodes[i].self)
			at--;
		if (t->nodes[i].self <= 0 || at == N_STACKS)
			continue;
		n += n < N_STACKS;
		memmove(&ret_nodes[at + 1], &ret_nodes[at], (n - at - 1) * sizeof(*ret_nodes));
		ret_nodes[at] = i;
	}
	return n;
}

struct line {
	const struct overview *v;
	size_t column;
};

/* Wrapped between frames. */
static void line_put(struct line *l, const char *text)
{
	size_t n = sp_view_columns(text), indent = PERCENT_COLUMNS + 2;

	if (l->column > indent) {
		bool fits = l->column + 1 + n <= overview_width(l->v);

		fprintf(l->v->out, fits ? " " : "\n%*s", (int)indent, "");
		l->column = fits ? l->column + 1 : indent;
	}
	sp_view_put_cut(text, sp_view_room(l->v->o->width, indent), false, l->v->out);
	l->column += n;
}

/* A function that calls itself, without others between: its last node, and how many there are. */
struct run {
	uint32_t node, n;
};

/* Of frames in one library that follow one another the last one names it. next NULL: there is none. */
static char *run_text(const struct overview *v, const struct sp_tree *t, const struct run *run, const struct run *next)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	put_node(v, t, run->node, !next || !same_library(t, run->node, next->node), f);
	if (run->n > 1)
		fprintf(f, " (%" PRIu32 " times)", run->n);
	if (next)
		fputs(" >", f);
	fclose(f);
	return text;
}

/* The thread's name is the first node of the path. Of a deep stack the middle is left out. */
static int put_path(const struct overview *v, const struct sp_tree *t, const struct run *runs, uint32_t n)
{
	struct line l = {v, PERCENT_COLUMNS + 2};
	char left_out[48];

	for (uint32_t i = 0; i < n; i++) {
		if (i == 1 + ROOT_FRAMES && n > 1 + ROOT_FRAMES + LEAF_FRAMES + 1) {
			uint32_t more = 0;

			for (; i < n - LEAF_FRAMES; i++)
				more += runs[i].n;
			snprintf(left_out, sizeof(left_out), "[%" PRIu32 " more] >", more);
			line_put(&l, left_out);
		}
		char *text SP_FREE = run_text(v, t, &runs[i], i + 1 < n ? &runs[i + 1] : NULL);

		if (!text)
			return -ENOMEM;
		line_put(&l, text);
	}
	fputc('\n', v->out);
	return 0;
}

static int put_stack(const struct overview *v, const struct sp_tree *t, uint32_t node)
{
	uint32_t n = t->nodes[node].depth, i = n;
	struct run *runs SP_FREE = calloc(n, sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	put_percent(v, t->nodes[node].self, t->value);
	fputs("  ", v->out);
	for (; node; node = t->nodes[node].parent)
		if (i < n && t->nodes[runs[i].node].label == t->nodes[node].label)
			runs[i].n++;
		else
			runs[--i] = (struct run){node, 1};
	return put_path(v, t, runs + i, n - i);
}

static int put_stacks(const struct overview *v)
{
	struct sp_tree_options options = {.value = v->o->value,
					  .direction = SP_TREE_CALLEES,
					  .comms = true,
					  .marks = true,
					  .user_only = is_user_only(v),
					  .kernel_only = v->o->kernel_only};
	uint32_t nodes[N_STACKS + 1];
	struct sp_tree t;
	size_t n, i;
	int r = sp_tree_new(v->p, &options, &t);

	if (r < 0)
		return r;
	n = heaviest(&t, nodes);
	put_heading(v, "share %", n > 1 ? "the heaviest stacks" : "the heaviest stack");
	for (i = 0; i < n && r == 0; i++)
		r = put_stack(v, &t, nodes[i]);
	sp_tree_done(&t);
	return r;
}

static int overview_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	const struct overview v = {p, o, out};
	int r = o->all_values ? put_costs(&v) : put_libraries(&v);

	if (r >= 0)
		r = put_functions(&v);
	return r < 0 ? r : put_stacks(&v);
}

const struct sp_view sp_view_overview = {
    .name = "overview",
    .suffix = ".overview",
    .mime = "text/plain; charset=utf-8",
    .summary = "the dearest libraries, hottest functions, heaviest stacks",
    .packages = true,
    .slices = true, /* of the recording that is kept of what it shows */
    .write = overview_write,
};
