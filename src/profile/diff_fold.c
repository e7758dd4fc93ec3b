/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_fold.c: the rows of a joined profile folded into groups, and what their values vary by. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/identity.h"
#include "profile/priv.h"

enum { SELF, TOTAL, N_SUMS };
/* Slices are taken together to so many batches, or up to twice as many; to see how variance grows, to half, a quarter.
 */
enum { BATCHES = 20, MIN_BATCHES = 5, N_SIZES = 3 };

/* What a group is, without padding: interned, it gives the group's number. */
struct group {
	uint32_t id, of, none;
};

/* One value of one group on one side: exactly, for statistics, and while batches of slices are summed. */
struct sum {
	int64_t exact;
	struct sp_noise_side noise;
	double batch;             /* of the batch under way */
	double squares, products; /* sums over batches: batch^2, batch * all of the batch */
};

struct rows {
	const struct sp_diff *d;
	const struct sp_profile *p; /* d->joined */
	enum sp_diff_by by;
	struct sp_identity same;
	struct sp_intern *groups;
	struct sum (*sums)[N_SUMS][2]; /* by group */
	uint32_t *seen_in;             /* by group: the visit that met it last */
	size_t sums_capacity, seen_capacity;
	uint32_t *of_item; /* LIBRARY, FUNCTION: frame to group; STACK: row to group */
	uint32_t *met;     /* the groups of a row, the leaf's first, each once */
	size_t n_met, met_capacity;
	uint32_t *touched; /* the groups of a batch */
	size_t n_touched, touched_capacity;
	uint32_t visit;
	uint32_t *order; /* rows by slice */
	struct sp_noise_whole whole[2];
};

/* --- groups ------------------------------------------------------------------------------------------------------- */
static int64_t group_number(struct rows *f, struct group g)
{
	uint32_t n = sp_intern_count(f->groups);
	int r = sp_grow(&f->sums, &f->sums_capacity, (size_t)n + 1, sizeof(*f->sums));

	if (r == 0)
		r = sp_grow(&f->seen_in, &f->seen_capacity, (size_t)n + 1, sizeof(*f->seen_in));
	return r < 0 ? r : sp_intern_add(f->groups, &g, sizeof(g));
}

static struct group group_of_frame(const struct rows *f, uint32_t number)
{
	uint32_t library = f->same.library_of[number], func = f->same.function_of[number];
	uint32_t of = sp_identity_home(f->p, &f->same, number);

	if (f->by == SP_DIFF_BY_LIBRARY)
		return (struct group){.id = library, .none = library == 0};
	return (struct group){.id = func, .of = of, .none = func == 0 && of == 0};
}

static struct group group_of_row(const struct rows *f, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(f->p, number);
	uint32_t n = sp_profile_stack(f->p, row->user).n_frames + sp_profile_stack(f->p, row->kernel).n_frames;

	return n == 0 ? (struct group){.none = true} : (struct group){.id = row->user, .of = row->kernel};
}

static int map_items(struct rows *f)
{
	bool frames = f->by != SP_DIFF_BY_STACK;
	uint32_t n = frames ? sp_profile_n_frames(f->p) : sp_profile_n_rows(f->p);

	f->of_item = calloc((size_t)n + 1, sizeof(*f->of_item));
	if (f->of_item == NULL || sp_intern_new(&f->groups) < 0)
		return -ENOMEM;
	int64_t number = group_number(f, (struct group){.none = true});
	for (uint32_t i = 0; i < n && number >= 0; i++) {
		number = group_number(f, frames ? group_of_frame(f, i) : group_of_row(f, i));
		f->of_item[i] = (uint32_t)number;
	}
	return number < 0 ? (int)number : 0;
}

static int meet(struct rows *f, uint32_t group)
{
	if (f->seen_in[group] == f->visit)
		return 0;
	f->seen_in[group] = f->visit;
	int r = sp_grow(&f->met, &f->met_capacity, f->n_met + 1, sizeof(*f->met));
	if (r == 0)
		f->met[f->n_met++] = group;
	return r;
}

static int meet_groups(struct rows *f, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(f->p, number);
	const struct sp_stack stacks[] = {sp_profile_stack(f->p, row->kernel), sp_profile_stack(f->p, row->user)};
	int r = 0;

	f->n_met = 0;
	f->visit++;
	if (f->by == SP_DIFF_BY_STACK)
		return meet(f, f->of_item[number]);
	for (size_t s = 0; s < SP_COUNT(stacks); s++)
		for (uint32_t i = 0; i < stacks[s].n_frames && r == 0; i++)
			r = meet(f, f->of_item[stacks[s].frames[i]]);
	return r == 0 && f->n_met == 0 ? meet(f, 0) : r;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */
/* A row of c samples with the value v: about v^2 / c of variance. */
static double square_by_samples(const struct sp_row *row, int side)
{
	double v = (double)row->values[SP_DIFF_OLD + side], c = fabs((double)row->values[SP_DIFF_OLD_SAMPLES + side]);

	return v * v / fmax(c, 1);
}

static void add_row(struct rows *f, const struct sp_row *row)
{
	for (int side = 0; side < 2; side++) {
		int64_t v = row->values[SP_DIFF_OLD + side];
		double q = square_by_samples(row, side), n = (double)row->values[SP_DIFF_OLD_SAMPLES + side];
		f->whole[side].x += (double)v;
		f->whole[side].q += q;
		f->whole[side].n_samples += n;
		for (size_t i = 0; i < f->n_met; i++) {
			for (int k = i == 0 ? SELF : TOTAL; k < N_SUMS; k++) {
				struct sum *sum = &f->sums[f->met[i]][k][side];
				sp_saturating_add(&sum->exact, v);
				sum->noise.x += (double)v;
				sum->noise.q += q;
				sum->noise.n += n;
			}
		}
	}
}

static int add_rows(struct rows *f)
{
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p) && r == 0; i++) {
		r = meet_groups(f, i);
		if (r == 0)
			add_row(f, sp_profile_row(f->p, i));
	}
	return r;
}

static int sum_up(struct rows *f)
{
	int r = sp_identity_new(f->p, &f->same);

	if (r == 0)
		r = map_items(f);
	return r == 0 ? add_rows(f) : r;
}

static void rows_done(struct rows *f)
{
	sp_identity_done(&f->same);
	sp_intern_free(f->groups);
	free(f->sums);
	free(f->seen_in);
	free(f->of_item);
	free(f->met);
	free(f->touched);
	free(f->order);
}

/* --- variance from slices ----------------------------------------------------------------------------------------- */
static uint32_t slice_of(const struct sp_profile *p, uint32_t row)
{
	return sp_profile_key(p, sp_profile_row(p, row)->key)->slice;
}

static int compare_slices(const void *left, const void *right, void *arg)
{
	uint32_t a = slice_of(arg, *(const uint32_t *)left), b = slice_of(arg, *(const uint32_t *)right);

	return (a > b) - (a < b);
}

static int order_by_slice(struct rows *f)
{
	uint32_t n = sp_profile_n_rows(f->p);

	f->order = calloc((size_t)n + 1, sizeof(*f->order));
	if (f->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->order[i] = i;
	qsort_r(f->order, n, sizeof(*f->order), compare_slices, (void *)(uintptr_t)f->p);
	return 0;
}

/* All of the batch under way, and of the batches that are done; of one side. */
struct batches {
	int side;
	double all, squares;
	uint32_t n; /* those that hold anything */
};

static void end_batch(struct rows *f, struct batches *b)
{
	for (size_t i = 0; i < f->n_touched; i++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sum = &f->sums[f->touched[i]][k][b->side];
			sum->squares += sum->batch * sum->batch;
			sum->products += sum->batch * b->all;
			sum->batch = 0;
		}
	b->n += b->all != 0;
	b->squares += b->all * b->all;
	b->all = 0;
	f->n_touched = 0;
}

/* A group may be touched more than once in a batch: the second time its batch is 0. */
static int add_to_batch(struct rows *f, struct batches *b, uint32_t number)
{
	double v = (double)sp_profile_row(f->p, number)->values[SP_DIFF_OLD + b->side];
	int r = v != 0 ? meet_groups(f, number) : 0;

	if (r < 0 || v == 0)
		return r;
	if (sp_grow(&f->touched, &f->touched_capacity, f->n_touched + f->n_met, sizeof(*f->touched)) < 0)
		return -ENOMEM;
	memcpy(f->touched + f->n_touched, f->met, f->n_met * sizeof(*f->met));
	f->n_touched += f->n_met;
	b->all += v;
	for (size_t i = 0; i < f->n_met; i++)
		for (int k = i == 0 ? SELF : TOTAL; k < N_SUMS; k++)
			f->sums[f->met[i]][k][b->side].batch += v;
	return 0;
}

/* The sum of the batches varies as n times one batch does. */
static double variance_of(const struct rows *f, const struct sum *sum, const struct batches *b, uint32_t n)
{
	double all = f->whole[b->side].x, share = all > 0 ? sum->noise.x / all : 0, residuals;

	if (f->d->scale == SP_DIFF_ABSOLUTE)
		return fmax(sum->squares - sum->noise.x * sum->noise.x / n, 0) * n / (n - 1);
	residuals = sum->squares - 2 * share * sum->products + share * share * b->squares;
	return all > 0 ? fmax(residuals, 0) * n / (n - 1) / (all * all) : 0;
}

static void take_variance(struct rows *f, const struct batches *b, uint32_t each)
{
	uint32_t idle_too = (f->d->n_slices[b->side] + each - 1) / each;
	uint32_t n = f->d->scale == SP_DIFF_ABSOLUTE ? idle_too : b->n;

	for (uint32_t g = 0; g < sp_intern_count(f->groups); g++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sum = &f->sums[g][k][b->side];
			sum->noise.variance = n > 1 ? variance_of(f, sum, b, n) : 0;
			sum->noise.freedom = n > 1 ? n - 1 : INFINITY;
			sum->squares = sum->products = 0;
		}
}

/* Batches of `each` slices. */
static int sum_batches(struct rows *f, int side, uint32_t each)
{
	struct batches b = {.side = side};
	uint32_t batch = 0;
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p) && r == 0; i++) {
		uint32_t slice = slice_of(f->p, f->order[i]), of = slice == 0 ? 0 : (slice - 1) / each + 1;
		if (of != batch)
			end_batch(f, &b);
		batch = of;
		r = add_to_batch(f, &b, f->order[i]);
	}
	end_batch(f, &b);
	take_variance(f, &b, each);
	return r;
}

static uint32_t slices_of_batch(const struct sp_diff *d, int side)
{
	return SP_MAX(d->n_slices[side] / BATCHES, 1U);
}

/* Sums of evenly filled slices hardly vary; two recordings' samples are still two draws. */
static void take_counts_at_least(struct sp_noise_side *s)
{
	if (s->variance < s->q) {
		s->variance = s->q;
		s->freedom = INFINITY;
	}
}

static int variance_from_slices(struct rows *f)
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
					take_counts_at_least(s);
			}
	return r;
}

/* --- how much larger it is than slices tell ----------------------------------------------------------------------- */
/* Of all groups' self on both sides, from batches of so many times the usual number of slices. */
static int variance_at(struct rows *f, uint32_t times, double *ret_variance)
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

/* Of the side that has fewer. */
static uint32_t n_batches(const struct sp_diff *d)
{
	return SP_MIN(d->n_slices[0] / slices_of_batch(d, 0), d->n_slices[1] / slices_of_batch(d, 1));
}

int sp_diff_find_growth(const struct sp_diff *d, enum sp_diff_by by, double *ret_growth)
{
	struct rows f = {.d = d, .p = d->joined, .by = by};
	double at[N_SIZES] = {0};
	size_t n = 0;
	int r = sum_up(&f);

	if (r == 0)
		r = order_by_slice(&f);
	for (; n < N_SIZES && r == 0 && n_batches(d) >> n >= MIN_BATCHES; n++)
		r = variance_at(&f, 1U << n, &at[n]);
	*ret_growth = sp_noise_growth(at, n);
	rows_done(&f);
	return r == 0 && n > 0 && at[0] <= 0 ? -EAGAIN : r;
}

/* --- variance from counts ----------------------------------------------------------------------------------------- */
static void variance_from_counts(struct rows *f)
{
	for (uint32_t g = 0; g < sp_intern_count(f->groups); g++)
		for (int k = 0; k < N_SUMS; k++) {
			struct sum *sums = f->sums[g][k];
			struct sp_noise_side sides[] = {sums[0].noise, sums[1].noise};
			sp_noise_take_counts(f->d, sides, f->whole);
			sums[0].noise = sides[0];
			sums[1].noise = sides[1];
		}
}

/* --- the result --------------------------------------------------------------------------------------------------- */
static struct sp_diff_row row_of(const struct rows *f, uint32_t number)
{
	const struct group *g = sp_intern_get(f->groups, number, NULL);
	struct sp_diff_row row = {.id = g->id, .of = g->of, .none = g->none};
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

static int hand_out(struct rows *f, struct sp_diff_rows *ret_rows)
{
	uint32_t n = sp_intern_count(f->groups);
	struct sp_diff_rows rows = {.rows = calloc(n, sizeof(*rows.rows))};

	if (rows.rows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (f->seen_in[i] != 0)
			rows.rows[rows.n_rows++] = row_of(f, i);
	*ret_rows = rows;
	return 0;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
int sp_diff_fold_rows(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows)
{
	struct rows f = {.d = d, .p = d->joined, .by = by};
	int r = sum_up(&f);

	if (r == 0 && d->method == SP_DIFF_FROM_SLICES)
		r = variance_from_slices(&f);
	else if (r == 0)
		variance_from_counts(&f);
	if (r == 0)
		r = hand_out(&f, ret_rows);
	rows_done(&f);
	return r;
}

int sp_diff_pairs(const struct sp_diff *d, enum sp_diff_by by, bool total, struct sp_noise_pair **ret_pairs,
		  size_t *ret_n)
{
	struct rows f = {.d = d, .p = d->joined, .by = by};
	SP_FREE struct sp_noise_pair *pairs = NULL;
	int r = sum_up(&f);
	uint32_t n = r == 0 ? sp_intern_count(f.groups) : 0;

	if (r == 0) {
		pairs = calloc((size_t)n + 1, sizeof(*pairs));
		r = pairs == NULL ? -ENOMEM : 0;
	}
	for (uint32_t g = 0; g < n && r == 0; g++) {
		const struct sum *s = f.sums[g][total ? TOTAL : SELF];
		pairs[g] = (struct sp_noise_pair){.x = {s[0].noise.x, s[1].noise.x},
						  .variance = {s[0].noise.q, s[1].noise.q},
						  .samples = s[0].noise.n + s[1].noise.n};
	}
	rows_done(&f);
	if (r < 0)
		return r;
	*ret_pairs = sp_take_ptr(pairs);
	*ret_n = n;
	return 0;
}
