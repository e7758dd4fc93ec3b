/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/multiples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sp_multiples sp_multiples_none(uint32_t n_values)
{
	struct sp_multiples m = {.n_values = n_values, .n_base = n_values};

	for (uint32_t v = 0; v < n_values; v++) {
		m.base_of[v] = v;
		m.factor[v] = 1;
	}
	return m;
}

/* The sum of magnitudes, which no sum of some of the values exceeds; false: overflow. */
static bool sum_magnitudes(const int64_t *values, uint32_t n, int64_t *ret_most)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		if (values[i] == INT64_MIN ||
		    __builtin_add_overflow(most, values[i] < 0 ? -values[i] : values[i], &most))
			return false;
	*ret_most = most;
	return true;
}

static bool is_multiple(const int64_t *first, const int64_t *v, uint32_t n, int64_t most, int64_t *ret_factor)
{
	uint32_t i = 0;
	int64_t factor, product;

	while (i < n && first[i] == 0)
		i++;
	if (i == n || v[i] == INT64_MIN)
		return false;
	factor = v[i] / first[i];
	if (__builtin_mul_overflow(most, factor, &product) || product == INT64_MIN)
		return false;
	for (i = 0; i < n; i++)
		if (first[i] * factor != v[i])
			return false;
	*ret_factor = factor;
	return true;
}

struct sp_multiples sp_multiples_of(const struct sp_window_rows *rows)
{
	struct sp_multiples m = {.n_values = rows->n_values};
	int64_t most = 0;
	bool fits = rows->n_values > 1 && sum_magnitudes(rows->values[0], rows->n, &most);

	for (uint32_t v = 0; v < rows->n_values; v++) {
		if (v > 0 && fits && is_multiple(rows->values[0], rows->values[v], rows->n, most, &m.factor[v]))
			continue;
		m.base_of[v] = m.n_base++;
		m.factor[v] = 1;
	}
	return m;
}

struct sp_window_rows sp_multiples_base_rows(const struct sp_multiples *m, const struct sp_window_rows *rows)
{
	struct sp_window_rows base = *rows;

	base.n_values = m->n_base;
	memset(base.values, 0, sizeof(base.values));
	for (uint32_t v = m->n_values; v-- > 0;) /* the first value with this base is the base */
		base.values[m->base_of[v]] = rows->values[v];
	return base;
}

int sp_multiples_expand(const struct sp_multiples *m, struct sp_window_rows *rows)
{
	struct sp_window_rows all = *rows;
	bool done[SP_MAX_VALUES] = {false};
	int r = 0;

	memset(all.values, 0, sizeof(all.values));
	all.n_values = m->n_values;
	for (uint32_t v = 0; v < m->n_values; v++) {
		const int64_t *base = rows->values[m->base_of[v]];
		if (!done[m->base_of[v]]) {
			done[m->base_of[v]] = true;
			all.values[v] = rows->values[m->base_of[v]];
			continue;
		}
		all.values[v] = calloc(rows->capacity + 1, sizeof(*all.values[v]));
		for (uint32_t i = 0; i < rows->n && all.values[v]; i++)
			all.values[v][i] = base[i] * m->factor[v];
		r = !all.values[v] ? -ENOMEM : r;
	}
	*rows = all;
	return r;
}
