/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_noise.c: intervals. Student's t is computed by Wallace's approximation (1959), which turns t with n degrees of
 * freedom into a normal deviate: sqrt(n ln(1 + t^2 / n)) (8n + 1) / (8n + 3). From n = 5 on it is right to 1 %, below
 * it is slightly conservative.
 */
#include "base/mem.h"
#include "profile/diff_significance.h"
#include "profile/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MEDIAN_CHI2_1 0.454936   /* of chi-squared with one degree of freedom */
#define QUARTILE_CHI2_1 1.323304 /* its upper quartile */
#define MIN_SAMPLES 16           /* of a pair used to estimate the dispersion: fewer are too coarse */
#define MIN_PAIRS 8              /* used to estimate it */
#define MAX_GROWTH 1.75          /* of variances, from one doubling of the batches; a larger one is an outlier */
#define GROWTH_POWER 1.5         /* of the growth extrapolated from the last doubling */
#define MIN_BATCHES 2            /* growth never leaves fewer effective batches than this */
#define EXCESS_FACTOR                                                                                                  \
	2 /* the excess over counts is doubled: rows differ in burstiness, and a median covers half of them */

/* Variance by counts. Of a share: squares weighted by (1 - share)^2 for what is in the row, share^2 for the rest. */
static double noise_from_counts(enum sp_diff_scale scale, const struct sp_noise_side *s, const struct sp_noise_whole *w)
{
	double share = w->x > 0 ? s->x / w->x : 0;

	if (scale == SP_DIFF_ABSOLUTE)
		return s->q;
	if (w->x <= 0)
		return 0;
	return (s->q * (1 - share) * (1 - share) + fmax(w->q - s->q, 0) * share * share) / (w->x * w->x);
}

/* In a row that holds nearly everything, the excess is that of the little that is not in it. */
void sp_noise_set_from_counts(const struct sp_diff *d, struct sp_noise_side s[2], const struct sp_noise_whole w[2])
{
	double n = s[0].n + s[1].n, all = w[0].n_samples + w[1].n_samples;
	double share = all > 0 && d->scale == SP_DIFF_SHARES ? fmin(fmax(n / all, 0), 1) : 0;
	double factor = d->dispersion + d->spread * fmax(n, 0) * (1 - share);

	for (int side = 0; side < 2; side++) {
		s[side].variance = factor * noise_from_counts(d->scale, &s[side], &w[side]);
		s[side].freedom = INFINITY;
	}
}

/*
 * Where samples near in time are correlated, variances grow with the size of the batches: by 2 at each doubling while
 * batches are far shorter than the correlation. A variance that grew by g at the last doubling would grow by
 * 1 / (2 - g) more if all correlations decayed alike. A recording with few phases of a program shows too little
 * variance, hence the power: of 1, 1.5 and 2, tests/bench/noise.py finds that 1.5 is wrong in less than 5 of 100 rows
 * and misses little.
 */
double sp_noise_growth(const double *variances, size_t n)
{
	double most = n > 0 ? variances[0] : 0;

	for (size_t i = 1; i < n; i++)
		most = fmax(most, variances[i]);
	if (n < 3 || variances[0] <= 0)
		return n > 0 && variances[0] > 0 ? most / variances[0] : 1;
	double last = fmin(fmax(variances[n - 1] / variances[n - 2], 1), MAX_GROWTH);
	return most / variances[0] / pow(2 - last, GROWTH_POWER);
}

void sp_noise_grow(struct sp_noise_side *s, double growth)
{
	if (isinf(s->freedom))
		return;
	double n = s->freedom + 1, like = fmax(n / growth, MIN_BATCHES);
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

/* The value of one sample; of an empty side, that of the other side. */
static double sample_value(enum sp_diff_scale scale, const struct sp_noise_whole w[2], int side)
{
	const struct sp_noise_whole *whole = &w[side], *other = &w[1 - side];

	if (scale == SP_DIFF_SHARES)
		return whole->x > 0 && whole->n_samples > 0 ? 1 / whole->n_samples : 1;
	if (whole->n_samples > 0 && whole->x != 0)
		return whole->x / whole->n_samples;
	return other->n_samples > 0 ? other->x / other->n_samples : 0;
}

static double scaled_value(enum sp_diff_scale scale, double x, const struct sp_noise_whole *w)
{
	if (scale == SP_DIFF_ABSOLUTE)
		return x;
	return w->x > 0 ? x / w->x : 0;
}

/* The part's variance by counts alone, if all samples have the same value. */
static double part_variance(enum sp_diff_scale scale, double part, const struct sp_noise_whole *w)
{
	if (w->x <= 0 || w->n_samples <= 0)
		return 0;
	if (scale == SP_DIFF_ABSOLUTE)
		return fabs(part) * w->x / w->n_samples;
	double share = fmin(fmax(part / w->x, 0), 1);
	return share * (1 - share) / w->n_samples;
}

static double sample_variance(enum sp_diff_scale scale, const struct sp_noise_whole w[2])
{
	double old = sample_value(scale, w, 0), new = sample_value(scale, w, 1);

	return old * old + new *new;
}

static struct sp_change change_make(enum sp_diff_scale scale, const double x[2], const struct sp_noise_whole w[2],
				    double half)
{
	struct sp_change c = {.old = scaled_value(scale, x[0], &w[0]), .new = scaled_value(scale, x[1], &w[1])};

	c.delta = c.new - c.old;
	c.low = c.delta - half;
	c.high = c.delta + half;
	c.within_noise = !(c.low > 0 || c.high < 0);
	return c;
}

double sp_noise_change(enum sp_diff_scale scale, const struct sp_noise_side s[2], const struct sp_noise_whole w[2],
		       struct sp_change *ret_change)
{
	const double x[] = {s[0].x, s[1].x}, one = sample_variance(scale, w);
	double variance = s[0].variance + s[1].variance, parts = 0;
	double pair_is_usable = part_variance(scale, x[0], &w[0]) + part_variance(scale, x[1], &w[1]);

	for (int side = 0; side < 2; side++)
		parts += isinf(s[side].freedom) ? 0 : s[side].variance * s[side].variance / s[side].freedom;
	double factor = pair_is_usable > 0 ? variance / pair_is_usable : 1;
	variance += one;
	double freedom = parts > 0 ? variance * variance / parts : INFINITY, deviation = sqrt(variance);
	double quantile = t_of_deviate(SP_DIFF_Z_95, freedom);
	struct sp_change c = change_make(scale, x, w, deviation * quantile);
	c.factor = factor;
	c.quantile = quantile;
	*ret_change = c;
	return deviation > 0 ? erfc(deviate_of_t(fabs(c.delta) / deviation, freedom) / M_SQRT2) : 1;
}

struct sp_change sp_significance_of_part(const struct sp_diff *d, const struct sp_change *row, double old_value,
					 double new_value)
{
	const struct sp_noise_whole w[] = {{.x = d->value[0], .n_samples = d->n_samples[0]},
					   {.x = d->value[1], .n_samples = d->n_samples[1]}};
	const double x[] = {old_value, new_value};
	double pair_is_usable = part_variance(d->scale, x[0], &w[0]) + part_variance(d->scale, x[1], &w[1]);
	double half = row->quantile * sqrt(row->factor * pair_is_usable + sample_variance(d->scale, w));
	struct sp_change c = change_make(d->scale, x, w, half);

	c.factor = row->factor;
	c.quantile = row->quantile;
	return c;
}

/* --- dispersion --- */
static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The squared deviation of a pair from the median ratio of new to old, divided by its variance by counts. */
struct deviation {
	double square, samples;
};

static bool pair_is_usable(const struct sp_noise_pair *pair)
{
	return pair->samples >= MIN_SAMPLES && pair->x[0] >= 0 && pair->x[1] >= 0 && pair->x[0] + pair->x[1] > 0;
}

/* The median ratio of new to old. 0: too few pairs, or most have only one side. */
static double median_ratio(const struct sp_noise_pair *pairs, size_t n, double *scratch)
{
	size_t n_used = 0;

	for (size_t i = 0; i < n; i++)
		if (pair_is_usable(&pairs[i]))
			scratch[n_used++] = pairs[i].x[0] > 0 ? pairs[i].x[1] / pairs[i].x[0] : INFINITY;
	double ratio = n_used >= MIN_PAIRS ? median(scratch, n_used) : 0;
	return isfinite(ratio) ? ratio : 0;
}

static int pair_deviations(const struct sp_noise_pair *pairs, size_t n, struct deviation **ret_list, size_t *ret_n)
{
	SP_FREE double *scratch = calloc(n + 1, sizeof(*scratch));
	SP_FREE struct deviation *list = calloc(n + 1, sizeof(*list));
	size_t n_used = 0;

	if (!scratch || !list)
		return -ENOMEM;
	double ratio = median_ratio(pairs, n, scratch);
	if (ratio <= 0)
		return -EAGAIN;
	for (size_t i = 0; i < n; i++) {
		const struct sp_noise_pair *pair = &pairs[i];
		double off = pair->x[1] - ratio * pair->x[0];
		double variance = pair->variance[1] + ratio * ratio * pair->variance[0];
		if (pair_is_usable(pair) && variance > 0)
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
	int r = !squares ? -ENOMEM : pair_deviations(pairs, n, &list, &n_used);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n_used; i++)
		squares[i] = list[i].square;
	double half = 1 + EXCESS_FACTOR * fmax(0, median(squares, n_used) / MEDIAN_CHI2_1 - 1); /* sorts them */
	*ret_dispersion = fmax(half, squares[(n_used - 1) * 3 / 4] / QUARTILE_CHI2_1);
	return 0;
}

/* --- spread --- */
/*
 * Whether half of the rows (by weight) deviate no more than the median of chi-squared if they had this spread. A row's
 * weight is the square root of its samples: large rows say more about it, but one of them must not decide alone.
 */
static bool spread_covers_half(const struct deviation *list, size_t n, double dispersion, double spread)
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
	double low = 0, high = 1.0 / MIN_SAMPLES, half = 1 + (dispersion - 1) / EXCESS_FACTOR;
	size_t n_used;
	int r = pair_deviations(pairs, n, &list, &n_used);

	if (r < 0)
		return r;
	*ret_spread = 0;
	if (spread_covers_half(list, n_used, half, 0))
		return 0;
	while (isfinite(high) && !spread_covers_half(list, n_used, half, high))
		high *= 2;
	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;
		*(spread_covers_half(list, n_used, half, middle) ? &high : &low) = middle;
	}
	*ret_spread = EXCESS_FACTOR * high;
	return 0;
}
