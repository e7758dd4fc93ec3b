/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_rows.c: what the kernel has counted, summed up by function and who called. */
#include "cmd/calls/machine_rows.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "proc/cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct row_key {
	uint64_t function, life;
	uint32_t who, pid;
};

int sp_machine_rows_new(struct sp_machine_rows *r)
{
	int e = sp_intern_new_bare(&r->keys);

	if (e >= 0)
		e = sp_intern_new(&r->whos);
	if (e >= 0)
		e = (int)SP_MIN(sp_intern_add(r->whos, "", 0), 0); /* number 0 */
	return e;
}

void sp_machine_rows_done(struct sp_machine_rows *r)
{
	free(r->rows);
	sp_intern_free(r->keys);
	sp_intern_free(r->whos);
}

uint32_t sp_machine_n_rows(const struct sp_machine_rows *r)
{
	return sp_intern_count(r->keys);
}

static void sum_add(struct sp_machine_sum *to, const struct sp_counted *row)
{
	to->n_calls += row->who.n_calls;
	to->times.sum_ns += row->times.sum_ns;
	to->times.max_ns = SP_MAX(to->times.max_ns, row->times.max_ns);
	to->times.least = SP_MAX(to->times.least, row->times.least);
	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++)
		to->times.n[i] += row->times.n[i];
}

/* --- who --- */
struct reading {
	struct sp_machine_rows *rows;
	struct sp_counting *relieved; /* rows of processes that have ended are taken out; NULL: they are not */
	struct sp_cgroups *cgroups;
	struct { /* a caller's rows wait until all sites have names */
		struct sp_counted row;
		uint32_t site;
		bool is_over;
	} * waiting;
	size_t n_waiting, capacity;
};

static int64_t who_is(const struct sp_machine_rows *r, const char *text)
{
	return sp_intern_add(r->whos, text, strlen(text));
}

static int64_t cgroup_of(struct reading *g, uint64_t id)
{
	const char *path = "";
	char text[40];

	if (!g->cgroups && sp_cgroups_new(&g->cgroups) < 0)
		sp_error_clear();
	if (g->cgroups)
		path = sp_cgroups_path(g->cgroups, id);
	snprintf(text, sizeof(text), "[cgroup %" PRIu64 "]", id);
	return who_is(g->rows, *path ? path : text);
}

static int64_t who_of(struct reading *g, const struct sp_counted *row)
{
	char comm[SP_COMM_LEN + 1] = "", user[16];

	memcpy(comm, row->who.comm, SP_COMM_LEN);
	switch (g->rows->by) {
	case SP_MACHINE_BY_PROCESS:
	case SP_MACHINE_BY_COMM:
		return who_is(g->rows, comm);
	case SP_MACHINE_BY_USER:
		snprintf(user, sizeof(user), "%" PRIu32, row->key.uid); /* names are looked up for what is shown */
		return who_is(g->rows, user);
	case SP_MACHINE_BY_CGROUP:
		return cgroup_of(g, row->who.cgroup);
	default:
		return 0;
	}
}

/* --- rows --- */
static uint32_t function_of(const struct sp_machine_rows *r, const struct sp_counted *row)
{
	if (row->places.function.is_known)
		return sp_machine_function_at(r->targets, &row->places.function);
	return row->key.function < sp_machine_n_functions(r->targets) ? (uint32_t)row->key.function : UINT32_MAX;
}

/* A library is the first of its functions that has been met: builds of one name are one row each. */
static uint32_t library_of(const struct sp_machine_rows *r, uint32_t function)
{
	const struct sp_machine_function *all = r->targets->functions, *f = &all[function];

	for (uint32_t i = 0; i < function; i++)
		if (!strcmp(all[i].build_id, f->build_id) && !strcmp(all[i].library, f->library) &&
		    (*f->build_id || !strcmp(all[i].path, f->path)))
			return i;
	return function;
}

static int row_add(struct sp_machine_rows *r, uint32_t function, uint32_t who, const struct sp_counted *row,
		   bool is_over)
{
	bool by_process = r->by == SP_MACHINE_BY_PROCESS, by_library = r->by == SP_MACHINE_BY_LIBRARY, is_new;
	uint32_t of = by_library ? library_of(r, function) : function;
	struct row_key key = {
	    .function = of, .who = who, .pid = by_process ? row->key.tgid : 0, .life = by_process ? row->key.life : 0};
	int64_t n =
	    sp_intern_add_to(r->keys, &key, sizeof(key), &r->rows, &r->rows_capacity, sizeof(*r->rows), &is_new);

	if (n < 0)
		return (int)n;
	if (is_new)
		r->rows[n] = (struct sp_machine_row){
		    .function = by_library ? UINT32_MAX : of, .of = of, .who = who, .pid = key.pid};
	sum_add(&r->rows[n].read, row);
	if (is_over)
		sum_add(&r->rows[n].over, row);
	return 0;
}

static int row_wait(struct reading *g, const struct sp_counted *row, bool is_over)
{
	static const struct sp_probed_place none;
	int64_t site = sp_machine_site(g->rows->callers, row->places.caller.is_known ? &row->places.caller : &none);
	int r = site < 0 ? (int)site : sp_grow(&g->waiting, &g->capacity, g->n_waiting + 1, sizeof(*g->waiting));

	if (r < 0)
		return r;
	g->waiting[g->n_waiting].row = *row;
	g->waiting[g->n_waiting].is_over = is_over;
	g->waiting[g->n_waiting++].site = (uint32_t)site;
	return 0;
}

/* It is read once more when the process has ended: it may have called meanwhile. */
static bool is_taken_out(const struct reading *g, const struct sp_counted *row, struct sp_counted *ret_last)
{
	return g->relieved && kill((pid_t)row->key.tgid, 0) < 0 && errno == ESRCH &&
	       sp_counting_take(g->relieved, row, ret_last) >= 0;
}

static int row_take(void *arg, const struct sp_counted *row)
{
	struct reading *g = arg;
	uint32_t function = function_of(g->rows, row);
	struct sp_counted last;
	bool is_over;
	int64_t who;

	if (function == UINT32_MAX) {
		g->rows->n_unplaced += row->who.n_calls;
		return 0;
	}
	is_over = is_taken_out(g, row, &last);
	row = is_over ? &last : row;
	if (g->rows->by == SP_MACHINE_BY_CALLER)
		return row_wait(g, row, is_over);
	who = who_of(g, row);
	return who < 0 ? (int)who : row_add(g->rows, function, (uint32_t)who, row, is_over);
}

static int waiting_add(struct reading *g)
{
	struct sp_machine_rows *rows = g->rows;
	int r = sp_machine_callers_name(rows->callers);

	for (size_t i = 0; i < g->n_waiting && r >= 0; i++) {
		const struct sp_machine_site *site = &rows->callers->sites[g->waiting[i].site];

		r = row_add(rows, function_of(rows, &g->waiting[i].row), site->caller, &g->waiting[i].row,
			    g->waiting[i].is_over);
	}
	return r;
}

/* --- what the numbers stand for --- */
static uint64_t grown(uint64_t now, uint64_t before, double times)
{
	return now > before ? (uint64_t)((double)(now - before) * times + 0.5) : 0;
}

static void row_grow(struct sp_machine_row *row, const struct sp_machine_sum *before,
		     const struct sp_machine_period *period)
{
	double by = period ? period->times : 1;
	uint64_t n = grown(row->read.n_calls, before->n_calls, by);

	row->all.n_calls += n;
	row->all.times.sum_ns += grown(row->read.times.sum_ns, before->times.sum_ns, by);
	row->all.times.max_ns = row->read.times.max_ns;
	row->all.times.least = row->read.times.least;
	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++)
		row->all.times.n[i] += grown(row->read.times.n[i], before->times.n[i], by);
	if (period) {
		row->estimated += (double)n;
		row->squares += (double)n * (double)n;
		row->products += (double)n * period->seconds;
	}
}

static int table_read(struct sp_machine_rows *r, struct sp_counting *counting)
{
	struct reading g = {.rows = r};
	int e;

	r->n_unplaced = 0;
	if (sp_machine_n_rows(r) < r->max_over && sp_counting_is_crowded(counting))
		g.relieved = counting;
	e = sp_counting_read(counting, row_take, &g);
	if (g.relieved)
		sp_counting_relieved(counting);
	if (e >= 0 && r->by == SP_MACHINE_BY_CALLER)
		e = waiting_add(&g);
	sp_cgroups_free(g.cgroups);
	free(g.waiting);
	return e;
}

int sp_machine_rows_read(struct sp_machine_rows *r, struct sp_counting *counting,
			 const struct sp_machine_period *period)
{
	static const struct sp_machine_sum none;
	uint32_t n = sp_machine_n_rows(r);
	SP_FREE struct sp_machine_sum *before = calloc((size_t)n + 1, sizeof(*before));
	int e = before ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && e >= 0; i++) {
		before[i] = r->rows[i].read;
		r->rows[i].read = r->rows[i].over;
	}
	if (e >= 0)
		e = table_read(r, counting);
	for (uint32_t i = 0; i < sp_machine_n_rows(r) && e >= 0; i++)
		row_grow(&r->rows[i], i < n ? &before[i] : &none, period);
	r->n_windows += period != NULL;
	r->seconds += period ? period->seconds : 0;
	r->seconds_squares += period ? period->seconds * period->seconds : 0;
	return e;
}

void sp_machine_rows_mark(struct sp_machine_rows *r)
{
	for (uint32_t i = 0; i < sp_machine_n_rows(r); i++)
		r->rows[i].before = r->rows[i].all;
}

/* Student's t at 97.5 %. */
static double student(uint32_t df)
{
	static const double few[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

	return df <= SP_COUNT(few) ? few[df - 1] : 1.96 + 2.5 / df;
}

/*
 * Each window has said how many its period had. How far these are from one rate for all, periods being of different
 * length, is how unsure their sum is.
 */
bool sp_machine_interval(const struct sp_machine_rows *r, const struct sp_machine_row *row, double *ret_low,
			 double *ret_high)
{
	double n = r->n_windows, sure = (double)row->all.n_calls - row->estimated, rate, variance, half;
	double seen = SP_MAX((double)row->read.n_calls, sure);

	if (row->estimated <= 0)
		return false;
	*ret_low = seen;
	*ret_high = INFINITY;
	if (r->n_windows < 2)
		return true;
	rate = row->estimated / r->seconds;
	variance = row->squares - 2 * rate * row->products + rate * rate * r->seconds_squares;
	variance = SP_MAX(variance, 0.0) * n / (n - 1);
	half = student(r->n_windows - 1) * sqrt(variance * (1 - r->window_share));
	*ret_low = SP_MAX(seen, (double)row->all.n_calls - half);
	*ret_high = (double)row->all.n_calls + half;
	return true;
}

struct sp_machine_sum sp_machine_since(const struct sp_machine_row *row)
{
	struct sp_machine_sum s = row->all;

	s.n_calls -= SP_MIN(row->before.n_calls, s.n_calls);
	s.times.sum_ns -= SP_MIN(row->before.times.sum_ns, s.times.sum_ns);
	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++)
		s.times.n[i] -= SP_MIN(row->before.times.n[i], s.times.n[i]);
	return s;
}

static uint64_t calls_of(const struct sp_machine_row *row, bool since)
{
	return row->all.n_calls - (since ? SP_MIN(row->before.n_calls, row->all.n_calls) : 0);
}

struct sorting {
	const struct sp_machine_row *rows;
	bool since;
};

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = calls_of(&s->rows[i], s->since), y = calls_of(&s->rows[j], s->since);

	if (x != y)
		return x < y ? 1 : -1;
	return (i > j) - (i < j);
}

int sp_machine_rows_sort(const struct sp_machine_rows *r, bool since, uint32_t **ret_order, size_t *ret_n)
{
	uint32_t n = sp_machine_n_rows(r), *order = calloc((size_t)n + 1, sizeof(*order));
	size_t n_order = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (calls_of(&r->rows[i], since))
			order[n_order++] = i;
	qsort_r(order, n_order, sizeof(*order), compare_rows, &(struct sorting){r->rows, since});
	*ret_order = order;
	*ret_n = n_order;
	return 0;
}
