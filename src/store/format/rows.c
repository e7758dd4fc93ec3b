/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/rows.h"

#include "base/mem.h"
#include "base/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS, WHO_BITS = 18, NODE_BITS = 24, VALUE_BITS = 22 };
#define NODE_MASK ((UINT64_C(1) << NODE_BITS) - 1)
#define VALUE_MASK ((UINT64_C(1) << VALUE_BITS) - 1)
_Static_assert(WHO_BITS + NODE_BITS + VALUE_BITS == 64, "a row is a word");

struct row_key {
	uint64_t key; /* who, node */
	uint32_t row;
};

static int grow_column(void *array_pointer, size_t from, size_t to, size_t each)
{
	void *array, *grown;

	memcpy(&array, array_pointer, sizeof(array));
	if (array && from >= to)
		return 0;
	grown = reallocarray(array, to, each);
	if (!grown)
		return -ENOMEM;
	memcpy(array_pointer, &grown, sizeof(grown));
	return 0;
}

int sp_window_rows_reserve(struct sp_window_rows *r, size_t n)
{
	size_t from = r->capacity, to = n <= from ? from : SP_MAX(n, from + from / 2);

	if (n > UINT32_MAX - 1)
		return -E2BIG;
	to = SP_MAX(to, (size_t)1);
	for (uint32_t i = 0; i < SP_MAX_VALUES; i++) {
		if (i >= r->n_values) { /* else its size would not match the capacity */
			free(r->values[i]);
			r->values[i] = NULL;
		} else if (grow_column(&r->values[i], from, to, sizeof(*r->values[i])) < 0) {
			return -ENOMEM;
		}
	}
	if (grow_column(&r->who, from, to, sizeof(*r->who)) < 0 ||
	    grow_column(&r->node, from, to, sizeof(*r->node)) < 0)
		return -ENOMEM;
	r->capacity = to;
	return 0;
}

void sp_window_rows_done(struct sp_window_rows *r)
{
	free(r->who);
	free(r->node);
	for (uint32_t i = 0; i < SP_MAX_VALUES; i++)
		free(r->values[i]);
	*r = (struct sp_window_rows){0};
}

/* --- packed rows --- */
/*
 * In most windows numbers are small, and all values are multiples of the first. Then a row fits into one word, which is
 * all that sorting moves.
 */
bool sp_window_rows_find_factor(const struct sp_window_rows *r, uint32_t value, int64_t *ret_factor)
{
	const int64_t *first = r->values[0], *v = r->values[value];

	if (r->n == 0 || first[0] == 0 || v[0] == INT64_MIN || v[0] % first[0] != 0 || v[0] / first[0] < 0)
		return false;
	int64_t factor = v[0] / first[0], product;
	for (uint32_t i = 0; i < r->n; i++)
		if (__builtin_mul_overflow(first[i], factor, &product) || product != v[i])
			return false;
	*ret_factor = factor;
	return true;
}

static bool fits_words(const struct sp_window_rows *r, const uint32_t *who_of)
{
	uint64_t who = 0, node = 0, value = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		who |= !who_of ? r->who[i] : who_of[r->who[i]];
		node |= r->node[i];
		value |= (uint64_t)r->values[0][i];
	}
	return who >> WHO_BITS == 0 && node >> NODE_BITS == 0 && value >> VALUE_BITS == 0;
}

int sp_packed_rows_add(struct sp_packed_rows *p, const struct sp_window_rows *r, const uint32_t *who_of)
{
	int64_t factors[SP_MAX_VALUES] = {1};

	if (r->n == 0)
		return 0;
	for (uint32_t v = 1; v < r->n_values; v++)
		if (!sp_window_rows_find_factor(r, v, &factors[v]))
			return -ERANGE;
	if (p->n > 0 && (p->n_values != r->n_values || memcmp(factors, p->factors, sizeof(factors)) != 0))
		return -ERANGE;
	if (!fits_words(r, who_of))
		return -ERANGE;
	if (sp_grow(&p->words, &p->capacity, p->n + r->n, sizeof(*p->words)) < 0)
		return -ENOMEM;
	p->n_values = r->n_values;
	memcpy(p->factors, factors, sizeof(factors));
	uint64_t *words = p->words + p->n;
	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t who = !who_of ? r->who[i] : who_of[r->who[i]];
		words[i] = (who << NODE_BITS | r->node[i]) << VALUE_BITS | (uint64_t)r->values[0][i];
	}
	p->n += r->n;
	return 0;
}

/* Radix sort by the bits from `low` up to `high`. Returns the array that has the result. */
static uint64_t *sort_bits(uint64_t *from, uint64_t *to, size_t n, unsigned low, unsigned high)
{
	for (unsigned n_digits = (high - low + DIGIT_BITS - 1) / DIGIT_BITS; n_digits > 0; n_digits--) {
		unsigned bits = (high - low + n_digits - 1) / n_digits;
		uint32_t starts[N_DIGITS], sum = 0, mask = (1U << bits) - 1;
		memset(starts, 0, sizeof(*starts) << bits);
		for (size_t i = 0; i < n; i++)
			starts[from[i] >> low & mask]++;
		for (uint32_t d = 0; d <= mask; d++) {
			uint32_t here = starts[d];
			starts[d] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			to[starts[from[i] >> low & mask]++] = from[i];
		uint64_t *other = from;
		from = to;
		to = other;
		low += bits;
	}
	return from;
}

/* One past the highest differing bit, among n_bits from `low` on. */
static unsigned end_of_differing_bits(uint64_t differing, unsigned low, unsigned n_bits)
{
	uint64_t bits = differing >> low & ((UINT64_C(1) << n_bits) - 1);

	return low + (bits == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bits));
}

static uint64_t *sort_words(uint64_t *words, uint64_t *scratch, size_t n)
{
	uint64_t differing = 0;
	const unsigned who_at = VALUE_BITS + NODE_BITS;

	for (size_t i = 1; i < n; i++)
		differing |= words[i] ^ words[0];
	uint64_t *sorted =
	    sort_bits(words, scratch, n, VALUE_BITS, end_of_differing_bits(differing, VALUE_BITS, NODE_BITS));
	return sort_bits(sorted, sorted == words ? scratch : words, n, who_at,
			 end_of_differing_bits(differing, who_at, WHO_BITS));
}

/* Values and factors are not negative, so an overflow is INT64_MAX whatever the order of additions. */
static void multiply_values(struct sp_window_rows *r, const int64_t *factors)
{
	for (uint32_t v = 1; v < r->n_values; v++)
		for (uint32_t i = 0; i < r->n; i++)
			if (__builtin_mul_overflow(r->values[0][i], factors[v], &r->values[v][i]))
				r->values[v][i] = INT64_MAX;
}

static int unpack_words(const uint64_t *words, size_t n, struct sp_window_rows *r)
{
	uint64_t last = UINT64_MAX;
	size_t n_out = 0;

	for (size_t i = 0; i < n; i++) {
		n_out += words[i] >> VALUE_BITS != last;
		last = words[i] >> VALUE_BITS;
	}
	r->n = 0;
	if (sp_window_rows_reserve(r, n_out) < 0)
		return -ENOMEM;
	last = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = words[i] >> VALUE_BITS;
		int64_t value = (int64_t)(words[i] & VALUE_MASK);
		if (key == last) { /* cannot overflow: fewer than 2^32 words of VALUE_BITS */
			r->values[0][r->n - 1] += value;
			continue;
		}
		r->who[r->n] = (uint32_t)(key >> NODE_BITS);
		r->node[r->n] = (uint32_t)(key & NODE_MASK);
		r->values[0][r->n++] = value;
		last = key;
	}
	return 0;
}

int sp_packed_rows_unpack(struct sp_packed_rows *p, struct sp_window_rows *ret_rows)
{
	SP_FREE uint64_t *scratch = malloc((p->n + 1) * sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	ret_rows->n_values = p->n_values;
	int r = unpack_words(sort_words(p->words, scratch, p->n), p->n, ret_rows);
	if (r == 0)
		multiply_values(ret_rows, p->factors);
	return r;
}

void sp_packed_rows_done(struct sp_packed_rows *p)
{
	free(p->words);
	*p = (struct sp_packed_rows){0};
}

/* --- rows that do not fit --- */
/* One pass of a radix sort, by the digit at this bit; false: all rows have the same digit. */
static bool sort_digit(const struct row_key *from, struct row_key *to, size_t n, unsigned bit)
{
	uint32_t starts[N_DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		starts[from[i].key >> bit & (N_DIGITS - 1)]++;
	if (starts[from[0].key >> bit & (N_DIGITS - 1)] == n)
		return false;
	for (size_t d = 0; d < N_DIGITS; d++) {
		uint32_t here = starts[d];
		starts[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[starts[from[i].key >> bit & (N_DIGITS - 1)]++] = from[i];
	return true;
}

/* Puts the rows into this order; adds up rows of the same who and node. */
static int reorder_rows(struct sp_window_rows *r, const struct row_key *order)
{
	uint32_t n_out = 0;
	SP_FREE int64_t *column = malloc(r->n * sizeof(*column));

	if (!column)
		return -ENOMEM;
	for (uint32_t v = 0; v < r->n_values; v++) {
		int64_t *values = r->values[v];
		memcpy(column, values, r->n * sizeof(*column));
		n_out = 0;
		for (uint32_t i = 0; i < r->n; i++) {
			if (i > 0 && order[i].key == order[i - 1].key)
				sp_saturating_add(&values[n_out - 1], column[order[i].row]);
			else
				values[n_out++] = column[order[i].row];
		}
	}
	n_out = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		if (i > 0 && order[i].key == order[i - 1].key)
			continue;
		r->who[n_out] = (uint32_t)(order[i].key >> 32);
		r->node[n_out++] = (uint32_t)order[i].key;
	}
	r->n = n_out;
	return 0;
}

static int sort_wide_rows(struct sp_window_rows *r)
{
	size_t n = r->n;
	SP_FREE struct row_key *scratch = n == 0 ? NULL : malloc(2 * n * sizeof(*scratch));

	if (n == 0 || !scratch)
		return n == 0 ? 0 : -ENOMEM;
	struct row_key *from = scratch, *to = scratch + n;
	for (uint32_t i = 0; i < n; i++)
		from[i] = (struct row_key){.key = (uint64_t)r->who[i] << 32 | r->node[i], .row = i};
	for (unsigned bit = 0; bit < 64; bit += DIGIT_BITS) {
		if (!sort_digit(from, to, n, bit))
			continue;
		struct row_key *other = from;
		from = to;
		to = other;
	}
	return reorder_rows(r, from);
}

int sp_window_rows_sort(struct sp_window_rows *r)
{
	struct sp_packed_rows packed = {0};
	int e = sp_packed_rows_add(&packed, r, NULL);

	if (e == 0 && packed.n > 0)
		e = sp_packed_rows_unpack(&packed, r);
	else if (e == -ERANGE)
		e = sort_wide_rows(r);
	sp_packed_rows_done(&packed);
	return e;
}
