/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/diff.h"

#include "base/mem.h"
#include "base/search.h"
#include "profile/identity.h"
#include "profile/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- a diff --- */
static void diff_row_count(struct sp_diff *d, const struct sp_row *row, int side)
{
	d->value[side] += (double)row->values[SP_DIFF_OLD + side];
	d->n_samples[side] += (double)row->values[SP_DIFF_OLD_SAMPLES + side];
}

static size_t words_distinct(uint32_t *words, size_t n)
{
	size_t words_distinct = 0;

	qsort(words, n, sizeof(*words), sp_compare_u32);
	for (size_t i = 0; i < n; i++)
		words_distinct += i == 0 || words[i] != words[i - 1];
	return words_distinct;
}

/* Slices are used if both sides have enough that are not empty, and every row has one. */
static int choose_method(struct sp_diff *d)
{
	uint32_t n = sp_profile_n_rows(d->joined);
	SP_FREE uint32_t *slices = calloc((size_t)n + 1, sizeof(*slices));
	bool enough = true;

	if (!slices)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		size_t n_slices = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct sp_row *row = sp_profile_row(d->joined, i);
			diff_row_count(d, row, side);
			if (row->values[SP_DIFF_OLD + side] == 0)
				continue;
			uint32_t slice = sp_profile_key(d->joined, row->key)->slice;
			enough &= slice != 0;
			d->n_slices[side] = SP_MAX(d->n_slices[side], slice);
			slices[n_slices++] = slice;
		}
		enough &= words_distinct(slices, n_slices) >= SP_DIFF_MIN_SLICES;
	}
	d->method = enough ? SP_DIFF_FROM_SLICES : SP_DIFF_FROM_COUNTS;
	return 0;
}

/* Estimated from functions: there are many, so a few that changed matter little. */
static int find_dispersion(struct sp_diff *d)
{
	SP_FREE struct sp_noise_pair *pairs = NULL;
	size_t n;
	int r = sp_diff_pairs(d, SP_DIFF_BY_FUNCTION, true, &pairs, &n);

	return r < 0 ? r : sp_noise_dispersion(pairs, n, &d->dispersion);
}

static int find_spread(struct sp_diff *d, enum sp_diff_by by, bool total)
{
	SP_FREE struct sp_noise_pair *pairs = NULL;
	double spread;
	size_t n;
	int r = sp_diff_pairs(d, by, total, &pairs, &n);

	if (r == 0)
		r = sp_noise_spread(pairs, n, d->dispersion, &spread);
	if (r == 0)
		d->spread = fmax(d->spread, spread);
	return r;
}

/* Estimated from libraries, unless they are too few: a burst or change affects many functions, but one library. */
static int find_factors(struct sp_diff *d)
{
	d->dispersion = 1;
	int r = find_dispersion(d);
	if (r == 0)
		r = find_spread(d, SP_DIFF_BY_LIBRARY, false);
	if (r == 0)
		r = find_spread(d, SP_DIFF_BY_LIBRARY, true);
	else if (r == -EAGAIN)
		r = find_spread(d, SP_DIFF_BY_FUNCTION, false);
	return r == -EAGAIN ? 0 : r;
}

static int find_growth(struct sp_diff *d)
{
	enum sp_diff_scale scale = d->scale;
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		d->scale = (enum sp_diff_scale)i;
		r = sp_diff_find_growth(d, SP_DIFF_BY_LIBRARY, &d->growth[i]);
		if (r == -EAGAIN)
			r = sp_diff_find_growth(d, SP_DIFF_BY_FUNCTION, &d->growth[i]);
		if (r == -EAGAIN)
			r = 0;
	}
	d->scale = scale;
	return r;
}

int sp_diff_new(const struct sp_profile *old_profile, const struct sp_profile *new_profile,
		const struct sp_diff_options *o, struct sp_diff **ret_diff)
{
	const struct sp_profile *const p[] = {old_profile, new_profile};

	if (o->old_value >= sp_profile_n_value_types(old_profile) ||
	    o->new_value >= sp_profile_n_value_types(new_profile))
		return -EINVAL;
	struct sp_diff *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->scale = o->scale;
	int r = sp_diff_join(p, o, d);
	if (r == 0)
		r = choose_method(d);
	if (r == 0)
		r = d->method == SP_DIFF_FROM_SLICES ? find_growth(d) : find_factors(d);
	if (r < 0) {
		sp_diff_free(d);
		return r;
	}
	*ret_diff = d;
	return 0;
}

void sp_diff_free(struct sp_diff *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n_upgrades; i++) {
		free(d->upgrades[i].old_files);
		free(d->upgrades[i].new_files);
	}
	free(d->upgrades);
	sp_profile_free(d->joined);
	free(d);
}

/* --- its rows --- */
struct upgrade_marker {
	const struct sp_diff *d;
	struct sp_identity same;
	uint32_t *upgrade_of; /* by file */
};

static uint32_t upgrade_of_stack(const struct upgrade_marker *m, uint32_t number)
{
	struct sp_stack s = sp_profile_stack(m->d->joined, number);
	uint32_t upgrade = 0;

	for (uint32_t i = 0; i < s.n_frames && upgrade == 0; i++)
		upgrade = m->upgrade_of[m->same.library_of[s.frames[i]]];
	return upgrade;
}

static uint32_t upgrade_of_row(const struct upgrade_marker *m, enum sp_diff_by by, const struct sp_diff_row *row)
{
	if (row->none)
		return 0;
	if (by == SP_DIFF_BY_LIBRARY)
		return m->upgrade_of[row->id];
	if (by == SP_DIFF_BY_FUNCTION)
		return m->upgrade_of[sp_identity_library(m->d->joined, &m->same, row->second_id)];
	uint32_t upgrade = upgrade_of_stack(m, row->second_id);
	return upgrade != 0 ? upgrade : upgrade_of_stack(m, row->id);
}

static int mark_upgrades(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *rows)
{
	SP_FREE uint32_t *upgrade_of = calloc(sp_profile_n_files(d->joined), sizeof(*upgrade_of));
	struct upgrade_marker m = {.d = d, .upgrade_of = upgrade_of};
	int r = !upgrade_of ? -ENOMEM : sp_identity_new(d->joined, &m.same);

	for (uint32_t i = 0; i < d->n_upgrades && r == 0; i++)
		upgrade_of[d->upgrades[i].file] = i + 1;
	for (size_t i = 0; i < rows->n_rows && r == 0; i++)
		rows->rows[i].upgrade = upgrade_of_row(&m, by, &rows->rows[i]);
	if (r == 0)
		sp_identity_done(&m.same);
	return r;
}

/* --- q of Benjamini and Hochberg: p * n / rank, made monotonic --- */
struct p_value {
	double *q;
};

static int compare_p_values(const void *left, const void *right)
{
	double a = *((const struct p_value *)left)->q, b = *((const struct p_value *)right)->q;

	return (a > b) - (a < b);
}

static void p_values_adjust(struct p_value *p_values, size_t n)
{
	double least = 1;

	qsort(p_values, n, sizeof(*p_values), compare_p_values);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, *p_values[i].q * (double)n / (double)(i + 1));
		*p_values[i].q = least;
	}
}

static int rows_adjust(struct sp_diff_rows *rows)
{
	SP_FREE struct p_value *p_values = calloc(rows->n_rows + 1, sizeof(*p_values));

	if (!p_values)
		return -ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++)
		p_values[i].q = &rows->rows[i].self.q;
	p_values_adjust(p_values, rows->n_rows);
	for (size_t i = 0; i < rows->n_rows; i++)
		p_values[i].q = &rows->rows[i].total.q;
	p_values_adjust(p_values, rows->n_rows);
	return 0;
}

/* --- order --- */
static int compare_falling(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct sp_diff_row *a = left, *b = right;
	enum sp_diff_by by = *(const enum sp_diff_by *)arg;
	int c = by == SP_DIFF_BY_LIBRARY ? (b->upgrade != 0) - (a->upgrade != 0) : 0;

	if (c == 0)
		c = compare_falling(fabs(a->self.delta), fabs(b->self.delta));
	if (c == 0)
		c = compare_falling(fabs(a->total.delta), fabs(b->total.delta));
	if (c == 0)
		c = (a->id > b->id) - (a->id < b->id);
	return c != 0 ? c : (a->second_id > b->second_id) - (a->second_id < b->second_id);
}

int sp_diff_rows_new(const struct sp_diff *d, enum sp_diff_by by, struct sp_diff_rows *ret_rows)
{
	struct sp_diff_rows rows = {0};
	int r = sp_diff_sum_rows(d, by, &rows);

	if (r == 0)
		r = mark_upgrades(d, by, &rows);
	if (r == 0)
		r = rows_adjust(&rows);
	if (r < 0) {
		sp_diff_rows_done(&rows);
		return r;
	}
	for (size_t i = 0; i < rows.n_rows; i++) {
		rows.n_beyond_self += !rows.rows[i].self.within_noise;
		rows.n_beyond_total += !rows.rows[i].total.within_noise;
	}
	if (rows.n_rows > 0)
		qsort_r(rows.rows, rows.n_rows, sizeof(*rows.rows), compare_rows, &by);
	*ret_rows = rows;
	return 0;
}

void sp_diff_rows_done(struct sp_diff_rows *rows)
{
	free(rows->rows);
	*rows = (struct sp_diff_rows){0};
}
