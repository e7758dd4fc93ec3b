/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/tree_columns.h"
#include "agent/answer/api_priv.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/mem.h"
#include "profile/diff.h"
#include "profile/values.h"
#include "view/html/html_data.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_FOLDED = 5, KIND_NARROW = 6 }; /* after those of enum sp_html_kind; the page has the same */

const char *sp_api_library_name(const struct sp_profile *p, uint32_t file)
{
	return file ? sp_library_name(p, file) : "[no library]";
}

/* --- columns --- */
static int shape_init(const struct sp_profile *p, uint32_t value, struct sp_tree_columns *s)
{
	*s = (struct sp_tree_columns){.p = p, .value = value};
	return sp_html_tables_init(p, value, NULL, &s->t);
}

int sp_tree_columns_new(const struct sp_profile *p, uint32_t value, struct sp_tree_columns *ret_shape)
{
	struct sp_tree_columns *s = ret_shape;
	int r = shape_init(p, value, s);
	uint32_t samples = sp_profile_samples_value(p);

	s->n_columns = samples == value ? 1 : 2;
	s->samples = s->n_columns - 1;
	s->columns[0] = (struct sp_api_column){.of = value, .scale = 1, .old = -1};
	s->columns[s->samples] = (struct sp_api_column){.of = samples, .scale = 1, .old = -1};
	return r;
}

int sp_tree_columns_new_diff(const struct sp_diff *d, struct sp_tree_columns *ret_shape)
{
	struct sp_tree_columns *s = ret_shape;
	int r = shape_init(d->joined, SP_DIFF_NEW, s);

	s->second = SP_DIFF_OLD;
	s->has_second = true;
	s->n_columns = SP_API_COLUMNS;
	s->samples = 2;
	s->columns[0] = (struct sp_api_column){SP_DIFF_NEW, 1, 1};
	s->columns[1] = (struct sp_api_column){SP_DIFF_OLD, 1, -1};
	s->columns[2] = (struct sp_api_column){SP_DIFF_NEW_SAMPLES, 1, 3};
	s->columns[3] = (struct sp_api_column){SP_DIFF_OLD_SAMPLES, 1, -1};
	return r;
}

void sp_tree_columns_done(struct sp_tree_columns *s)
{
	sp_html_tables_done(&s->t);
	free(s->label_of);
}

/* --- labels --- */
static const char *label_name(const struct sp_tree_columns *s, const struct sp_tree_label *l)
{
	switch (l->kind) {
	case SP_TREE_RUN:
		return sp_api_library_name(s->p, l->library);
	case SP_TREE_COMM:
		return sp_profile_string(s->p, l->string);
	case SP_TREE_CUT:
		return "[truncated]";
	case SP_TREE_NO_STACK:
		return "[no user stack]";
	default:
		return l->func ? sp_profile_string(s->p, sp_profile_func(s->p, l->func)->name) : "[unknown]";
	}
}

static uint32_t label_kind(const struct sp_tree_label *l)
{
	if (l->kind == SP_TREE_COMM)
		return SP_HTML_THREAD;
	if (l->kind == SP_TREE_CUT || l->kind == SP_TREE_NO_STACK)
		return SP_HTML_NOTE;
	if (l->kind == SP_TREE_RUN)
		return KIND_FOLDED;
	return l->flags & SP_FRAMEF_KERNEL    ? SP_HTML_KERNEL
	       : l->flags & SP_FRAMEF_GUESSED ? SP_HTML_GUESSED
					      : SP_HTML_USER;
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
	return sp_hash_bytes(text, strlen(text), seed);
}

/* Of names and build ids, because numbers differ between answers. */
static uint64_t hash_label(const struct sp_tree_columns *s, const struct sp_tree_label *l)
{
	const struct sp_file *f = sp_profile_file(s->p, l->library);
	uint64_t h = hash_text(label_name(s, l), label_kind(l) + UINT64_C(1));

	h = hash_text(l->library ? sp_api_library_name(s->p, l->library) : "", h);
	return sp_hash_bytes(f->build_id, SP_MIN(f->build_id_len, SP_BUILD_ID_MAX), h);
}

/* --- which nodes are written --- */
struct out_node {
	uint32_t depth, entity;
	uint64_t id;
	double self[SP_API_COLUMNS];
};
struct shaping {
	struct sp_tree_columns *s;
	const struct sp_tree *t;
	uint64_t *ids;      /* by node */
	uint8_t *keep;      /* by node: 0 = left out; see mark_find_next_kept() */
	int64_t *entity_of; /* by label; -1 = not made yet */
	struct out_node *nodes;
	size_t n_nodes, capacity;
	uint32_t root; /* 0: none, or it is not in this tree */
};

enum { ID_BITS = 53 }; /* exact as a double, which numbers in JSON are */

static int find_ids(struct shaping *g, uint64_t root)
{
	const struct sp_tree *t = g->t;
	SP_FREE uint64_t *labels = calloc(t->n_labels + 1U, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n_labels; i++)
		labels[i] = hash_label(g->s, &t->labels[i]);
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		uint64_t pair[2] = {g->ids[t->nodes[i].parent], labels[t->nodes[i].label]};
		g->ids[i] = sp_hash_bytes(pair, sizeof(pair), 1) >> (64 - ID_BITS);
		if (root != 0 && g->ids[i] == root)
			g->root = i;
	}
	return 0;
}

static bool is_wide(const struct sp_tree_node *n, const struct sp_tree_node *of, double least, bool has_second)
{
	return (n->total > 0 && (double)n->total >= least * (double)of->total) ||
	       (has_second && n->second_total > 0 && (double)n->second_total >= least * (double)of->second_total);
}

/* Sets keep[]: 1 = wide enough; 2 = the root, or wide enough below it. */
static void mark_kept(struct shaping *g, double least)
{
	const struct sp_tree *t = g->t;
	const struct sp_tree_node *all = &t->nodes[0], *root = &t->nodes[g->root];

	g->keep[0] = 1;
	for (uint32_t i = g->root; i != 0; i = t->nodes[i].parent)
		g->keep[i] = i == g->root ? 2 : 1;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		const struct sp_tree_node *n = &t->nodes[i];
		uint8_t above = g->keep[n->parent];
		if (g->keep[i] == 0 && above != 0 && is_wide(n, above == 2 ? root : all, least, g->s->has_second))
			g->keep[i] = above;
	}
}

/* --- nodes in preorder --- */
static int64_t add_label_entity(struct sp_tree_columns *s, const struct sp_tree_label *l)
{
	uint32_t n = sp_intern_count(s->t.entities);
	int64_t entity = sp_html_add_entity(&s->t, label_name(s, l), l->library, l->func, label_kind(l));

	if (entity != n)
		return entity;
	if (sp_grow(&s->label_of, &s->label_capacity, (size_t)n + 1, sizeof(*s->label_of)) < 0)
		return -ENOMEM;
	s->label_of[n] = *l;
	return entity;
}

static int64_t get_entity(struct shaping *g, uint32_t label)
{
	const struct sp_tree_label *l = &g->t->labels[label];

	if (g->entity_of[label] < 0)
		g->entity_of[label] = add_label_entity(g->s, l);
	return g->entity_of[label];
}

static double samples_per(int64_t n_samples, int64_t value)
{
	return value > 0 ? (double)n_samples / (double)value : 0;
}

static void set_values(const struct shaping *g, struct out_node *to, double value, double second, double samples)
{
	const struct sp_tree_columns *s = g->s;

	to->self[0] = value;
	if (s->has_second) {
		to->self[1] = second;
		to->self[2] = value * s->columns[2].scale;
		to->self[3] = second * s->columns[3].scale;
	} else if (s->n_columns == 2) {
		to->self[1] = samples;
	}
}

/* A node's values without its kept children: its own, and what is left out below it. */
struct rest_values {
	double self, second_self, rest, second_rest, samples, samples_rest;
};

static struct rest_values sum_rest(const struct shaping *g, uint32_t i)
{
	const struct sp_tree_node *nodes = g->t->nodes, *n = &nodes[i];
	struct rest_values l = {.self = (double)n->self, .second_self = (double)n->second_self};
	double value = (double)n->total, second = (double)n->second_total, samples = (double)n->n_samples;

	for (uint32_t c = n->first; c != 0; c = nodes[c].next) {
		if (g->keep[c] == 0)
			continue;
		value -= (double)nodes[c].total;
		second -= (double)nodes[c].second_total;
		samples -= (double)nodes[c].n_samples;
	}
	l.rest = SP_MAX(value - l.self, 0);
	l.second_rest = SP_MAX(second - l.second_self, 0);
	l.samples = l.self + l.rest > 0 ? samples * l.self / (l.self + l.rest) : samples;
	l.samples_rest = samples - l.samples;
	return l;
}

static int append_node(struct shaping *g, const struct out_node *n)
{
	return SP_APPEND(g->nodes, g->n_nodes, g->capacity, *n);
}

static int enter_node(struct shaping *g, uint32_t i)
{
	struct rest_values l = sum_rest(g, i);
	int64_t entity = i == 0 ? 0 : get_entity(g, g->t->nodes[i].label);
	struct out_node n = {.depth = g->t->nodes[i].depth, .entity = (uint32_t)entity, .id = g->ids[i]};

	set_values(g, &n, l.self, l.second_self, l.samples);
	return entity < 0 ? (int)entity : append_node(g, &n);
}

static int leave_node(struct shaping *g, uint32_t i)
{
	struct rest_values l = sum_rest(g, i);

	if (l.rest <= 0 && l.second_rest <= 0)
		return 0;
	int64_t entity = sp_html_add_entity(&g->s->t, "[narrow]", 0, 0, KIND_NARROW);
	struct out_node n = {.depth = g->t->nodes[i].depth + 1, .entity = (uint32_t)entity};
	set_values(g, &n, l.rest, l.second_rest, l.samples_rest);
	return entity < 0 ? (int)entity : append_node(g, &n);
}

static uint32_t find_next_kept(const struct shaping *g, uint32_t i)
{
	while (i != 0 && g->keep[i] == 0)
		i = g->t->nodes[i].next;
	return i;
}

static int walk_nodes(struct shaping *g)
{
	const struct sp_tree_node *nodes = g->t->nodes;
	uint32_t i = 0, next = 0;
	int r = enter_node(g, 0);

	while (r == 0) {
		next = find_next_kept(g, nodes[i].first);
		while (r == 0 && next == 0) {
			r = leave_node(g, i);
			if (i == 0)
				return r;
			next = find_next_kept(g, nodes[i].next);
			i = nodes[i].parent;
		}
		i = next;
		r = r == 0 ? enter_node(g, i) : r;
	}
	return r;
}

/* --- JSON --- */
static void put_columns(const struct shaping *g, struct sp_json *j)
{
	sp_json_object(j, NULL);
	sp_json_int(j, "n", (int64_t)g->n_nodes);
	sp_json_uint(j, "root", g->root ? g->ids[g->root] : 0);
	sp_json_array(j, "depth");
	for (size_t i = 0; i < g->n_nodes; i++)
		sp_json_uint(j, NULL, g->nodes[i].depth);
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "entity");
	for (size_t i = 0; i < g->n_nodes; i++)
		sp_json_uint(j, NULL, g->nodes[i].entity);
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "id");
	for (size_t i = 0; i < g->n_nodes; i++)
		sp_json_uint(j, NULL, g->nodes[i].id);
	sp_json_end(j);
	sp_json_array(sp_json_line(j), "self");
	sp_json_lines(j);
	for (uint32_t v = 0; v < g->s->n_columns; v++) {
		sp_json_array(j, NULL);
		for (size_t i = 0; i < g->n_nodes; i++)
			sp_json_format(j, NULL, "%.0f", g->nodes[i].self[v]);
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_json_end(j);
}

static int shape(struct shaping *g, uint64_t root, double least)
{
	int r = find_ids(g, root);

	for (uint32_t i = 0; i < g->t->n_labels; i++)
		g->entity_of[i] = -1;
	if (r == 0) {
		mark_kept(g, least);
		r = walk_nodes(g);
	}
	return r;
}

/* The samples of a difference's nodes are their share of the value, which is exact while the rate is one. */
static void scale_samples(struct sp_tree_columns *s, const struct sp_profile *p)
{
	int64_t sums[SP_API_COLUMNS] = {0};

	for (uint32_t i = 0; s->has_second && i < sp_profile_n_rows(p); i++)
		for (uint32_t v = 0; v < SP_API_COLUMNS; v++)
			sums[v] += sp_profile_row(p, i)->values[s->columns[v].of];
	s->columns[2].scale = samples_per(sums[2], sums[0]);
	s->columns[3].scale = samples_per(sums[3], sums[1]);
}

int sp_tree_columns_put(struct sp_tree_columns *s, const struct sp_tree *t, uint64_t root, double least,
			struct sp_json *j)
{
	struct shaping g = {.s = s, .t = t};
	struct sp_api_column columns[SP_API_COLUMNS];

	memcpy(columns, s->columns, sizeof(columns));
	scale_samples(s, s->p);
	g.ids = calloc(t->n_nodes + 1U, sizeof(*g.ids));
	g.keep = calloc(t->n_nodes + 1U, sizeof(*g.keep));
	g.entity_of = calloc(t->n_labels + 1U, sizeof(*g.entity_of));
	int r = g.ids && g.keep && g.entity_of ? shape(&g, root, least) : -ENOMEM;
	if (r == 0)
		put_columns(&g, j);
	memcpy(s->columns, columns, sizeof(columns));
	free(g.ids);
	free(g.keep);
	free(g.entity_of);
	free(g.nodes);
	return r;
}

static void put_values(const struct sp_tree_columns *s, struct sp_json *j)
{
	sp_json_array(j, "values");
	for (uint32_t i = 0; i < s->n_columns; i++) {
		const struct sp_api_column *c = &s->columns[i];
		const struct sp_value_type *type = sp_profile_value_type(s->p, c->of);
		sp_html_put_value(j, sp_profile_string(s->p, type->name), sp_profile_string(s->p, type->unit), c->old);
	}
	sp_json_end(j);
	sp_json_ints(j, {"value", 0}, {"samples", s->samples});
	sp_json_line(j);
}

void sp_tree_columns_end(const struct sp_tree_columns *s, struct sp_json *j)
{
	put_values(s, j);
	sp_html_tables_put(&s->t, NULL, j);
	sp_json_int(j, "format", 2);
	sp_json_line(j);
}
