/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls.c: see calls.h. */
#include "profile/calls.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/identity.h"
#include "profile/priv.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a counted function begins: what its samples are found by. Where that is not known (pprof), the function. */
struct place {
	uint32_t library, func;
	uint64_t start;
	int64_t self_ns, total_ns, outside_ns, n_outside;
	int64_t n_calls_outside;     /* by all names that are called here */
	uint32_t seen, seen_outside; /* the last row, +1, that was added to total and outside */
};
struct pair { /* of functions; summed */
	uint32_t callee, callee_file, func, file;
	bool is_outside, address_taken, untimed;
	int64_t n_calls;
};
struct timed { /* calls of a function that took so long; high 0: all its calls took n */
	uint32_t callee, callee_file;
	struct sp_called_range range;
};
struct job {
	const struct sp_profile *p;
	struct sp_identity same;
	struct timed *timed;
	size_t n_timed, timed_capacity;
	int calls, time, samples, counted, latency; /* indices of values, -1: there is none */
	struct pair *pairs;
	size_t n_pairs, pairs_capacity;
	struct place *places;
	size_t n_places, places_capacity;
	uint32_t *placed; /* by function: index + 1 */
};

static int value_of(const struct sp_profile *p, const char *name, const char *unit)
{
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *t = sp_profile_value_type(p, i);

		const char *its_name = sp_profile_string(p, t->name);

		if ((name ? !strcmp(its_name, name) : strcmp(its_name, "latency") != 0) &&
		    (!unit || !strcmp(sp_profile_string(p, t->unit), unit)))
			return (int)i;
	}
	return -1;
}

int sp_calls_table_value(const struct sp_profile *p)
{
	return value_of(p, "calls", "count");
}

/* --- calls ---------------------------------------------------------------------------------------------------------
 */
static int pair_add(struct job *j, const struct sp_row *row)
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

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->callee_file != y->callee_file)
		return x->callee_file < y->callee_file ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

static int pairs_make(struct job *j)
{
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++)
		if (sp_profile_row(j->p, i)->values[j->calls])
			r = pair_add(j, sp_profile_row(j->p, i));
	if (r < 0 || !j->n_pairs)
		return r;
	qsort(j->pairs, j->n_pairs, sizeof(*j->pairs), by_pair);
	for (size_t i = 1; i < j->n_pairs; i++) {
		if (by_pair(&j->pairs[n], &j->pairs[i])) {
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

/* --- times ---------------------------------------------------------------------------------------------------------
 */
static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->library != y->library)
		return x->library < y->library ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

static struct place place_of(const struct job *j, uint32_t library, uint32_t func)
{
	uint64_t start = sp_profile_func(j->p, func)->start;

	return (struct place){.library = library, .start = start, .func = start ? 0 : j->same.funcs[func]};
}

static int places_make(struct job *j)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < j->n_pairs && r >= 0; i++) {
		r = sp_grow(&j->places, &j->places_capacity, j->n_places + 1, sizeof(*j->places));
		if (r >= 0)
			j->places[j->n_places++] = place_of(j, j->pairs[i].callee_file, j->pairs[i].callee);
	}
	if (r < 0 || !j->n_places)
		return r;
	qsort(j->places, j->n_places, sizeof(*j->places), by_place);
	for (size_t i = 1; i < j->n_places; i++)
		if (by_place(&j->places[n], &j->places[i]))
			j->places[++n] = j->places[i];
	j->n_places = n + 1;
	return 0;
}

static struct place *place_find(const struct job *j, uint32_t library, uint32_t func)
{
	struct place key = place_of(j, library, func);

	return j->n_places ? bsearch(&key, j->places, j->n_places, sizeof(key), by_place) : NULL;
}

/* The functions that lie where a counted one does. */
static int functions_place(struct job *j)
{
	j->placed = calloc(sp_profile_n_funcs(j->p), sizeof(*j->placed));
	if (!j->placed)
		return -ENOMEM;
	for (uint32_t i = 1; i < sp_profile_n_funcs(j->p); i++) {
		uint32_t file = sp_profile_func(j->p, i)->file;
		struct place *p = place_find(j, sp_identity_library(j->p, &j->same, file), i);

		if (p)
			j->placed[i] = (uint32_t)(p - j->places) + 1;
	}
	return 0;
}

static void frame_add(struct job *j, const struct sp_stack *stack, uint32_t i, uint32_t row, const int64_t *values)
{
	const struct sp_frame *f = sp_profile_frame(j->p, stack->frames[i]);
	struct place *p = j->placed[f->func] ? &j->places[j->placed[f->func] - 1] : NULL;
	int64_t ns = values[j->time];

	if (!p)
		return;
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

static void sample_add(struct job *j, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(j->p, number);
	struct sp_stack stack = sp_profile_stack(j->p, row->user);
	uint32_t leaf = stack.n_frames && !row->kernel ? sp_profile_frame(j->p, stack.frames[0])->func : 0;

	if (j->placed[leaf])
		sp_saturating_add(&j->places[j->placed[leaf] - 1].self_ns, row->values[j->time]);
	for (uint32_t i = 0; i < stack.n_frames; i++)
		frame_add(j, &stack, i, number, row->values);
}

static int times_make(struct job *j, struct sp_calls_table *t)
{
	int r = places_make(j);

	for (size_t i = 0; i < j->n_pairs && r >= 0; i++)
		if (j->pairs[i].is_outside)
			sp_saturating_add(&place_find(j, j->pairs[i].callee_file, j->pairs[i].callee)->n_calls_outside,
					  j->pairs[i].n_calls);
	if (r >= 0)
		r = functions_place(j);
	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++) {
		const struct sp_row *row = sp_profile_row(j->p, i);

		if (row->values[j->time] <= 0)
			continue;
		sample_add(j, i);
		sp_saturating_add(&t->time_ns, row->values[j->time]);
		sp_saturating_add(&t->n_samples, j->samples < 0 ? 1 : row->values[j->samples]);
	}
	return r;
}

/* --- calls that were timed by themselves ----------------------------------------------------------------------------
 */
static int64_t label_of(const struct sp_profile *p, const struct sp_row *row, const char *name)
{
	size_t n = 0;
	const struct sp_label *labels = sp_profile_labels(p, sp_profile_key(p, row->key)->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(sp_profile_string(p, labels[i].name), name))
			return labels[i].number;
	return 0;
}

static int timed_add(struct job *j, const struct sp_row *row)
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
		t->range.low_ns = label_of(j->p, row, "latency_from");
		t->range.high_ns = SP_MAX(label_of(j->p, row, "latency_below"), t->range.low_ns + 1);
	}
	j->n_timed++;
	return 0;
}

static int by_range(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->callee_file != y->callee_file)
		return x->callee_file < y->callee_file ? -1 : 1;
	if (x->range.low_ns != y->range.low_ns)
		return x->range.low_ns < y->range.low_ns ? -1 : 1;
	return (x->range.high_ns > y->range.high_ns) - (x->range.high_ns < y->range.high_ns);
}

static int timed_make(struct job *j)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(j->p) && r >= 0; i++)
		r = timed_add(j, sp_profile_row(j->p, i));
	if (r >= 0 && j->n_timed)
		qsort(j->timed, j->n_timed, sizeof(*j->timed), by_range);
	return r;
}

/* What was timed of each function goes to its row; that of one range is added. */
static void ranges_put(const struct job *j, struct sp_calls_table *t, struct sp_called *c)
{
	size_t low = 0, high = j->n_timed;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct timed *m = &j->timed[middle];

		if (m->callee < c->func || (m->callee == c->func && m->callee_file < c->file))
			low = middle + 1;
		else
			high = middle;
	}
	c->ranges = &t->ranges[low];
	for (; low < j->n_timed && j->timed[low].callee == c->func && j->timed[low].callee_file == c->file; low++) {
		const struct sp_called_range *r = &j->timed[low].range;
		struct sp_called_range *last = c->n_ranges ? &c->ranges[c->n_ranges - 1] : NULL;

		sp_saturating_add(r->high_ns ? &c->n_timed : &c->timed_ns, r->n);
		if (last && last->low_ns == r->low_ns && last->high_ns == r->high_ns)
			sp_saturating_add(&last->n, r->n);
		else if (r->high_ns)
			c->ranges[c->n_ranges++] = *r;
	}
}

/* --- the table -----------------------------------------------------------------------------------------------------
 */
static int by_calls(const void *a, const void *b)
{
	const struct sp_called *x = a, *y = b;

	if (x->n_calls != y->n_calls)
		return x->n_calls > y->n_calls ? -1 : 1;
	return (x->func > y->func) - (x->func < y->func);
}

static int by_callers_calls(const void *a, const void *b)
{
	const struct sp_called_by *x = a, *y = b;

	if (x->n_calls != y->n_calls)
		return x->n_calls > y->n_calls ? -1 : 1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

static void caller_put(struct sp_calls_table *t, size_t i, const struct pair *pair)
{
	struct sp_called *c = t->n_rows ? &t->rows[t->n_rows - 1] : NULL;

	if (!c || c->func != pair->callee || c->file != pair->callee_file) {
		c = &t->rows[t->n_rows++];
		*c = (struct sp_called){.func = pair->callee, .file = pair->callee_file, .callers = &t->callers[i]};
	}
	t->callers[i] = (struct sp_called_by){
	    .func = pair->func, .file = pair->file, .is_outside = pair->is_outside, .n_calls = pair->n_calls};
	c->n_callers++;
	c->address_taken |= pair->address_taken;
	c->untimed |= pair->untimed;
	sp_saturating_add(&c->n_calls, pair->n_calls);
	if (pair->is_outside)
		sp_saturating_add(&c->n_outside, pair->n_calls);
	sp_saturating_add(&t->n_calls, pair->n_calls);
}

static void row_finish(const struct job *j, struct sp_called *c)
{
	const struct place *p = j->n_places ? place_find(j, c->file, c->func) : NULL;

	qsort(c->callers, c->n_callers, sizeof(*c->callers), by_callers_calls);
	if (!p)
		return;
	c->self_ns = p->self_ns;
	c->total_ns = p->total_ns;
	c->outside_ns = p->outside_ns;
	c->n_outside_samples = p->n_outside;
	c->n_place_outside = p->n_calls_outside;
}

static int table_fill(const struct job *j, struct sp_calls_table *t)
{
	t->rows = calloc(j->n_pairs + 1, sizeof(*t->rows));
	t->callers = calloc(j->n_pairs + 1, sizeof(*t->callers));
	t->ranges = calloc(j->n_timed + 1, sizeof(*t->ranges));
	if (!t->rows || !t->callers || !t->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_pairs; i++)
		caller_put(t, i, &j->pairs[i]);
	for (size_t i = 0; i < t->n_rows; i++) {
		row_finish(j, &t->rows[i]);
		ranges_put(j, t, &t->rows[i]);
	}
	qsort(t->rows, t->n_rows, sizeof(*t->rows), by_calls);
	return 0;
}

int sp_calls_table_new(const struct sp_profile *p, struct sp_calls_table *ret_table)
{
	struct job j = {.p = p,
			.calls = sp_calls_table_value(p),
			.time = value_of(p, NULL, "nanoseconds"),
			.samples = value_of(p, "samples", "count"),
			.counted = value_of(p, "timed", "count"),
			.latency = value_of(p, "latency", "nanoseconds")};
	struct sp_calls_table t = {0};
	int r = j.calls < 0 ? sp_fail_said(-ENODATA, "the profile has no counted calls") : 0;

	if (r >= 0)
		r = sp_identity_new(p, &j.same);
	if (r < 0)
		return r;
	r = pairs_make(&j);
	t.has_times = j.time >= 0;
	if (r >= 0 && t.has_times)
		r = times_make(&j, &t);
	t.has_latency = j.counted >= 0 && j.latency >= 0;
	if (r >= 0 && t.has_latency)
		r = timed_make(&j);
	if (r >= 0)
		r = table_fill(&j, &t);
	if (r < 0)
		sp_calls_table_done(&t);
	else
		*ret_table = t;
	sp_identity_done(&j.same);
	free(j.pairs);
	free(j.places);
	free(j.placed);
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

double sp_called_quantile(const struct sp_called *c, double share)
{
	double before = 0, wanted = share * (double)c->n_timed;

	for (size_t i = 0; i < c->n_ranges; i++) {
		const struct sp_called_range *r = &c->ranges[i];
		double n = (double)r->n;

		if (before + n >= wanted)
			return (double)r->low_ns + (double)(r->high_ns - r->low_ns) * (wanted - before) / n;
		before += n;
	}
	return -1;
}

/* Wilson and Hilferty, 1931: the cube root of a chi-squared number is nearly normal. */
static double poisson_bound(double n, double z)
{
	double root = 1 - 1 / (9 * n) + z / (3 * sqrt(n));

	return n > 0 && root > 0 ? n * root * root * root : 0;
}

bool sp_called_time(const struct sp_called *c, double *ret_ns, double *ret_low, double *ret_high)
{
	const double z = 1.959964;
	double n = (double)c->n_outside_samples, one;

	if (c->n_outside <= 0 || c->n_outside_samples <= 0)
		return false;
	*ret_ns = (double)c->outside_ns / (double)c->n_place_outside;
	one = *ret_ns / n;
	*ret_low = one * poisson_bound(n, -z);
	*ret_high = one * poisson_bound(n + 1, z);
	return true;
}
