/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_noise.c: intervals. Student's t goes through Wallace's approximation (1959), which turns t with n degrees of
 * freedom into a normal deviate: sqrt(n ln(1 + t^2 / n)) (8n + 1) / (8n + 3); from 5 on it is right to a hundredth,
 * below a little too careful.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/diff_judge.h"
#include "profile/priv.h"

#define MEDIAN_CHI2_1 0.454936   /* of a squared normal deviate: half lie below, */
#define QUARTILE_CHI2_1 1.323304 /* and three quarters */
#define MIN_SAMPLES 16           /* of a pair that tells the dispersion: fewer are too coarse */
#define MIN_PAIRS 8              /* that tell it */
#define MOST_GROWTH 1.75         /* of variances by one doubling that is believed */
#define SHORT_OF 1.5             /* power of the growth that is still to come */
#define LEAST_BATCHES 2          /* as many as which all are taken at least */
#define CAUTION 2 /* times what exceeds the counts: rows differ in their bursts, and a median tells of half */

/* The value's squares less what belongs to the whole: (1 - share)^2 for what is in the row, share^2 for what is not. */
double sp_noise_from_counts(enum sp_diff_scale scale, const struct sp_noise_side *s, const struct sp_noise_whole *w)
{
	double share = w->x > 0 ? s->x / w->x : 0;

	if (scale == SP_DIFF_ABSOLUTE)
		return s->q;
	if (w->x <= 0)
		return 0;
	return (s->q * (1 - share) * (1 - share) + fmax(w->q - s->q, 0) * share * share) / (w->x * w->x);
}

/* A row that holds nearly all differs as little as what is not in it. */
void sp_noise_take_counts(const struct sp_diff *d, struct sp_noise_side s[2], const struct sp_noise_whole w[2])
{
	double n = s[0].n + s[1].n, all = w[0].n_samples + w[1].n_samples;
	double share = all > 0 && d->scale == SP_DIFF_SHARES ? fmin(fmax(n / all, 0), 1) : 0;
	double factor = d->dispersion + d->spread * fmax(n, 0) * (1 - share);

	for (int side = 0; side < 2; side++) {
		s[side].variance = factor * sp_noise_from_counts(d->scale, &s[side], &w[side]);
		s[side].freedom = INFINITY;
	}
}

/*
 * Where samples near in time are alike, variances grow with the batches' size, twice as large where batches are far
 * shorter than what clumps them. What grew by g at the last doubling would grow by 1 / (2 - g) more, did all
 * likeness fade alike; and a recording that holds few of its phases shows less of them than there is, hence the power
 * (of 1, 1.5 and 2, tests/bench/noise.py finds 1.5 to be wrong in less than 5 of 100 rows and to miss next to nothing).
 */
double sp_noise_growth(const double *variances, size_t n)
{
	double most = n > 0 ? variances[0] : 0;

	for (size_t i = 1; i < n; i++)
		most = fmax(most, variances[i]);
	if (n < 3 || variances[0] <= 0)
		return n > 0 && variances[0] > 0 ? most / variances[0] : 1;
	double last = fmin(fmax(variances[n - 1] / variances[n - 2], 1), MOST_GROWTH);
	return most / variances[0] / pow(2 - last, SHORT_OF);
}

void sp_noise_grow(struct sp_noise_side *s, double growth)
{
	if (isinf(s->freedom))
		return;
	double n = s->freedom + 1, like = fmax(n / growth, LEAST_BATCHES);
	s->variance *= growth * (n - 1) / n * like / (like - 1);
	s->freedom = like - 1;
}

static double deviate_of_t(double t, double freedom)
{
	if (isinf(freedom))
		return t;
	return sqrt(freedom * log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);
}

static double t_of_deviate(double z, double freedom)
{
	if (isinf(freedom))
		return z;
	double scaled = z * (8 * freedom + 3) / (8 * freedom + 1);
	return sqrt(freedom * expm1(scaled * scaled / freedom));
}

/* What one sample is worth; of nothing, what it is worth to the other side. A share of nothing may be anything. */
static double one_sample(enum sp_diff_scale scale, const struct sp_noise_whole w[2], int side)
{
	const struct sp_noise_whole *whole = &w[side], *other = &w[1 - side];

	if (scale == SP_DIFF_SHARES)
		return whole->x > 0 && whole->n_samples > 0 ? 1 / whole->n_samples : 1;
	if (whole->n_samples > 0 && whole->x != 0)
		return whole->x / whole->n_samples;
	return other->n_samples > 0 ? other->x / other->n_samples : 0;
}

static double shown(enum sp_diff_scale scale, double x, const struct sp_noise_whole *w)
{
	if (scale == SP_DIFF_ABSOLUTE)
		return x;
	return w->x > 0 ? x / w->x : 0;
}

/* What counts alone say that the part varies by, if all samples are worth the same. */
static double counts_say(enum sp_diff_scale scale, double part, const struct sp_noise_whole *w)
{
	if (w->x <= 0 || w->n_samples <= 0)
		return 0;
	if (scale == SP_DIFF_ABSOLUTE)
		return fabs(part) * w->x / w->n_samples;
	double share = fmin(fmax(part / w->x, 0), 1);
	return share * (1 - share) / w->n_samples;
}

static double one_samples(enum sp_diff_scale scale, const struct sp_noise_whole w[2])
{
	double old = one_sample(scale, w, 0), new = one_sample(scale, w, 1);

	return old * old + new *new;
}

static struct sp_change make_change(enum sp_diff_scale scale, const double x[2], const struct sp_noise_whole w[2],
				    double half)
{
	struct sp_change c = {.old = shown(scale, x[0], &w[0]), .new = shown(scale, x[1], &w[1])};

	c.delta = c.new - c.old;
	c.low = c.delta - half;
	c.high = c.delta + half;
	c.within_noise = !(c.low > 0 || c.high < 0);
	return c;
}

double sp_noise_change(enum sp_diff_scale scale, const struct sp_noise_side s[2], const struct sp_noise_whole w[2],
		       struct sp_change *ret_change)
{
	const double x[] = {s[0].x, s[1].x}, one = one_samples(scale, w);
	double variance = s[0].variance + s[1].variance, parts = 0;
	double counts = counts_say(scale, x[0], &w[0]) + counts_say(scale, x[1], &w[1]);

	for (int side = 0; side < 2; side++)
		parts += isinf(s[side].freedom) ? 0 : s[side].variance * s[side].variance / s[side].freedom;
	double factor = counts > 0 ? variance / counts : 1;
	variance += one;
	double freedom = parts > 0 ? variance * variance / parts : INFINITY, deviation = sqrt(variance);
	double quantile = t_of_deviate(SP_DIFF_Z_95, freedom);
	struct sp_change c = make_change(scale, x, w, deviation * quantile);
	c.factor = factor;
	c.quantile = quantile;
	*ret_change = c;
	return deviation > 0 ? erfc(deviate_of_t(fabs(c.delta) / deviation, freedom) / M_SQRT2) : 1;
}

struct sp_change sp_diff_judge_part(const struct sp_diff *d, const struct sp_change *row, double old_value,
				    double new_value)
{
	const struct sp_noise_whole w[] = {{.x = d->value[0], .n_samples = d->n_samples[0]},
					   {.x = d->value[1], .n_samples = d->n_samples[1]}};
	const double x[] = {old_value, new_value};
	double counts = counts_say(d->scale, x[0], &w[0]) + counts_say(d->scale, x[1], &w[1]);
	double half = row->quantile * sqrt(row->factor * counts + one_samples(d->scale, w));
	struct sp_change c = make_change(d->scale, x, w, half);

	c.factor = row->factor;
	c.quantile = row->quantile;
	return c;
}

/* --- dispersion --------------------------------------------------------------------------------------------------- */
static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* How far a pair is from the ratio of new to old that most have: squared, as a multiple of what its counts say. */
struct deviation {
	double square, samples;
};

static bool counts(const struct sp_noise_pair *pair)
{
	return pair->samples >= MIN_SAMPLES && pair->x[0] >= 0 && pair->x[1] >= 0 && pair->x[0] + pair->x[1] > 0;
}

/* 0: too few, or most are of one side only. */
static double ratio_of(const struct sp_noise_pair *pairs, size_t n, double *scratch)
{
	size_t n_used = 0;

	for (size_t i = 0; i < n; i++)
		if (counts(&pairs[i]))
			scratch[n_used++] = pairs[i].x[0] > 0 ? pairs[i].x[1] / pairs[i].x[0] : INFINITY;
	double ratio = n_used >= MIN_PAIRS ? median(scratch, n_used) : 0;
	return isfinite(ratio) ? ratio : 0;
}

static int find_deviations(const struct sp_noise_pair *pairs, size_t n, struct deviation **ret_list, size_t *ret_n)
{
	SP_FREE double *scratch = calloc(n + 1, sizeof(*scratch));
	SP_FREE struct deviation *list = calloc(n + 1, sizeof(*list));
	size_t n_used = 0;

	if (scratch == NULL || list == NULL)
		return -ENOMEM;
	double ratio = ratio_of(pairs, n, scratch);
	if (ratio <= 0)
		return -EAGAIN;
	for (size_t i = 0; i < n; i++) {
		const struct sp_noise_pair *pair = &pairs[i];
		double off = pair->x[1] - ratio * pair->x[0];
		double variance = pair->variance[1] + ratio * ratio * pair->variance[0];
		if (counts(pair) && variance > 0)
			list[n_used++] = (struct deviation){.square = off * off / variance, .samples = pair->samples};
	}
	*ret_list = sp_take_ptr(list);
	*ret_n = n_used;
	return n_used >= MIN_PAIRS ? 0 : -EAGAIN;
}

int sp_noise_dispersion(const struct sp_noise_pair *pairs, size_t n, double *ret_dispersion)
{
	SP_FREE struct deviation *list = NULL;
	SP_FREE double *squares = calloc(n + 1, sizeof(*squares));
	size_t n_used;
	int r = squares == NULL ? -ENOMEM : find_deviations(pairs, n, &list, &n_used);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n_used; i++)
		squares[i] = list[i].square;
	double half = 1 + CAUTION * fmax(0, median(squares, n_used) / MEDIAN_CHI2_1 - 1); /* sorts them */
	*ret_dispersion = fmax(half, squares[(n_used - 1) * 3 / 4] / QUARTILE_CHI2_1);
	return 0;
}

/* --- spread ------------------------------------------------------------------------------------------------------- */
/*
 * Whether a half of the rows deviate no more than a half of rows would, had they this spread. Large rows tell more of
 * it, but one of them alone shall not tell all: weights are the roots of their samples.
 */
static bool covers(const struct deviation *list, size_t n, double dispersion, double spread)
{
	double within = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		double weight = sqrt(list[i].samples);
		all += weight;
		if (list[i].square <= MEDIAN_CHI2_1 * (dispersion + spread * list[i].samples))
			within += weight;
	}
	return within >= all / 2;
}

int sp_noise_spread(const struct sp_noise_pair *pairs, size_t n, double dispersion, double *ret_spread)
{
	SP_FREE struct deviation *list = NULL;
	double low = 0, high = 1.0 / MIN_SAMPLES, half = 1 + (dispersion - 1) / CAUTION;
	size_t n_used;
	int r = find_deviations(pairs, n, &list, &n_used);

	if (r < 0)
		return r;
	*ret_spread = 0;
	if (covers(list, n_used, half, 0))
		return 0;
	while (isfinite(high) && !covers(list, n_used, half, high))
		high *= 2;
	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;
		*(covers(list, n_used, half, middle) ? &high : &low) = middle;
	}
	*ret_spread = CAUTION * high;
	return 0;
}
