/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/part.h"

/* The nodes that rows end at and those above them, in the order of their numbers: slot 0 is the root. */
struct part {
	const struct sp_shape *shape;
	struct sp_part nodes;
	uint32_t n;
	uint32_t *parent, *run; /* by slot; run: where the neighbours of its library begin */
	struct sp_place *place;
	uint64_t *functions; /* bits of those on the path: most are not there twice, which this tells at once */
	int64_t *sums;       /* n_values each */
};

/* By file and by function: self and total of each value. */
struct accounts {
	int64_t *files, *funcs;
	uint32_t *library_of; /* by function: where it was met */
	uint32_t n_values;
};

void sp_sums_done(struct sp_sums *s)
{
	free(s->totals);
	*s = (struct sp_sums){0};
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static uint32_t slot_of(const struct part *p, uint32_t node)
{
	return sp_part_of(&p->nodes, node);
}

static int number_slots(struct part *p, const struct sp_window_rows *rows)
{
	int r = sp_part_begin(&p->nodes, p->shape->n_nodes);

	for (uint32_t i = 0; i < rows->n && r == 0; i++)
		sp_part_touch(&p->nodes, rows->node[i]);
	if (r == 0)
		sp_part_number(&p->nodes, &p->shape->nodes->parent, sizeof(*p->shape->nodes) / sizeof(uint32_t));
	p->n = p->nodes.n;
	return r;
}

static int fill_slots(struct part *p, int what)
{
	p->parent = calloc(p->n, sizeof(*p->parent));
	p->run = calloc(p->n, sizeof(*p->run));
	p->place = calloc(p->n, sizeof(*p->place));
	bool by_function = (what & SP_SUMS_FUNCTIONS) != 0;
	p->functions = by_function ? calloc(p->n, sizeof(*p->functions)) : NULL;
	if (p->parent == NULL || p->run == NULL || p->place == NULL || (by_function && p->functions == NULL))
		return -ENOMEM;
	p->place[0].library = SP_NO_LIBRARY;
	uint32_t slot = 0;
	for (uint32_t w = 0; w < p->nodes.n_words; w++)
		for (uint64_t bits = p->nodes.touched[w]; bits != 0; bits &= bits - 1, slot++) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(bits);
			if (node == 0)
				continue;
			p->parent[slot] = slot_of(p, p->shape->nodes[node].parent);
			p->place[slot] = p->shape->places[p->shape->nodes[node].frame];
		}
	return 0;
}

static void part_done(struct part *p)
{
	sp_part_done(&p->nodes);
	free(p->parent);
	free(p->run);
	free(p->place);
	free(p->functions);
	free(p->sums);
}

/* Is none of the slot's ancestors of its library? */
static bool is_first_of_library(struct part *p, uint32_t slot)
{
	uint32_t library = p->place[slot].library, at = p->parent[slot];

	p->run[slot] = p->place[at].library == library ? p->run[at] : slot;
	for (; at != 0; at = p->parent[p->run[at]])
		if (p->place[at].library == library)
			return false;
	return true;
}

static bool is_first_of_function(struct part *p, uint32_t slot)
{
	uint32_t func = p->place[slot].func, at = p->parent[slot];
	uint64_t bit = UINT64_C(1) << (func * UINT32_C(0x9e3779b9) >> 26), there = p->functions[at];

	p->functions[slot] = there | (func != 0 ? bit : 0);
	if (func == 0 || (there & bit) == 0)
		return func != 0;
	for (; at != 0; at = p->parent[at])
		if (p->place[at].func == func)
			return false;
	return true;
}

static void count_self(const struct part *p, const struct sp_window_rows *rows, struct accounts *a)
{
	for (uint32_t i = 0; i < rows->n; i++) {
		uint32_t slot = slot_of(p, rows->node[i]);
		uint32_t leaf = slot; /* the user's, if the kernel's stack has no frames */
		while (leaf != 0 && p->place[leaf].library == SP_NO_LIBRARY)
			leaf = p->parent[leaf];
		struct sp_place at = p->place[leaf];
		for (uint32_t v = 0; v < rows->n_values; v++) {
			int64_t value = rows->values[v][i];
			add(&p->sums[(size_t)slot * rows->n_values + v], value);
			if (at.library == SP_NO_LIBRARY) { /* no frames: nobody's */
				add(&a->files[2 * v], value);
				add(&a->files[2 * v + 1], value);
				continue;
			}
			add(&a->files[2 * ((size_t)at.library * a->n_values + v)], value);
			if (a->funcs != NULL && at.func != 0)
				add(&a->funcs[2 * ((size_t)at.func * a->n_values + v)], value);
		}
	}
}

static void count_total(struct part *p, struct accounts *a, int what)
{
	for (uint32_t slot = p->n - 1; slot > 0; slot--)
		for (uint32_t v = 0; v < a->n_values; v++)
			add(&p->sums[(size_t)p->parent[slot] * a->n_values + v],
			    p->sums[(size_t)slot * a->n_values + v]);
	for (uint32_t slot = 1; slot < p->n; slot++) {
		struct sp_place at = p->place[slot];
		const int64_t *sums = &p->sums[(size_t)slot * a->n_values];
		bool first =
		    (what & SP_SUMS_LIBRARIES) != 0 && is_first_of_library(p, slot) && at.library != SP_NO_LIBRARY;
		for (uint32_t v = 0; v < a->n_values && first; v++)
			add(&a->files[2 * ((size_t)at.library * a->n_values + v) + 1], sums[v]);
		if (a->funcs == NULL || !is_first_of_function(p, slot))
			continue;
		a->library_of[at.func] = at.library;
		for (uint32_t v = 0; v < a->n_values; v++)
			add(&a->funcs[2 * ((size_t)at.func * a->n_values + v) + 1], sums[v]);
	}
}

/* Of one account, if it has anything. */
static int take(struct sp_sums *s, uint32_t file, uint32_t func, const int64_t *account)
{
	struct sp_scan_total t = {.file = file, .func = func};
	bool any = false;

	for (uint32_t v = 0; v < s->n_values; v++) {
		t.self[v] = account[2 * v];
		t.total[v] = account[2 * v + 1];
		any |= t.self[v] != 0 || t.total[v] != 0;
	}
	int r = any ? sp_grow(&s->totals, &s->capacity, s->n + 1, sizeof(*s->totals)) : 0;
	if (r == 0 && any)
		s->totals[s->n++] = t;
	return r;
}

static int take_all(const struct accounts *a, const struct sp_shape *shape, int what, struct sp_sums *s)
{
	int r = 0;

	for (uint32_t i = 0; i < shape->n_files && r == 0 && (what & SP_SUMS_LIBRARIES) != 0; i++)
		r = take(s, i, 0, &a->files[2 * (size_t)i * a->n_values]);
	for (uint32_t i = 1; i < shape->n_funcs && r == 0 && a->funcs != NULL; i++)
		r = take(s, shape->file_of[i] != 0 ? shape->file_of[i] : a->library_of[i], i,
			 &a->funcs[2 * (size_t)i * a->n_values]);
	return r;
}

static int make(const struct sp_window_rows *rows, struct part *p, struct accounts *a, int what, struct sp_sums *s)
{
	int r = number_slots(p, rows);

	bool by_function = (what & SP_SUMS_FUNCTIONS) != 0;
	r = r < 0 ? r : fill_slots(p, what);
	if (r < 0)
		return r;
	p->sums = calloc((size_t)p->n * rows->n_values, sizeof(*p->sums));
	a->files = calloc(2 * (size_t)p->shape->n_files * rows->n_values, sizeof(*a->files));
	if (by_function) {
		a->funcs = calloc(2 * (size_t)p->shape->n_funcs * rows->n_values, sizeof(*a->funcs));
		a->library_of = calloc(p->shape->n_funcs, sizeof(*a->library_of));
	}
	if (p->sums == NULL || a->files == NULL || (by_function && (a->funcs == NULL || a->library_of == NULL)))
		return -ENOMEM;
	count_self(p, rows, a);
	count_total(p, a, what);
	return take_all(a, p->shape, what, s);
}

int sp_sums_make(const struct sp_window_rows *rows, const struct sp_shape *shape, int what, struct sp_sums *s)
{
	struct part p = {.shape = shape};
	struct accounts a = {.n_values = rows->n_values};

	s->n_values = rows->n_values;
	int r = make(rows, &p, &a, what, s);
	part_done(&p);
	free(a.files);
	free(a.funcs);
	free(a.library_of);
	return r;
}

/* --- records -------------------------------------------------------------------------------------------------------
 */
/* What all of value v are of the first value's; 0: they are not. */
static uint64_t factor_of(const struct sp_sums *s, uint32_t v)
{
	int64_t factor = 0, product;

	for (size_t i = 0; i < s->n && factor == 0 && v > 0; i++)
		if (s->totals[i].total[0] > 0)
			factor = s->totals[i].total[v] / s->totals[i].total[0];
	for (size_t i = 0; i < s->n && factor > 0; i++) {
		const struct sp_scan_total *t = &s->totals[i];
		if (__builtin_mul_overflow(t->self[0], factor, &product) || product != t->self[v] ||
		    __builtin_mul_overflow(t->total[0], factor, &product) || product != t->total[v])
			return 0;
	}
	return factor > 0 ? (uint64_t)factor : 0;
}

static void pack_value(const struct sp_sums *s, uint32_t v, uint64_t *column, struct sp_packer *p)
{
	for (size_t i = 0; i < s->n; i++)
		column[i] = sp_zigzag(s->totals[i].self[v]);
	sp_pack_u64(p, column, s->n);
	for (size_t i = 0; i < s->n; i++) /* mostly as much again */
		column[i] = sp_zigzag((int64_t)((uint64_t)s->totals[i].total[v] - (uint64_t)s->totals[i].self[v]));
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
		column[i] = s->totals[i].file;
	sp_pack_u64(p, column, s->n);
	for (size_t i = 0; i < s->n; last = s->totals[i++].func)
		column[i] = sp_zigzag((int64_t)(s->totals[i].func - last));
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
	if (factor == 0)
		sp_unpack_u64(u, column, s->n);
	for (size_t i = 0; i < s->n; i++)
		s->totals[i].self[v] =
		    factor == 0 ? sp_unzigzag(column[i]) : (int64_t)((uint64_t)s->totals[i].self[0] * factor);
	if (factor == 0)
		sp_unpack_u64(u, column, s->n);
	for (size_t i = 0; i < s->n; i++)
		s->totals[i].total[v] =
		    factor == 0 ? (int64_t)((uint64_t)s->totals[i].self[v] + (uint64_t)sp_unzigzag(column[i]))
				: (int64_t)((uint64_t)s->totals[i].total[0] * factor);
}

int sp_sums_unpack(struct sp_sums *s, struct sp_unpacker *u)
{
	size_t n = sp_unpack_length(u), capacity = 0;
	SP_FREE uint64_t *column = calloc(n + 1, sizeof(*column));
	uint64_t factors[SP_MAX_VALUES], func = 0;

	*s = (struct sp_sums){0};
	if (column == NULL || sp_grow(&s->totals, &capacity, n + 1, sizeof(*s->totals)) < 0)
		return -ENOMEM;
	s->n = n;
	sp_unpack_u64(u, column, n);
	for (size_t i = 0; i < n; i++)
		s->totals[i].file = (uint32_t)column[i];
	sp_unpack_u64(u, column, n);
	for (size_t i = 0; i < n; i++)
		s->totals[i].func = (uint32_t)(func += (uint64_t)sp_unzigzag(column[i]));
	size_t n_values = sp_unpack_length(u);
	if (n_values > SP_MAX_VALUES)
		return -EBADMSG;
	s->n_values = (uint32_t)n_values;
	sp_unpack_u64(u, factors, n_values);
	for (uint32_t v = 0; v < n_values; v++)
		unpack_value(s, v, v == 0 ? 0 : factors[v], column, u);
	return u->bad ? -EBADMSG : 0;
}
