/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/number.h"

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

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

static void add_saturated(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
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
				add_saturated(&values[n_out - 1], column[order[i].row]);
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

int sp_window_rows_sort(struct sp_window_rows *r)
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
