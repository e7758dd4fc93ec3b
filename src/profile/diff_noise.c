/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_noise.c: intervals. Student's t goes through Wallace's approximation (1959), which turns t with n degrees of
 * freedom into a normal deviate: sqrt(n ln(1 + t^2 / n)) (8n + 1) / (8n + 3); from 5 on it is right to a hundredth,
 * below a little too careful.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/priv.h"

#define Z_95 1.959964            /* of the normal distribution: 95 % lie within */
#define MEDIAN_CHI2_1 0.454936   /* of a squared normal deviate: half lie below, */
#define QUARTILE_CHI2_1 1.323304 /* and three quarters */
#define MIN_SAMPLES 16           /* of a pair that tells the dispersion: fewer are too coarse */

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

double sp_noise_change(enum sp_diff_scale scale, const struct sp_noise_side s[2], const struct sp_noise_whole w[2],
		       struct sp_change *ret_change)
{
	struct sp_change c = {.old = shown(scale, s[0].x, &w[0]), .new = shown(scale, s[1].x, &w[1])};
	double variance = 0, parts = 0;

	for (int side = 0; side < 2; side++) {
		double one = one_sample(scale, w, side);
		variance += s[side].variance + one * one;
		parts += isinf(s[side].freedom) ? 0 : s[side].variance * s[side].variance / s[side].freedom;
	}
	double freedom = parts > 0 ? variance * variance / parts : INFINITY, deviation = sqrt(variance);
	double half = deviation * t_of_deviate(Z_95, freedom);
	c.delta = c.new - c.old;
	c.low = c.delta - half;
	c.high = c.delta + half;
	c.within_noise = !(c.low > 0 || c.high < 0);
	*ret_change = c;
	return deviation > 0 ? erfc(deviate_of_t(fabs(c.delta) / deviation, freedom) / M_SQRT2) : 1;
}

/* --- dispersion --------------------------------------------------------------------------------------------------- */
static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The value below which a share of the sorted values lies. */
static double quantile(const double *values, size_t n, double share)
{
	double at = share * (double)(n - 1), part = at - floor(at);
	size_t below = (size_t)at, above = SP_MIN(below + 1, n - 1);

	return values[below] * (1 - part) + values[above] * part;
}

static bool counts(const struct sp_noise_pair *pair)
{
	return pair->samples >= MIN_SAMPLES && pair->x[0] > 0 && pair->x[1] >= 0;
}

double sp_noise_dispersion(const struct sp_noise_pair *pairs, size_t n, double *scratch, size_t *ret_n_used)
{
	size_t n_used = 0;

	for (size_t i = 0; i < n; i++)
		if (counts(&pairs[i]))
			scratch[n_used++] = pairs[i].x[1] / pairs[i].x[0];
	*ret_n_used = n_used;
	if (n_used == 0)
		return 1;
	qsort(scratch, n_used, sizeof(*scratch), compare);
	double ratio = quantile(scratch, n_used, 0.5);
	n_used = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sp_noise_pair *pair = &pairs[i];
		double off = pair->x[1] - ratio * pair->x[0];
		double variance = pair->variance[1] + ratio * ratio * pair->variance[0];
		if (counts(pair))
			scratch[n_used++] = variance > 0 ? off * off / variance : 0;
	}
	qsort(scratch, n_used, sizeof(*scratch), compare);
	double half = quantile(scratch, n_used, 0.5) / MEDIAN_CHI2_1;
	return fmax(fmax(1, half), quantile(scratch, n_used, 0.75) / QUARTILE_CHI2_1);
}
