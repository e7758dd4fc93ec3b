/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls.c: see calls.h. */
#include "profile/calls.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/identity.h"
#include "profile/priv.h"
#include "profile/values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The address where counted functions begin; samples are matched by it. In a profile without addresses (pprof), the
 * function stands for it.
 */
struct address {
	uint32_t library, func;
	uint64_t start;
	int64_t self_ns, total_ns, outside_ns, n_outside;
	int64_t n_calls_outside;     /* by all names of this address */
	uint32_t seen, seen_outside; /* the last row, +1, that was added to total_ns and outside_ns */
};
struct pair { /* callee and caller, with the sum of the calls */
	uint32_t callee, callee_file, func, file;
	bool is_outside, address_taken, untimed;
	int64_t n_calls;
};
struct timed { /* n calls of a function took low_ns to high_ns; high_ns 0: n is the sum of the ns of all calls */
	uint32_t callee, callee_file;
	struct sp_latency_range range;
};
struct join {
	const struct sp_profile *p;
	struct sp_identity same;
	struct timed *timed;
	size_t n_timed, timed_capacity;
	int calls, time, samples, counted, latency; /* indices of values; -1: no such value */
	struct pair *pairs;
	size_t n_pairs, pairs_capacity;
	struct address *addresses; /* sorted */
	size_t n_addresses, addresses_capacity;
	uint32_t *address_of; /* by function: index + 1; 0: no counted function begins there */
	bool *calls_any;      /* by process: a counted function is in one of its stacks */
};

/* The first value in nanoseconds but that of timed calls. */
static int time_value_find(const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *t = sp_profile_value_type(p, i);
		if (strcmp(sp_profile_string(p, t->unit), "nanoseconds") == 0 &&
		    strcmp(sp_profile_string(p, t->name), "latency") != 0)
			return (int)i;
	}
	return -1;
}

int sp_calls_table_value(const struct sp_profile *p)
{
	return sp_profile_find_value(p, "calls", "count");
}

/* --- calls --- */
static int calls_pair_add(struct join *j, const struct sp_row *row)
{
	struct sp_stack stack = sp_profile_stack(j->p, row->user);
	const uint32_t *f = stack.frames;
	struct pair pair = {.n_calls = row->values[j->calls]};
	int r = stack.n_frames ? sp_grow(&j->pairs, &j->pairs_capacity, j->n_pairs + 1, sizeof(*j->pairs)) : 0;

	if (r < 0 || !stack.n_frames)
		return r;
	pair.callee = j->same.function_of[f[0]];
	pair.callee_file = j->same.library_of[f[0]];
	pair.address_taken = sp_profile_frame(j->p, f[0])->flags & SP_FRAMEF_ADDRESS_TAKEN;
	pair.untimed = sp_profile_frame(j->p, f[0])->flags & SP_FRAMEF_UNTIMED;
	if (stack.n_frames > 1) {
		pair.func = j->same.function_of[f[1]];
		pair.file = j->same.library_of[f[1]];
		pair.is_outside = pair.file != pair.callee_file;
	}
	j->pairs[j->n_pairs++] = pair;
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return SP_RISING(x->callee, y->callee)
	       ?: SP_RISING(x->callee_file, y->callee_file)
	       ?: SP_RISING(x->file, y->file)
	       ?: SP_RISING(x->func, y->func);
}

static int calls_pairs_make(struct join *j)
{
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++)
		if (sp_profile_row(j->p, i)->values[j->calls])
			r = calls_pair_add(j, sp_profile_row(j->p, i));
	if (r < 0 || !j->n_pairs)
		return r;
	qsort(j->pairs, j->n_pairs, sizeof(*j->pairs), compare_pairs);
	for (size_t i = 1; i < j->n_pairs; i++) {
		if (compare_pairs(&j->pairs[n], &j->pairs[i])) {
			j->pairs[++n] = j->pairs[i];
			continue;
		}
		sp_saturating_add(&j->pairs[n].n_calls, j->pairs[i].n_calls);
		j->pairs[n].address_taken |= j->pairs[i].address_taken;
		j->pairs[n].untimed |= j->pairs[i].untimed;
	}
	j->n_pairs = n + 1;
	return 0;
}

/* --- times --- */
static int compare_addresses(const void *a, const void *b)
{
	const struct address *x = a, *y = b;

	return SP_RISING(x->library, y->library) ?: SP_RISING(x->start, y->start) ?: SP_RISING(x->func, y->func);
}

static struct address function_address(const struct join *j, uint32_t library, uint32_t func)
{
	uint64_t start = sp_profile_func(j->p, func)->start;

	return (struct address){.library = library, .start = start, .func = start ? 0 : j->same.funcs[func]};
}

static int calls_addresses_make(struct join *j)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < j->n_pairs && r >= 0; i++) {
		r = sp_grow(&j->addresses, &j->addresses_capacity, j->n_addresses + 1, sizeof(*j->addresses));
		if (r >= 0)
			j->addresses[j->n_addresses++] =
			    function_address(j, j->pairs[i].callee_file, j->pairs[i].callee);
	}
	if (r < 0 || !j->n_addresses)
		return r;
	qsort(j->addresses, j->n_addresses, sizeof(*j->addresses), compare_addresses);
	for (size_t i = 1; i < j->n_addresses; i++)
		if (compare_addresses(&j->addresses[n], &j->addresses[i]))
			j->addresses[++n] = j->addresses[i];
	j->n_addresses = n + 1;
	return 0;
}

static struct address *calls_address_find(const struct join *j, uint32_t library, uint32_t func)
{
	struct address key = function_address(j, library, func);

	return j->n_addresses ? bsearch(&key, j->addresses, j->n_addresses, sizeof(key), compare_addresses) : NULL;
}

/* Finds the functions that begin at the address of a counted one. */
static int calls_functions_match(struct join *j)
{
	j->address_of = calloc(sp_profile_n_funcs(j->p), sizeof(*j->address_of));
	if (!j->address_of)
		return -ENOMEM;
	for (uint32_t i = 1; i < sp_profile_n_funcs(j->p); i++) {
		uint32_t file = sp_profile_func(j->p, i)->file;
		struct address *p = calls_address_find(j, sp_identity_library(j->p, &j->same, file), i);

		if (p)
			j->address_of[i] = (uint32_t)(p - j->addresses) + 1;
	}
	return 0;
}

static void calls_frame_add(struct join *j, const struct sp_stack *stack, uint32_t i, uint32_t row,
			    const int64_t *values)
{
	const struct sp_frame *f = sp_profile_frame(j->p, stack->frames[i]);
	struct address *p = j->address_of[f->func] ? &j->addresses[j->address_of[f->func] - 1] : NULL;
	int64_t ns = values[j->time];

	if (!p)
		return;
	j->calls_any[sp_profile_key(j->p, sp_profile_row(j->p, row)->key)->process] = true;
	if (p->seen != row + 1)
		sp_saturating_add(&p->total_ns, ns);
	p->seen = row + 1;
	if (i + 1 >= stack->n_frames || j->same.library_of[stack->frames[i + 1]] == p->library ||
	    p->seen_outside == row + 1)
		return;
	p->seen_outside = row + 1;
	sp_saturating_add(&p->outside_ns, ns);
	sp_saturating_add(&p->n_outside, j->samples < 0 ? 1 : values[j->samples]);
}

static void calls_sample_add(struct join *j, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(j->p, number);
	struct sp_stack stack = sp_profile_stack(j->p, row->user);
	uint32_t leaf = stack.n_frames && !row->kernel ? sp_profile_frame(j->p, stack.frames[0])->func : 0;

	if (j->address_of[leaf])
		sp_saturating_add(&j->addresses[j->address_of[leaf] - 1].self_ns, row->values[j->time]);
	for (uint32_t i = 0; i < stack.n_frames; i++)
		calls_frame_add(j, &stack, i, number, row->values);
}

/*
 * Which part of the samples, of processes that call what is counted, came without a user stack. They are as many of
 * each function as of all, as far as is known.
 */
static double calls_missed_share(const struct join *j)
{
	double n = 0, n_missed = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(j->p); i++) {
		const struct sp_row *row = sp_profile_row(j->p, i);

		if (row->values[j->time] <= 0 || !j->calls_any[sp_profile_key(j->p, row->key)->process])
			continue;
		n += (double)row->values[j->time];
		n_missed += row->user ? 0 : (double)row->values[j->time];
	}
	return n > 0 ? n_missed / n : 0;
}

static int calls_times_make(struct join *j, struct sp_calls_table *t)
{
	int r = calls_addresses_make(j);

	j->calls_any = calloc(sp_profile_n_processes(j->p) + 1, sizeof(*j->calls_any));
	if (r >= 0 && !j->calls_any)
		r = -ENOMEM;

	for (size_t i = 0; i < j->n_pairs && r >= 0; i++)
		if (j->pairs[i].is_outside)
			sp_saturating_add(
			    &calls_address_find(j, j->pairs[i].callee_file, j->pairs[i].callee)->n_calls_outside,
			    j->pairs[i].n_calls);
	if (r >= 0)
		r = calls_functions_match(j);
	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++) {
		const struct sp_row *row = sp_profile_row(j->p, i);

		if (row->values[j->time] <= 0)
			continue;
		calls_sample_add(j, i);
		sp_saturating_add(&t->time_ns, row->values[j->time]);
		sp_saturating_add(&t->n_samples, j->samples < 0 ? 1 : row->values[j->samples]);
	}
	t->missed_share = r < 0 ? 0 : calls_missed_share(j);
	return r;
}

/* --- latency: calls that were timed one by one --- */
static int64_t row_label_number(const struct sp_profile *p, const struct sp_row *row, const char *name)
{
	size_t n = 0;
	const struct sp_label *labels = sp_profile_labels(p, sp_profile_key(p, row->key)->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(sp_profile_string(p, labels[i].name), name))
			return labels[i].number;
	return 0;
}

static int calls_timed_add(struct join *j, const struct sp_row *row)
{
	struct sp_stack stack = sp_profile_stack(j->p, row->user);
	int64_t n = row->values[j->counted], ns = row->values[j->latency];
	int r =
	    stack.n_frames && (n || ns) ? sp_grow(&j->timed, &j->timed_capacity, j->n_timed + 1, sizeof(*j->timed)) : 0;
	struct timed *t = &j->timed[j->n_timed];

	if (r < 0 || !stack.n_frames || (!n && !ns))
		return r;
	*t = (struct timed){.callee = j->same.function_of[stack.frames[0]],
			    .callee_file = j->same.library_of[stack.frames[0]],
			    .range.n = n ? n : ns};
	if (n) {
		t->range.low_ns = row_label_number(j->p, row, "latency_from");
		t->range.high_ns = SP_MAX(row_label_number(j->p, row, "latency_below"), t->range.low_ns + 1);
	}
	j->n_timed++;
	return 0;
}

static int compare_timed(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return SP_RISING(x->callee, y->callee)
	       ?: SP_RISING(x->callee_file, y->callee_file)
	       ?: SP_RISING(x->range.low_ns, y->range.low_ns)
	       ?: SP_RISING(x->range.high_ns, y->range.high_ns);
}

static int calls_timed_make(struct join *j)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++)
		r = calls_timed_add(j, sp_profile_row(j->p, i));
	if (r >= 0 && j->n_timed)
		qsort(j->timed, j->n_timed, sizeof(*j->timed), compare_timed);
	return r;
}

/* Moves the timed calls of a function to its row; equal ranges are added up. */
static void callee_ranges_set(const struct join *j, struct sp_calls_table *t, struct sp_callee *c)
{
	const struct timed *m = j->timed;
	size_t at =
	    SP_N_WHILE(j->n_timed, i, m[i].callee < c->func || (m[i].callee == c->func && m[i].callee_file < c->file));

	c->ranges = &t->ranges[at];
	for (; at < j->n_timed && m[at].callee == c->func && m[at].callee_file == c->file; at++) {
		const struct sp_latency_range *r = &m[at].range;
		struct sp_latency_range *last = c->n_ranges ? &c->ranges[c->n_ranges - 1] : NULL;

		sp_saturating_add(r->high_ns ? &c->n_timed : &c->timed_ns, r->n);
		if (last && last->low_ns == r->low_ns && last->high_ns == r->high_ns)
			sp_saturating_add(&last->n, r->n);
		else if (r->high_ns)
			c->ranges[c->n_ranges++] = *r;
	}
}

/* --- the table --- */
static int compare_callees(const void *a, const void *b)
{
	const struct sp_callee *x = a, *y = b;

	return SP_FALLING(x->n_calls, y->n_calls) ?: SP_RISING(x->func, y->func);
}

static int compare_callers(const void *a, const void *b)
{
	const struct sp_callee_caller *x = a, *y = b;

	return SP_FALLING(x->n_calls, y->n_calls) ?: SP_RISING(x->func, y->func) ?: SP_RISING(x->file, y->file);
}

static void callee_caller_add(struct sp_calls_table *t, size_t i, const struct pair *pair)
{
	struct sp_callee *c = t->n_rows ? &t->rows[t->n_rows - 1] : NULL;

	if (!c || c->func != pair->callee || c->file != pair->callee_file) {
		c = &t->rows[t->n_rows++];
		*c = (struct sp_callee){.func = pair->callee, .file = pair->callee_file, .callers = &t->callers[i]};
	}
	t->callers[i] = (struct sp_callee_caller){
	    .func = pair->func, .file = pair->file, .is_outside = pair->is_outside, .n_calls = pair->n_calls};
	c->n_callers++;
	c->address_taken |= pair->address_taken;
	c->untimed |= pair->untimed;
	sp_saturating_add(&c->n_calls, pair->n_calls);
	if (pair->is_outside)
		sp_saturating_add(&c->n_outside, pair->n_calls);
	sp_saturating_add(&t->n_calls, pair->n_calls);
}

static void callee_finish(const struct join *j, struct sp_callee *c)
{
	const struct address *p = j->n_addresses ? calls_address_find(j, c->file, c->func) : NULL;

	qsort(c->callers, c->n_callers, sizeof(*c->callers), compare_callers);
	if (!p)
		return;
	c->self_ns = p->self_ns;
	c->total_ns = p->total_ns;
	c->outside_ns = p->outside_ns;
	c->n_outside_samples = p->n_outside;
	c->n_address_outside = p->n_calls_outside;
}

static int calls_table_fill(const struct join *j, struct sp_calls_table *t)
{
	t->rows = calloc(j->n_pairs + 1, sizeof(*t->rows));
	t->callers = calloc(j->n_pairs + 1, sizeof(*t->callers));
	t->ranges = calloc(j->n_timed + 1, sizeof(*t->ranges));
	if (!t->rows || !t->callers || !t->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_pairs; i++)
		callee_caller_add(t, i, &j->pairs[i]);
	for (size_t i = 0; i < t->n_rows; i++) {
		callee_finish(j, &t->rows[i]);
		t->rows[i].missed_share = t->missed_share;
		callee_ranges_set(j, t, &t->rows[i]);
	}
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_callees);
	return 0;
}

int sp_calls_table_new(const struct sp_profile *p, struct sp_calls_table *ret_table)
{
	struct join j = {.p = p,
			 .calls = sp_calls_table_value(p),
			 .time = time_value_find(p),
			 .samples = sp_profile_find_value(p, "samples", "count"),
			 .counted = sp_profile_find_value(p, "timed", "count"),
			 .latency = sp_profile_find_value(p, "latency", "nanoseconds")};
	struct sp_calls_table t = {0};
	int r = j.calls < 0 ? sp_fail_said(-ENODATA, "the profile has no counted calls") : 0;

	if (r >= 0)
		r = sp_identity_new(p, &j.same);
	if (r < 0)
		return r;
	r = calls_pairs_make(&j);
	t.has_times = j.time >= 0;
	if (r >= 0 && t.has_times)
		r = calls_times_make(&j, &t);
	t.has_latency = j.counted >= 0 && j.latency >= 0;
	if (r >= 0 && t.has_latency)
		r = calls_timed_make(&j);
	if (r >= 0)
		r = calls_table_fill(&j, &t);
	if (r < 0)
		sp_calls_table_done(&t);
	else
		*ret_table = t;
	sp_identity_done(&j.same);
	free(j.pairs);
	free(j.addresses);
	free(j.address_of);
	free(j.calls_any);
	free(j.timed);
	return r;
}

void sp_calls_table_done(struct sp_calls_table *t)
{
	free(t->rows);
	free(t->callers);
	free(t->ranges);
	*t = (struct sp_calls_table){0};
}

double sp_callee_quantile(const struct sp_callee *c, double share)
{
	double before = 0, wanted = share * (double)c->n_timed;

	for (size_t i = 0; i < c->n_ranges; i++) {
		const struct sp_latency_range *r = &c->ranges[i];
		double n = (double)r->n;

		if (before + n >= wanted)
			return (double)r->low_ns + (double)(r->high_ns - r->low_ns) * (wanted - before) / n;
		before += n;
	}
	return -1;
}

/* Wilson and Hilferty, 1931: the cube root of a chi-squared variable is nearly normal. */
static double poisson_bound(double n, double z)
{
	double root = 1 - 1 / (9 * n) + z / (3 * sqrt(n));

	return n > 0 && root > 0 ? n * root * root * root : 0;
}

bool sp_callee_time(const struct sp_callee *c, double *ret_ns, double *ret_low, double *ret_high)
{
	const double z = 1.959964;
	double n = (double)c->n_outside_samples, one;

	if (c->n_outside <= 0 || c->n_outside_samples <= 0)
		return false;
	*ret_ns = (double)c->outside_ns / (double)c->n_address_outside;
	one = *ret_ns / n;
	*ret_low = one * poisson_bound(n, -z);
	*ret_high = one * poisson_bound(n + 1, z) / (1 - c->missed_share);
	return true;
}
