/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/rows.h"

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS, WHO_BITS = 18, NODE_BITS = 24, VALUE_BITS = 22 };
#define NODE_MASK ((UINT64_C(1) << NODE_BITS) - 1)
#define VALUE_MASK ((UINT64_C(1) << VALUE_BITS) - 1)
_Static_assert(WHO_BITS + NODE_BITS + VALUE_BITS == 64, "a row is a word");

struct place_of {
	uint64_t key; /* who, node */
	uint32_t row;
};

static int reach(void *array_pointer, size_t from, size_t to, size_t each)
{
	void *array, *grown;

	memcpy(&array, array_pointer, sizeof(array));
	if (array != NULL && from >= to)
		return 0;
	grown = reallocarray(array, to, each);
	if (grown == NULL)
		return -ENOMEM;
	memcpy(array_pointer, &grown, sizeof(grown));
	return 0;
}

int sp_window_rows_room(struct sp_window_rows *r, size_t n)
{
	size_t from = r->capacity, to = n <= from ? from : SP_MAX(n, from + from / 2);

	if (n > UINT32_MAX - 1)
		return -E2BIG;
	to = SP_MAX(to, (size_t)1);
	for (uint32_t i = 0; i < SP_MAX_VALUES; i++) {
		if (i >= r->n_values) { /* its room would not be what the capacity says */
			free(r->values[i]);
			r->values[i] = NULL;
		} else if (reach(&r->values[i], from, to, sizeof(*r->values[i])) < 0) {
			return -ENOMEM;
		}
	}
	if (reach(&r->who, from, to, sizeof(*r->who)) < 0 || reach(&r->node, from, to, sizeof(*r->node)) < 0)
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

/* --- packed --------------------------------------------------------------------------------------------------------
 * Most rows are small numbers, and further values the same multiple of the first: then a row is a word, and sorting
 * moves nothing else.
 */
bool sp_window_rows_factor(const struct sp_window_rows *r, uint32_t value, int64_t *ret_factor)
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

static bool fits(const struct sp_window_rows *r, const uint32_t *who_of)
{
	uint64_t who = 0, node = 0, value = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		who |= who_of == NULL ? r->who[i] : who_of[r->who[i]];
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
		if (!sp_window_rows_factor(r, v, &factors[v]))
			return -ERANGE;
	if (p->n > 0 && (p->n_values != r->n_values || memcmp(factors, p->factors, sizeof(factors)) != 0))
		return -ERANGE;
	if (!fits(r, who_of))
		return -ERANGE;
	if (sp_grow(&p->words, &p->capacity, p->n + r->n, sizeof(*p->words)) < 0)
		return -ENOMEM;
	p->n_values = r->n_values;
	memcpy(p->factors, factors, sizeof(factors));
	uint64_t *words = p->words + p->n;
	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t who = who_of == NULL ? r->who[i] : who_of[r->who[i]];
		words[i] = (who << NODE_BITS | r->node[i]) << VALUE_BITS | (uint64_t)r->values[0][i];
	}
	p->n += r->n;
	return 0;
}

/* By bits from `low` up to `high`, a digit after the other; where the words are then. */
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

/* Where bits that are not the same in all words end. */
static unsigned end_of_bits(uint64_t differing, unsigned low, unsigned n_bits)
{
	uint64_t bits = differing >> low & ((UINT64_C(1) << n_bits) - 1);

	return low + (bits == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bits));
}

static uint64_t *sort_words(uint64_t *words, uint64_t *room, size_t n)
{
	uint64_t differing = 0;
	const unsigned who_at = VALUE_BITS + NODE_BITS;

	for (size_t i = 1; i < n; i++)
		differing |= words[i] ^ words[0];
	uint64_t *sorted = sort_bits(words, room, n, VALUE_BITS, end_of_bits(differing, VALUE_BITS, NODE_BITS));
	return sort_bits(sorted, sorted == words ? room : words, n, who_at, end_of_bits(differing, who_at, WHO_BITS));
}

/* Sums of values that are not negative: one that is too large is so by whichever way it is made. */
static void fill_values(struct sp_window_rows *r, const int64_t *factors)
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
	if (sp_window_rows_room(r, n_out) < 0)
		return -ENOMEM;
	last = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t place = words[i] >> VALUE_BITS;
		int64_t value = (int64_t)(words[i] & VALUE_MASK);
		if (place == last) { /* of less than 2^32 words */
			r->values[0][r->n - 1] += value;
			continue;
		}
		r->who[r->n] = (uint32_t)(place >> NODE_BITS);
		r->node[r->n] = (uint32_t)(place & NODE_MASK);
		r->values[0][r->n++] = value;
		last = place;
	}
	return 0;
}

int sp_packed_rows_take(struct sp_packed_rows *p, struct sp_window_rows *ret_rows)
{
	SP_FREE uint64_t *room = malloc((p->n + 1) * sizeof(*room));

	if (room == NULL)
		return -ENOMEM;
	ret_rows->n_values = p->n_values;
	int r = unpack_words(sort_words(p->words, room, p->n), p->n, ret_rows);
	if (r == 0)
		fill_values(ret_rows, p->factors);
	return r;
}

void sp_packed_rows_done(struct sp_packed_rows *p)
{
	free(p->words);
	*p = (struct sp_packed_rows){0};
}

/* --- any rows --- */
/* One pass by the digit at this bit, from `from` to `to`; false: all have the same. */
static bool sort_digit(const struct place_of *from, struct place_of *to, size_t n, unsigned bit)
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

/* The rows in the order told, those of one key and node summed. */
static int put_in_order(struct sp_window_rows *r, const struct place_of *order)
{
	uint32_t n_out = 0;
	SP_FREE int64_t *column = malloc(r->n * sizeof(*column));

	if (column == NULL)
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

static int sort_any(struct sp_window_rows *r)
{
	size_t n = r->n;
	SP_FREE struct place_of *rooms = n == 0 ? NULL : malloc(2 * n * sizeof(*rooms));

	if (n == 0 || rooms == NULL)
		return n == 0 ? 0 : -ENOMEM;
	struct place_of *from = rooms, *to = rooms + n;
	for (uint32_t i = 0; i < n; i++)
		from[i] = (struct place_of){.key = (uint64_t)r->who[i] << 32 | r->node[i], .row = i};
	for (unsigned bit = 0; bit < 64; bit += DIGIT_BITS) {
		if (!sort_digit(from, to, n, bit))
			continue;
		struct place_of *other = from;
		from = to;
		to = other;
	}
	return put_in_order(r, from);
}

int sp_window_rows_sort(struct sp_window_rows *r)
{
	struct sp_packed_rows packed = {0};
	int e = sp_packed_rows_add(&packed, r, NULL);

	if (e == 0 && packed.n > 0)
		e = sp_packed_rows_take(&packed, r);
	else if (e == -ERANGE)
		e = sort_any(r);
	sp_packed_rows_done(&packed);
	return e;
}
