/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/multiples.h"
#include "store/format/subtree.h"

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

/* --- from a call tree ---------------------------------------------------------------------------------------------
 * What passes through a library is under the nodes of it that have none of it above them. In the order of a walk
 * (a node, then all under it, child by child) that is told by one number for each library: where the end is of what is
 * under its last such node. So nodes are put in that order, and gone through once. Values are summed one at a time. */
/* By library, or by function: self and total of each value; and where in the walk it is over. */
struct accounts {
	int64_t *sums;
	uint32_t *end;
	uint32_t n;
};
enum { FIRST_OF_VALUE = 3 }; /* stages */
struct sp_sums_steps {
	struct sp_subtree_sums subtree;
	struct sp_multiples multiples;
	uint32_t *walk; /* nodes in the order of a walk */
	struct accounts files, funcs;
	uint32_t *library_of; /* by function: where it was met */
	uint32_t value;       /* that is summed: the last one first, so that the first one's sums stay in the nodes */
	uint32_t stage, at;
};
/* What a step works on. */
struct work {
	struct sp_sums_steps *sum;
	const struct sp_dict_view *shape;
	struct sp_window_rows rows; /* with values of their own only */
};

static int accounts_make(struct accounts *a, uint32_t n, uint32_t n_values)
{
	a->n = n;
	a->sums = calloc(2 * (size_t)n * n_values + 1, sizeof(*a->sums));
	a->end = calloc((size_t)n + 1, sizeof(*a->end));
	return a->sums == NULL || a->end == NULL ? -ENOMEM : 0;
}

static void accounts_done(struct accounts *a)
{
	free(a->sums);
	free(a->end);
}

/* Self (0) or total (1) of the value that is summed. */
static void account(const struct sp_sums_steps *sum, const struct accounts *a, uint32_t i, int which, int64_t value)
{
	sp_saturating_add(&a->sums[2 * ((size_t)i * sum->multiples.n_own + sum->value) + (size_t)which], value);
}

static int touch(struct work *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_touch(&w->sum->subtree, &w->rows, from, to);
	return 0;
}

static int reach(struct work *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_reach(&w->sum->subtree, w->shape->nodes, from, to);
	return 0;
}

static int fill(struct work *w, uint32_t from, uint32_t to)
{
	int r = from == 0 ? sp_subtree_sums_make(&w->sum->subtree) : 0;

	if (r == 0)
		sp_subtree_sums_fill(&w->sum->subtree, w->shape->nodes, from, to);
	return r;
}

static void add_row(const struct work *w, uint32_t node, int64_t value)
{
	const struct sp_sums_steps *sum = w->sum;
	const struct sp_subtree_sums *t = &sum->subtree;
	struct sp_frame_owner at = {.library = SP_NO_LIBRARY};

	sp_saturating_add(&t->nodes[node].under, value);
	for (uint32_t leaf = node; leaf != 0 && at.library == SP_NO_LIBRARY; leaf = t->parent[leaf])
		at = w->shape->places[t->nodes[leaf].frame];          /* the user's, if the kernel's has no frames */
	if (at.library == SP_NO_LIBRARY && sum->files.sums != NULL) { /* no frames: nobody's */
		account(sum, &sum->files, 0, 0, value);
		account(sum, &sum->files, 0, 1, value);
	}
	if (at.library != SP_NO_LIBRARY && sum->files.sums != NULL)
		account(sum, &sum->files, at.library, 0, value);
	if (at.library != SP_NO_LIBRARY && at.func != 0 && sum->funcs.sums != NULL)
		account(sum, &sum->funcs, at.func, 0, value);
}

static int add_rows(struct work *w, uint32_t from, uint32_t to)
{
	const int64_t *values = w->rows.values[w->sum->value];
	uint32_t nodes[SP_SUBTREE_AHEAD], n;

	for (uint32_t i = from; i < to; i += n) {
		n = sp_subtree_sums_of_rows(&w->sum->subtree, &w->rows, i, to, nodes);
		for (uint32_t k = 0; k < n; k++)
			add_row(w, nodes[k], values[i + k]);
	}
	return 0;
}

static int sum_up(struct work *w, uint32_t from, uint32_t to)
{
	sp_subtree_sums_add_up(&w->sum->subtree, from, to);
	return 0;
}

/* A node's room becomes where its next child has its place in the walk: in the end, where what is not under it begins.
 */
static int order(struct work *w, uint32_t from, uint32_t to)
{
	struct sp_sums_steps *sum = w->sum;
	struct sp_subtree_sum *nodes = sum->subtree.nodes;

	if (sum->walk == NULL)
		sum->walk = malloc(sum->subtree.n * sizeof(*sum->walk));
	if (sum->walk == NULL)
		return -ENOMEM;
	for (uint32_t node = from; node < to; node++) {
		uint32_t at = 0, n = nodes[node].room;
		__builtin_prefetch(&nodes[sum->subtree.parent[SP_MIN(node + SP_SUBTREE_AHEAD, sum->subtree.n - 1)]]);
		if (node > 0) {
			struct sp_subtree_sum *up = &nodes[sum->subtree.parent[node]];
			at = up->room;
			up->room += n;
		}
		nodes[node].room = at + 1;
		sum->walk[at] = node;
	}
	return 0;
}

/* The account's, if nothing of it is under way. */
static bool enter(const struct accounts *a, uint32_t i, uint32_t at, uint32_t end)
{
	if (at < a->end[i])
		return false;
	a->end[i] = end;
	return true;
}

static int go_through(struct work *w, uint32_t from, uint32_t to)
{
	const struct sp_sums_steps *sum = w->sum;
	const struct accounts *files = &sum->files, *funcs = &sum->funcs;

	for (uint32_t i = SP_MAX(from, 1); i < to; i++) {
		struct sp_subtree_sum node = sum->subtree.nodes[sum->walk[i]];
		struct sp_frame_owner at = w->shape->places[node.frame];
		__builtin_prefetch(&sum->subtree.nodes[sum->walk[SP_MIN(i + SP_SUBTREE_AHEAD, sum->subtree.n - 1)]]);
		if (files->sums != NULL && at.library != SP_NO_LIBRARY && enter(files, at.library, i, node.room))
			account(sum, files, at.library, 1, node.under);
		if (funcs->sums == NULL || at.func == 0 || !enter(funcs, at.func, i, node.room))
			continue;
		sum->library_of[at.func] = at.library;
		account(sum, funcs, at.func, 1, node.under);
	}
	return 0;
}

/* All that is to be done, in ranges of what it goes over. */
enum length { BY_ROW, BY_WORD, BY_TWIG };
static const struct stage {
	int (*range)(struct work *w, uint32_t from, uint32_t to);
	enum length length;
	uint32_t cost; /* of one of these */
} stages[] = {{touch, BY_ROW, 1},   {reach, BY_WORD, 8}, {fill, BY_WORD, 8},      {add_rows, BY_ROW, 1},
	      {sum_up, BY_TWIG, 1}, {order, BY_TWIG, 1}, {go_through, BY_TWIG, 1}};

static uint32_t length_of(const struct work *w, enum length length)
{
	return length == BY_ROW ? w->rows.n : length == BY_WORD ? w->sum->subtree.part.n_words : w->sum->subtree.n;
}

/* After the last stage, the one before it is summed. */
static void next_stage(struct sp_sums_steps *sum)
{
	sum->at = 0;
	sum->stage++;
	if (sum->stage < SP_COUNT(stages) || sum->value == 0)
		return;
	sum->value--;
	sum->stage = FIRST_OF_VALUE;
	sp_subtree_sums_clear(&sum->subtree);
	for (struct accounts *a = &sum->files; a != NULL; a = a == &sum->files ? &sum->funcs : NULL)
		if (a->end != NULL)
			memset(a->end, 0, a->n * sizeof(*a->end));
}

int sp_sums_steps_run(struct sp_sums_steps *sum, const struct sp_window_rows *rows, const struct sp_dict_view *shape,
		      uint32_t n)
{
	struct work w = {.sum = sum, .shape = shape, .rows = sp_multiples_own(&sum->multiples, rows)};
	int r = 0;

	while (n > 0 && r == 0 && sum->stage < SP_COUNT(stages)) {
		const struct stage *s = &stages[sum->stage];
		uint32_t left = length_of(&w, s->length) - sum->at, most = SP_MAX(n / s->cost, 1U),
			 now = SP_MIN(left, most);
		r = s->range(&w, sum->at, sum->at + now);
		sum->at += now;
		n -= SP_MIN(n, now * s->cost);
		if (now == left)
			next_stage(sum);
	}
	return r < 0 ? r : sum->stage < SP_COUNT(stages);
}

int sp_sums_steps_new(const struct sp_window_rows *rows, const struct sp_dict_view *shape, int what,
		      struct sp_sums_steps **ret_summing)
{
	struct sp_sums_steps *sum = calloc(1, sizeof(*sum));

	if (sum == NULL)
		return -ENOMEM;
	sum->multiples = sp_multiples_of(rows);
	sum->value = SP_MAX(sum->multiples.n_own, 1U) - 1;
	int r = sp_subtree_sums_begin(&sum->subtree, shape->n_nodes);
	if (r == 0 && (what & SP_SUMS_LIBRARIES) != 0)
		r = accounts_make(&sum->files, shape->n_files, sum->multiples.n_own);
	if (r == 0 && (what & SP_SUMS_FUNCTIONS) != 0) {
		r = accounts_make(&sum->funcs, shape->n_funcs, sum->multiples.n_own);
		sum->library_of = calloc((size_t)shape->n_funcs + 1, sizeof(*sum->library_of));
	}
	if (r < 0 || (sum->funcs.sums != NULL && sum->library_of == NULL)) {
		sp_sums_steps_free(sum);
		return -ENOMEM;
	}
	*ret_summing = sum;
	return 0;
}

void sp_sums_steps_free(struct sp_sums_steps *sum)
{
	if (sum == NULL)
		return;
	sp_subtree_sums_done(&sum->subtree);
	accounts_done(&sum->files);
	accounts_done(&sum->funcs);
	free(sum->walk);
	free(sum->library_of);
	free(sum);
}

struct sp_subtree_sums *sp_sums_steps_subtree(struct sp_sums_steps *sum)
{
	return &sum->subtree;
}

/* Of one account, if it has anything. */
static int take(struct sp_sums *s, uint32_t file, uint32_t func, const int64_t *own, const struct sp_multiples *m)
{
	bool any = false;

	for (uint32_t i = 0; i < 2 * m->n_own; i++)
		any |= own[i] != 0;
	int64_t *values = any ? sp_sums_add(s, file, func) : NULL;
	for (uint32_t v = 0; v < m->n_values && values != NULL; v++) {
		values[2 * v] = own[2 * m->of[v]] * m->factor[v];
		values[2 * v + 1] = own[2 * m->of[v] + 1] * m->factor[v];
	}
	return any && values == NULL ? -ENOMEM : 0;
}

int sp_sums_of_libraries(const int64_t *accounts, uint32_t n_files, uint32_t n_values, struct sp_sums *s)
{
	struct sp_multiples none = sp_multiples_none(n_values);
	int r = 0;

	s->n_values = n_values;
	for (uint32_t i = 0; i < n_files && r == 0; i++)
		r = take(s, i, 0, &accounts[2 * (size_t)i * n_values], &none);
	return r;
}

int sp_sums_steps_end(struct sp_sums_steps *sum, const uint32_t *file_of, struct sp_sums *s)
{
	const struct sp_multiples *m = &sum->multiples;
	const int64_t *files = sum->files.sums, *funcs = sum->funcs.sums;
	int r = 0;

	s->n_values = m->n_values;
	for (uint32_t i = 0; i < sum->files.n && r == 0; i++)
		r = take(s, i, 0, &files[2 * (size_t)i * m->n_own], m);
	for (uint32_t i = 1; i < sum->funcs.n && r == 0; i++)
		r = take(s, file_of[i] != 0 ? file_of[i] : sum->library_of[i], i, &funcs[2 * (size_t)i * m->n_own], m);
	return r;
}

int sp_sums_make(const struct sp_window_rows *rows, const struct sp_dict_view *shape, int what, struct sp_sums *s)
{
	struct sp_sums_steps *sum = NULL;
	int r = sp_sums_steps_new(rows, shape, what, &sum);

	while (r == 0 && (r = sp_sums_steps_run(sum, rows, shape, UINT32_MAX)) == 1)
		r = 0;
	r = r < 0 ? r : sp_sums_steps_end(sum, shape->file_of, s);
	sp_sums_steps_free(sum);
	return r;
}

/* --- records --- */
/* What all of value v are of the first value's; 0: they are not. */
static uint64_t factor_of(const struct sp_sums *s, uint32_t v)
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
	for (size_t i = 0; i < s->n; i++) { /* mostly as much again */
		const int64_t *sums = sp_sums_at(s, i) + 2 * (size_t)v;
		column[i] = sp_zigzag((int64_t)((uint64_t)sums[1] - (uint64_t)sums[0]));
	}
	sp_pack_u64(p, column, s->n);
}

void sp_sums_pack(const struct sp_sums *s, struct sp_packer *p)
{
	SP_FREE uint64_t *column = calloc(s->n + 1, sizeof(*column));
	uint64_t factors[SP_MAX_VALUES], last = 0;

	if (column == NULL) {
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
		factors[v] = factor_of(s, v);
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

/* Room for so many, which the values' number is needed for. */
static int make_room(struct sp_sums *s, size_t n, size_t n_values)
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
	if (column == NULL || sp_grow(&s->accounts, &s->capacity, n + 1, sizeof(*s->accounts)) < 0)
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
	int r = make_room(s, n, n_values);
	if (r < 0)
		return r;
	sp_unpack_u64(u, factors, n_values);
	for (uint32_t v = 0; v < n_values; v++)
		unpack_value(s, v, v == 0 ? 0 : factors[v], column, u);
	return u->bad ? -EBADMSG : 0;
}
