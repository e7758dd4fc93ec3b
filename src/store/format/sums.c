/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/sums.h"

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/multiples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sp_sums_done(struct sp_sums *s)
{
	free(s->accounts);
	free(s->values);
	*s = (struct sp_sums){0};
}

int64_t *sp_sums_add(struct sp_sums *s, uint32_t file, uint32_t func)
{
	size_t each = 2 * (size_t)s->n_values;

	if (sp_grow(&s->accounts, &s->capacity, s->n + 1, sizeof(*s->accounts)) < 0 ||
	    sp_grow(&s->values, &s->value_capacity, (s->n + 1) * each + 1, sizeof(*s->values)) < 0)
		return NULL;
	s->accounts[s->n] = (struct sp_account){file, func};
	return memset(sp_sums_at(s, s->n++), 0, each * sizeof(*s->values));
}

/* --- from a call tree --- */
/*
 * The total of a library is the sum of its topmost nodes: those with no node of it above them. In a walk (a node, then
 * its children's subtrees one by one) a node is topmost if the subtree of the last topmost one has ended. So nodes are
 * ordered by the walk and gone through once, with one number for each library. Values are summed one at a time.
 */
/* By library or function: self and total of each value; where its last topmost node ends in the walk. */
struct account_table {
	int64_t *sums;
	uint32_t *end;
	uint32_t n;
};
enum { FIRST_OF_VALUE = 3 }; /* index in stages */
struct sp_sums_steps {
	struct sp_subtree_sums tree;
	struct sp_multiples multiples;
	uint32_t *walk; /* nodes in the order of a walk */
	struct account_table files, funcs;
	uint32_t *library_of; /* by function: the library of its frames */
	uint32_t value;       /* the current one; the first one comes last, since the nodes keep its sums */
	uint32_t stage, at;
};
struct step {
	struct sp_sums_steps *steps;
	const struct sp_dict_view *view;
	struct sp_window_rows rows; /* with base values only */
};

static int account_table_init(struct account_table *a, uint32_t n, uint32_t n_values)
{
	a->n = n;
	a->sums = calloc(2 * (size_t)n * n_values + 1, sizeof(*a->sums));
	a->end = calloc((size_t)n + 1, sizeof(*a->end));
	return !a->sums || !a->end ? -ENOMEM : 0;
}

static void account_table_done(struct account_table *a)
{
	free(a->sums);
	free(a->end);
}

/* which: 0 = self, 1 = total. */
static void add_to_account(const struct sp_sums_steps *steps, const struct account_table *a, uint32_t i, int which,
			   int64_t value)
{
	sp_saturating_add(&a->sums[2 * ((size_t)i * steps->multiples.n_base + steps->value) + (size_t)which], value);
}

static int select_rows(struct step *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_select_rows(&w->steps->tree, &w->rows, from, to);
	return 0;
}

static int select_ancestors(struct step *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_select_ancestors(&w->steps->tree, w->view->nodes, from, to);
	return 0;
}

static int fill_nodes(struct step *w, uint32_t from, uint32_t to)
{
	int r = from == 0 ? sp_subtree_sums_alloc(&w->steps->tree) : 0;

	if (r == 0)
		sp_subtree_sums_fill(&w->steps->tree, w->view->nodes, from, to);
	return r;
}

static void add_row(const struct step *w, uint32_t node, int64_t value)
{
	const struct sp_sums_steps *steps = w->steps;
	const struct sp_subtree_sums *t = &steps->tree;
	struct sp_frame_owner at = {.library = SP_NO_LIBRARY};

	sp_saturating_add(&t->nodes[node].under, value);
	for (uint32_t leaf = node; leaf != 0 && at.library == SP_NO_LIBRARY; leaf = t->parent[leaf])
		at = w->view->owners[t->nodes[leaf].frame];     /* skips the mark of a kernel stack without frames */
	if (at.library == SP_NO_LIBRARY && steps->files.sums) { /* no frames at all: counted for file 0 */
		add_to_account(steps, &steps->files, 0, 0, value);
		add_to_account(steps, &steps->files, 0, 1, value);
	}
	if (at.library != SP_NO_LIBRARY && steps->files.sums)
		add_to_account(steps, &steps->files, at.library, 0, value);
	if (at.library != SP_NO_LIBRARY && at.func != 0 && steps->funcs.sums)
		add_to_account(steps, &steps->funcs, at.func, 0, value);
}

static int add_rows(struct step *w, uint32_t from, uint32_t to)
{
	const int64_t *values = w->rows.values[w->steps->value];
	uint32_t nodes[SP_PREFETCH_NODES], n;

	for (uint32_t i = from; i < to; i += n) {
		n = sp_subtree_sums_find_rows(&w->steps->tree, &w->rows, i, to, nodes);
		for (uint32_t k = 0; k < n; k++)
			add_row(w, nodes[k], values[i + k]);
	}
	return 0;
}

static int sum_up_nodes(struct step *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_sum_up(&w->steps->tree, from, to);
	return 0;
}

/* Gives each node its place in the walk, by the subtrees' sizes; walk_next then is the end of the node's subtree. */
static int order_walk(struct step *w, uint32_t from, uint32_t to)
{
	struct sp_sums_steps *steps = w->steps;
	struct sp_subtree_sum *nodes = steps->tree.nodes;

	if (!steps->walk)
		steps->walk = malloc(steps->tree.n * sizeof(*steps->walk));
	if (!steps->walk)
		return -ENOMEM;
	for (uint32_t node = from; node < to; node++) {
		uint32_t at = 0, n = nodes[node].size;
		__builtin_prefetch(&nodes[steps->tree.parent[SP_MIN(node + SP_PREFETCH_NODES, steps->tree.n - 1)]]);
		if (node > 0) {
			struct sp_subtree_sum *up = &nodes[steps->tree.parent[node]];
			at = up->walk_next;
			up->walk_next += n;
		}
		nodes[node].walk_next = at + 1;
		steps->walk[at] = node;
	}
	return 0;
}

/* False: the walk is below another node of this account, whose sum includes this one. */
static bool enter_account(const struct account_table *a, uint32_t i, uint32_t at, uint32_t end)
{
	if (at < a->end[i])
		return false;
	a->end[i] = end;
	return true;
}

static int sum_walk(struct step *w, uint32_t from, uint32_t to)
{
	const struct sp_sums_steps *steps = w->steps;
	const struct account_table *files = &steps->files, *funcs = &steps->funcs;

	for (uint32_t i = SP_MAX(from, 1); i < to; i++) {
		struct sp_subtree_sum node = steps->tree.nodes[steps->walk[i]];
		struct sp_frame_owner at = w->view->owners[node.frame];
		__builtin_prefetch(&steps->tree.nodes[steps->walk[SP_MIN(i + SP_PREFETCH_NODES, steps->tree.n - 1)]]);
		if (files->sums && at.library != SP_NO_LIBRARY && enter_account(files, at.library, i, node.walk_next))
			add_to_account(steps, files, at.library, 1, node.under);
		if (!funcs->sums || at.func == 0 || !enter_account(funcs, at.func, i, node.walk_next))
			continue;
		steps->library_of[at.func] = at.library;
		add_to_account(steps, funcs, at.func, 1, node.under);
	}
	return 0;
}

/* All stages; each goes over rows, words or nodes, in ranges. */
enum unit { BY_ROW, BY_WORD, BY_NODE };
static const struct stage {
	int (*range)(struct step *w, uint32_t from, uint32_t to);
	enum unit unit;
	uint32_t cost; /* of one unit */
} stages[] = {{select_rows, BY_ROW, 1}, {select_ancestors, BY_WORD, 8}, {fill_nodes, BY_WORD, 8},
	      {add_rows, BY_ROW, 1},    {sum_up_nodes, BY_NODE, 1},     {order_walk, BY_NODE, 1},
	      {sum_walk, BY_NODE, 1}};

static uint32_t unit_count(const struct step *w, enum unit unit)
{
	return unit == BY_ROW ? w->rows.n : unit == BY_WORD ? w->steps->tree.subtree.n_words : w->steps->tree.n;
}

/* After the last stage the next value follows (from the last to the first). */
static void begin_next_stage(struct sp_sums_steps *steps)
{
	steps->at = 0;
	steps->stage++;
	if (steps->stage < SP_COUNT(stages) || steps->value == 0)
		return;
	steps->value--;
	steps->stage = FIRST_OF_VALUE;
	sp_subtree_sums_clear(&steps->tree);
	for (struct account_table *a = &steps->files; a; a = a == &steps->files ? &steps->funcs : NULL)
		if (a->end)
			memset(a->end, 0, a->n * sizeof(*a->end));
}

int sp_sums_steps_run(struct sp_sums_steps *steps, const struct sp_window_rows *rows, const struct sp_dict_view *view,
		      uint32_t n)
{
	struct step w = {.steps = steps, .view = view, .rows = sp_multiples_base_rows(&steps->multiples, rows)};
	int r = 0;

	while (n > 0 && r == 0 && steps->stage < SP_COUNT(stages)) {
		const struct stage *s = &stages[steps->stage];
		uint32_t left = unit_count(&w, s->unit) - steps->at, most = SP_MAX(n / s->cost, 1U),
			 now = SP_MIN(left, most);
		r = s->range(&w, steps->at, steps->at + now);
		steps->at += now;
		n -= SP_MIN(n, now * s->cost);
		if (now == left)
			begin_next_stage(steps);
	}
	return r < 0 ? r : steps->stage < SP_COUNT(stages);
}

int sp_sums_steps_new(const struct sp_window_rows *rows, const struct sp_dict_view *view, int what,
		      struct sp_sums_steps **ret_steps)
{
	struct sp_sums_steps *steps = calloc(1, sizeof(*steps));

	if (!steps)
		return -ENOMEM;
	steps->multiples = sp_multiples_of(rows);
	steps->value = SP_MAX(steps->multiples.n_base, 1U) - 1;
	int r = sp_subtree_sums_init(&steps->tree, view->n_nodes);
	if (r == 0 && (what & SP_SUMS_LIBRARIES) != 0)
		r = account_table_init(&steps->files, view->n_files, steps->multiples.n_base);
	if (r == 0 && (what & SP_SUMS_FUNCTIONS) != 0) {
		r = account_table_init(&steps->funcs, view->n_funcs, steps->multiples.n_base);
		steps->library_of = calloc((size_t)view->n_funcs + 1, sizeof(*steps->library_of));
	}
	if (r < 0 || (steps->funcs.sums && !steps->library_of)) {
		sp_sums_steps_free(steps);
		return -ENOMEM;
	}
	*ret_steps = steps;
	return 0;
}

void sp_sums_steps_free(struct sp_sums_steps *steps)
{
	if (!steps)
		return;
	sp_subtree_sums_done(&steps->tree);
	account_table_done(&steps->files);
	account_table_done(&steps->funcs);
	free(steps->walk);
	free(steps->library_of);
	free(steps);
}

struct sp_subtree_sums *sp_sums_steps_subtree(struct sp_sums_steps *steps)
{
	return &steps->tree;
}

/* Appends an account, unless all its sums are 0. */
static int add_account(struct sp_sums *s, uint32_t file, uint32_t func, const int64_t *base,
		       const struct sp_multiples *m)
{
	bool any = false;

	for (uint32_t i = 0; i < 2 * m->n_base; i++)
		any |= base[i] != 0;
	int64_t *values = any ? sp_sums_add(s, file, func) : NULL;
	for (uint32_t v = 0; v < m->n_values && values; v++) {
		values[2 * v] = base[2 * m->base_of[v]] * m->factor[v];
		values[2 * v + 1] = base[2 * m->base_of[v] + 1] * m->factor[v];
	}
	return any && !values ? -ENOMEM : 0;
}

int sp_sums_of_libraries(const int64_t *accounts, uint32_t n_files, uint32_t n_values, struct sp_sums *s)
{
	struct sp_multiples none = sp_multiples_none(n_values);
	int r = 0;

	s->n_values = n_values;
	for (uint32_t i = 0; i < n_files && r == 0; i++)
		r = add_account(s, i, 0, &accounts[2 * (size_t)i * n_values], &none);
	return r;
}

int sp_sums_steps_end(struct sp_sums_steps *steps, const uint32_t *file_of, struct sp_sums *s)
{
	const struct sp_multiples *m = &steps->multiples;
	const int64_t *files = steps->files.sums, *funcs = steps->funcs.sums;
	int r = 0;

	s->n_values = m->n_values;
	for (uint32_t i = 0; i < steps->files.n && r == 0; i++)
		r = add_account(s, i, 0, &files[2 * (size_t)i * m->n_base], m);
	for (uint32_t i = 1; i < steps->funcs.n && r == 0; i++)
		r = add_account(s, file_of[i] != 0 ? file_of[i] : steps->library_of[i], i,
				&funcs[2 * (size_t)i * m->n_base], m);
	return r;
}

int sp_sums_of_rows(const struct sp_window_rows *rows, const struct sp_dict_view *view, int what, struct sp_sums *s)
{
	struct sp_sums_steps *steps = NULL;
	int r = sp_sums_steps_new(rows, view, what, &steps);

	while (r == 0 && (r = sp_sums_steps_run(steps, rows, view, UINT32_MAX)) == 1)
		r = 0;
	r = r < 0 ? r : sp_sums_steps_end(steps, view->file_of, s);
	sp_sums_steps_free(steps);
	return r;
}

/* --- records --- */
/* The factor by which value v's sums are all multiples of the first value's; 0: they are not. */
static uint64_t find_factor(const struct sp_sums *s, uint32_t v)
{
	int64_t factor = 0, product;

	for (size_t i = 0; i < s->n && factor == 0 && v > 0; i++)
		if (sp_sums_at(s, i)[1] > 0)
			factor = sp_sums_at(s, i)[2 * v + 1] / sp_sums_at(s, i)[1];
	for (size_t i = 0; i < s->n && factor > 0; i++) {
		const int64_t *sums = sp_sums_at(s, i);
		if (__builtin_mul_overflow(sums[0], factor, &product) || product != sums[2 * v] ||
		    __builtin_mul_overflow(sums[1], factor, &product) || product != sums[2 * v + 1])
			return 0;
	}
	return factor > 0 ? (uint64_t)factor : 0;
}

static void pack_value(const struct sp_sums *s, uint32_t v, uint64_t *column, struct sp_packer *p)
{
	for (size_t i = 0; i < s->n; i++)
		column[i] = sp_zigzag(sp_sums_at(s, i)[2 * v]);
	sp_pack_u64(p, column, s->n);
	for (size_t i = 0; i < s->n; i++) { /* total - self: often 0 */
		const int64_t *sums = sp_sums_at(s, i) + 2 * (size_t)v;
		column[i] = sp_zigzag((int64_t)((uint64_t)sums[1] - (uint64_t)sums[0]));
	}
	sp_pack_u64(p, column, s->n);
}

void sp_sums_pack(const struct sp_sums *s, struct sp_packer *p)
{
	SP_FREE uint64_t *column = calloc(s->n + 1, sizeof(*column));
	uint64_t factors[SP_MAX_VALUES], last = 0;

	if (!column) {
		sp_packer_fail(p, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		column[i] = s->accounts[i].file;
	sp_pack_u64(p, column, s->n);
	for (size_t i = 0; i < s->n; last = s->accounts[i++].func)
		column[i] = sp_zigzag((int64_t)(s->accounts[i].func - last));
	sp_pack_u64(p, column, s->n);
	for (uint32_t v = 0; v < s->n_values; v++)
		factors[v] = find_factor(s, v);
	sp_pack_u64(p, factors, s->n_values);
	for (uint32_t v = 0; v < s->n_values; v++)
		if (factors[v] == 0)
			pack_value(s, v, column, p);
}

static void unpack_value(struct sp_sums *s, uint32_t v, uint64_t factor, uint64_t *column, struct sp_unpacker *u)
{
	for (size_t which = 0; which < 2; which++) {
		if (factor == 0)
			sp_unpack_u64(u, column, s->n);
		for (size_t i = 0; i < s->n; i++) {
			int64_t *sums = sp_sums_at(s, i), *here = &sums[2 * v + which];
			uint64_t before = which == 0 ? 0 : (uint64_t)sums[2 * v];
			*here = (int64_t)(factor == 0 ? before + (uint64_t)sp_unzigzag(column[i])
						      : (uint64_t)sums[which] * factor);
		}
	}
}

static int reserve_sums(struct sp_sums *s, size_t n, size_t n_values)
{
	s->n_values = (uint32_t)n_values;
	if (sp_grow(&s->values, &s->value_capacity, n * 2 * n_values + 1, sizeof(*s->values)) < 0)
		return -ENOMEM;
	s->n = n;
	return 0;
}

int sp_sums_unpack(struct sp_sums *s, struct sp_unpacker *u)
{
	size_t n = sp_unpack_length(u);
	SP_FREE uint64_t *column = calloc(n + 1, sizeof(*column));
	uint64_t factors[SP_MAX_VALUES], func = 0;

	*s = (struct sp_sums){0};
	if (!column || sp_grow(&s->accounts, &s->capacity, n + 1, sizeof(*s->accounts)) < 0)
		return -ENOMEM;
	sp_unpack_u64(u, column, n);
	for (size_t i = 0; i < n; i++)
		s->accounts[i].file = (uint32_t)column[i];
	sp_unpack_u64(u, column, n);
	for (size_t i = 0; i < n; i++)
		s->accounts[i].func = (uint32_t)(func += (uint64_t)sp_unzigzag(column[i]));
	size_t n_values = sp_unpack_length(u);
	if (n_values > SP_MAX_VALUES)
		return -EBADMSG;
	int r = reserve_sums(s, n, n_values);
	if (r < 0)
		return r;
	sp_unpack_u64(u, factors, n_values);
	for (uint32_t v = 0; v < n_values; v++)
		unpack_value(s, v, v == 0 ? 0 : factors[v], column, u);
	return u->bad ? -EBADMSG : 0;
}
