/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_sums.c: sums of a joined profile's rows by library, function or stack, and the variances of these sums. */
#include "base/intern.h"
#include "base/mem.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "profile/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SELF, TOTAL, N_SUMS };
/*
 * Slices are put into BATCHES to 2 * BATCHES batches; to measure the growth of variances, into a half and a quarter
 * of that.
 */
enum { BATCHES = 20, MIN_BATCHES = 5, N_SIZES = 3 };

/* The identity of a group of rows. Interned, so without padding. */
struct group {
	uint32_t id, second_id, none;
};

/* The self or total of one group on one side: exact, as statistics, and as batches of slices. */
struct sum {
	int64_t exact;
	struct sp_noise_side noise;
	double batch;             /* sum of the current batch */
	double squares, products; /* sums over the finished batches: batch^2, batch * whole of the batch */
};

struct group_sums {
	const struct sp_diff *d;
	const struct sp_profile *p; /* d->joined */
	enum sp_diff_by by;
	struct sp_identity same;
	struct sp_intern *groups;
	struct sum (*sums)[N_SUMS][2]; /* by group */
	uint32_t *seen_in;             /* by group: the visit that had it last */
	size_t sums_capacity, seen_capacity;
	uint32_t *of_item;    /* LIBRARY, FUNCTION: frame to group; STACK: row to group */
	uint32_t *row_groups; /* the groups of a row, the leaf's first, each once */
	size_t n_row_groups, row_groups_capacity;
	uint32_t *batch_groups; /* the groups of the current batch */
	size_t n_batch_groups, batch_groups_capacity;
	uint32_t visit;
	uint32_t *order; /* rows by slice */
	struct sp_noise_whole whole[2];
};

/* --- groups --- */
static int64_t group_number(struct group_sums *f, struct group g)
{
	size_t n = sp_intern_count(f->groups);
	int r = sp_grow(&f->seen_in, &f->seen_capacity, n + 1, sizeof(*f->seen_in));

	return r < 0 ? r
		     : sp_intern_add_to(f->groups, &g, sizeof(g), &f->sums, &f->sums_capacity, sizeof(*f->sums), NULL);
}

static struct group group_of_frame(const struct group_sums *f, uint32_t number)
{
	uint32_t library = f->same.library_of[number], func = f->same.function_of[number];
	uint32_t file = sp_identity_function_file(f->p, &f->same, number);

	if (f->by == SP_DIFF_BY_LIBRARY)
		return (struct group){.id = library, .none = library == 0};
	return (struct group){.id = func, .second_id = file, .none = func == 0 && file == 0};
}

static struct group group_of_row(const struct group_sums *f, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(f->p, number);

	return sp_profile_frames(f->p, row).n == 0 ? (struct group){.none = true}
						   : (struct group){.id = row->user, .second_id = row->kernel};
}

static int map_items(struct group_sums *f)
{
	bool frames = f->by != SP_DIFF_BY_STACK;
	uint32_t n = frames ? sp_profile_n_frames(f->p) : sp_profile_n_rows(f->p);

	f->of_item = calloc((size_t)n + 1, sizeof(*f->of_item));
	if (!f->of_item || sp_intern_new(&f->groups) < 0)
		return -ENOMEM;
	int64_t number = group_number(f, (struct group){.none = true});
	for (uint32_t i = 0; i < n && number >= 0; i++) {
		number = group_number(f, frames ? group_of_frame(f, i) : group_of_row(f, i));
		f->of_item[i] = (uint32_t)number;
	}
	return number < 0 ? (int)number : 0;
}

static int row_group_add(struct group_sums *f, uint32_t group)
{
	if (f->seen_in[group] == f->visit)
		return 0;
	f->seen_in[group] = f->visit;
	return SP_APPEND(f->row_groups, f->n_row_groups, f->row_groups_capacity, group);
}

static int row_groups_find(struct group_sums *f, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(f->p, number);
	const struct sp_frames frames = sp_profile_frames(f->p, row);
	int r = 0;

	f->n_row_groups = 0;
	f->visit++;
	if (f->by == SP_DIFF_BY_STACK)
		return row_group_add(f, f->of_item[number]);
	for (size_t i = 0; i < frames.n && r == 0; i++)
		r = row_group_add(f, f->of_item[sp_frames_at(&frames, i)]);
	return r == 0 && f->n_row_groups == 0 ? row_group_add(f, 0) : r;
}

/* --- sums --- */
/* The variance of a value v made of c samples is about v^2 / c. */
static double square_by_samples(const struct sp_row *row, int side)
{
	double v = (double)row->values[SP_DIFF_OLD + side], c = fabs((double)row->values[SP_DIFF_OLD_SAMPLES + side]);

	return v * v / fmax(c, 1);
}

static void group_sums_add(struct group_sums *f, const struct sp_row *row)
{
	for (int side = 0; side < 2; side++) {
		int64_t v = row->values[SP_DIFF_OLD + side];
		double q = square_by_samples(row, side), n = (double)row->values[SP_DIFF_OLD_SAMPLES + side];
		f->whole[side].x += (double)v;
		f->whole[side].q += q;
		f->whole[side].n_samples += n;
		for (size_t i = 0; i < f->n_row_groups; i++) {
			for (int k = i == 0 ? SELF : TOTAL; k < N_SUMS; k++) {
				struct sum *sum = &f->sums[f->row_groups[i]][k][side];
				sp_saturating_add(&sum->exact, v);
				sum->noise.x += (double)v;
				sum->noise.q += q;
				sum->noise.n += n;
			}
		}
	}
}

static int group_sums_add_rows(struct group_sums *f)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p) && r == 0; i++) {
		r = row_groups_find(f, i);
		if (r == 0)
			group_sums_add(f, sp_profile_row(f->p, i));
	}
	return r;
}

static int group_sums_make(struct group_sums *f)
{
	int r = sp_identity_new(f->p, &f->same);

	if (r == 0)
		r = map_items(f);
	return r == 0 ? group_sums_add_rows(f) : r;
}

static void group_sums_done(struct group_sums *f)
{
	sp_identity_done(&f->same);
	sp_intern_free(f->groups);
	free(f->sums);
	free(f->seen_in);
	free(f->of_item);
	free(f->row_groups);
	free(f->batch_groups);
	free(f->order);
}

/* --- variance from slices --- */
static uint32_t row_slice(const struct sp_profile *p, uint32_t row)
{
	return sp_profile_key(p, sp_profile_row(p, row)->key)->slice;
}

static int compare_slices(const void *left, const void *right, void *arg)
{
	uint32_t a = row_slice(arg, *(const uint32_t *)left), b = row_slice(arg, *(const uint32_t *)right);

	return (a > b) - (a < b);
}

static int order_by_slice(struct group_sums *f)
{
	uint32_t n = sp_profile_n_rows(f->p);

	f->order = calloc((size_t)n + 1, sizeof(*f->order));
	if (!f->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->order[i] = i;
	qsort_r(f->order, n, sizeof(*f->order), compare_slices, (void *)(uintptr_t)f->p);
	return 0;
}

/* One side's batches: the whole of the current one, and sums over the finished ones. */
struct batches {
	int side;
	double all, squares;
	uint32_t n; /* batches that are not empty */
};

static void end_batch(struct group_sums *f, struct batches *b)
{
	for (size_t i = 0; i < f->n_batch_groups; i++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sum = &f->sums[f->batch_groups[i]][k][b->side];
			sum->squares += sum->batch * sum->batch;
			sum->products += sum->batch * b->all;
			sum->batch = 0;
		}
	b->n += b->all != 0;
	b->squares += b->all * b->all;
	b->all = 0;
	f->n_batch_groups = 0;
}

/* A group may be listed more than once in a batch: end_batch() finds its sum 0 the second time. */
static int add_to_batch(struct group_sums *f, struct batches *b, uint32_t number)
{
	double v = (double)sp_profile_row(f->p, number)->values[SP_DIFF_OLD + b->side];
	int r = v != 0 ? row_groups_find(f, number) : 0;

	if (r < 0 || v == 0)
		return r;
	if (sp_grow(&f->batch_groups, &f->batch_groups_capacity, f->n_batch_groups + f->n_row_groups,
		    sizeof(*f->batch_groups)) < 0)
		return -ENOMEM;
	memcpy(f->batch_groups + f->n_batch_groups, f->row_groups, f->n_row_groups * sizeof(*f->row_groups));
	f->n_batch_groups += f->n_row_groups;
	b->all += v;
	for (size_t i = 0; i < f->n_row_groups; i++)
		for (int k = i == 0 ? SELF : TOTAL; k < N_SUMS; k++)
			f->sums[f->row_groups[i]][k][b->side].batch += v;
	return 0;
}

/* The variance of the sum of n batches is n times that of one. */
static double sum_variance(const struct group_sums *f, const struct sum *sum, const struct batches *b, uint32_t n)
{
	double all = f->whole[b->side].x, share = all > 0 ? sum->noise.x / all : 0, residuals;

	if (f->d->scale == SP_DIFF_ABSOLUTE)
		return fmax(sum->squares - sum->noise.x * sum->noise.x / n, 0) * n / (n - 1);
	residuals = sum->squares - 2 * share * sum->products + share * share * b->squares;
	return all > 0 ? fmax(residuals, 0) * n / (n - 1) / (all * all) : 0;
}

static void batches_set_variance(struct group_sums *f, const struct batches *b, uint32_t each)
{
	uint32_t idle_too = (f->d->n_slices[b->side] + each - 1) / each;
	uint32_t n = f->d->scale == SP_DIFF_ABSOLUTE ? idle_too : b->n;

	for (uint32_t g = 0; g < sp_intern_count(f->groups); g++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sum = &f->sums[g][k][b->side];
			sum->noise.variance = n > 1 ? sum_variance(f, sum, b, n) : 0;
			sum->noise.freedom = n > 1 ? n - 1 : INFINITY;
			sum->squares = sum->products = 0;
		}
}

/* Sums batches of `each` slices, and sets the variances. */
static int sum_batches(struct group_sums *f, int side, uint32_t each)
{
	struct batches b = {.side = side};
	uint32_t batch = 0;
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p) && r == 0; i++) {
		uint32_t slice = row_slice(f->p, f->order[i]), of = slice == 0 ? 0 : (slice - 1) / each + 1;
		if (of != batch)
			end_batch(f, &b);
		batch = of;
		r = add_to_batch(f, &b, f->order[i]);
	}
	end_batch(f, &b);
	batches_set_variance(f, &b, each);
	return r;
}

static uint32_t slices_of_batch(const struct sp_diff *d, int side)
{
	return SP_MAX(d->n_slices[side] / BATCHES, 1U);
}

/* Sums of evenly filled slices hardly vary, but the samples of two recordings are still two random draws. */
static void variance_at_least_counts(struct sp_noise_side *s)
{
	if (s->variance < s->q) {
		s->variance = s->q;
		s->freedom = INFINITY;
	}
}

static int variance_from_slices(struct group_sums *f)
{
	int r = order_by_slice(f);

	for (int side = 0; side < 2 && r == 0; side++)
		r = sum_batches(f, side, slices_of_batch(f->d, side));
	for (uint32_t g = 0; g < sp_intern_count(f->groups) && r == 0; g++)
		for (int k = 0; k < N_SUMS; k++)
			for (int side = 0; side < 2; side++) {
				struct sp_noise_side *s = &f->sums[g][k][side].noise;
				sp_noise_grow(s, f->d->growth[f->d->scale]);
				if (f->d->scale == SP_DIFF_ABSOLUTE)
					variance_at_least_counts(s);
			}
	return r;
}

/* --- growth of variances with the size of batches --- */
/* The sum of the variances of all groups' self on both sides, in batches of `times` the usual number of slices. */
static int variance_of_batches(struct group_sums *f, uint32_t times, double *ret_variance)
{
	int r = 0;

	*ret_variance = 0;
	for (int side = 0; side < 2 && r == 0; side++) {
		r = sum_batches(f, side, times * slices_of_batch(f->d, side));
		for (uint32_t g = 0; g < sp_intern_count(f->groups) && r == 0; g++)
			*ret_variance += f->sums[g][SELF][side].noise.variance;
	}
	return r;
}

/* The number of batches of the side that has fewer. */
static uint32_t batches_count(const struct sp_diff *d)
{
	return SP_MIN(d->n_slices[0] / slices_of_batch(d, 0), d->n_slices[1] / slices_of_batch(d, 1));
}

int sp_diff_find_growth(const struct sp_diff *d, enum sp_diff_by by, double *ret_growth)
{
	struct group_sums f = {.d = d, .p = d->joined, .by = by};
	double at[N_SIZES] = {0};
	size_t n = 0;
	int r = group_sums_make(&f);

	if (r == 0)
		r = order_by_slice(&f);
	for (; n < N_SIZES && r == 0 && batches_count(d) >> n >= MIN_BATCHES; n++)
		r = variance_of_batches(&f, 1U << n, &at[n]);
	*ret_growth = sp_noise_growth(at, n);
	group_sums_done(&f);
	return r == 0 && n > 0 && at[0] <= 0 ? -EAGAIN : r;
}

/* --- variance from counts --- */
static void variance_from_counts(struct group_sums *f)
{
	for (uint32_t g = 0; g < sp_intern_count(f->groups); g++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sums = f->sums[g][k];
			struct sp_noise_side sides[] = {sums[0].noise, sums[1].noise};
			sp_noise_set_from_counts(f->d, sides, f->whole);
			sums[0].noise = sides[0];
			sums[1].noise = sides[1];
		}
}

/* --- the result --- */
static struct sp_diff_row diff_row_of_group(const struct group_sums *f, uint32_t number)
{
	const struct group *g = sp_intern_get(f->groups, number, NULL);
	struct sp_diff_row row = {.id = g->id, .second_id = g->second_id, .none = g->none};
	struct sum(*sums)[2] = f->sums[number];
	struct sp_change *changes[] = {[SELF] = &row.self, [TOTAL] = &row.total};

	row.old_self = sums[SELF][0].exact;
	row.new_self = sums[SELF][1].exact;
	row.old_total = sums[TOTAL][0].exact;
	row.new_total = sums[TOTAL][1].exact;
	for (int k = 0; k < N_SUMS; k++) {
		const struct sp_noise_side sides[] = {sums[k][0].noise, sums[k][1].noise};
		double chance = sp_noise_change(f->d->scale, sides, f->whole, changes[k]);
		changes[k]->q = chance;
	}
	return row;
}

static int diff_rows_list(struct group_sums *f, struct sp_diff_rows *ret_rows)
{
	uint32_t n = sp_intern_count(f->groups);
	struct sp_diff_rows rows = {.rows = calloc(n, sizeof(*rows.rows))};

	if (!rows.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (f->seen_in[i] != 0)
			rows.rows[rows.n_rows++] = diff_row_of_group(f, i);
	*ret_rows = rows;
	return 0;
}

/* --- the whole --- */
int sp_diff_sum_rows(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows)
{
	struct group_sums f = {.d = d, .p = d->joined, .by = by};
	int r = group_sums_make(&f);

	if (r == 0 && d->method == SP_DIFF_FROM_SLICES)
		r = variance_from_slices(&f);
	else if (r == 0)
		variance_from_counts(&f);
	if (r == 0)
		r = diff_rows_list(&f, ret_rows);
	group_sums_done(&f);
	return r;
}

int sp_diff_pairs(const struct sp_diff *d, enum sp_diff_by by, bool total, struct sp_noise_pair **ret_pairs,
		  size_t *ret_n)
{
	struct group_sums f = {.d = d, .p = d->joined, .by = by};
	SP_FREE struct sp_noise_pair *pairs = NULL;
	int r = group_sums_make(&f);
	uint32_t n = r == 0 ? sp_intern_count(f.groups) : 0;

	if (r == 0) {
		pairs = calloc((size_t)n + 1, sizeof(*pairs));
		r = !pairs ? -ENOMEM : 0;
	}
	for (uint32_t g = 0; g < n && r == 0; g++) {
		const struct sum *s = f.sums[g][total ? TOTAL : SELF];
		pairs[g] = (struct sp_noise_pair){.x = {s[0].noise.x, s[1].noise.x},
						  .variance = {s[0].noise.q, s[1].noise.q},
						  .samples = s[0].noise.n + s[1].noise.n};
	}
	group_sums_done(&f);
	if (r < 0)
		return r;
	*ret_pairs = sp_take_ptr(pairs);
	*ret_n = n;
	return 0;
}
