/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_rows.c: rows of counted events: what the kernel half has counted since the last turn, in the order shown. */
#include "base/mem.h"
#include "base/search.h"
#include "cmd/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
	const struct sp_trace_row *x = a, *y = b;

	return memcmp(x->key, y->key, sizeof(x->key));
}

/* The point and the key without the bucket. */
static int by_group(const struct sp_trace_row *a, const struct sp_trace_row *b)
{
	return SP_RISING(sp_trace_key_point(a->key), sp_trace_key_point(b->key))
		   ?: memcmp(a->key + 1, b->key + 1, sizeof(a->key) - sizeof(*a->key));
}

static int by_group_and_bucket(const void *a, const void *b)
{
	const struct sp_trace_row *x = a, *y = b;

	return by_group(x, y) ?: SP_RISING(x->key[0], y->key[0]);
}

static int by_sum(const void *a, const void *b)
{
	const struct sp_trace_value *x = &((const struct sp_trace_row *)a)->value;
	const struct sp_trace_value *y = &((const struct sp_trace_row *)b)->value;

	return SP_FALLING((int64_t)x->sum[0], (int64_t)y->sum[0]) ?: SP_FALLING(x->n, y->n) ?: by_key(a, b);
}

static int row_take(void *arg, const sp_u64 *key, const struct sp_trace_value *sum)
{
	struct sp_trace_run *run = arg;
	struct sp_trace_rows *rows = run->rows;
	struct sp_trace_row *row;

	if (sp_grow(&rows->now, &rows->now_capacity, rows->n_now + 1, sizeof(*rows->now)) < 0)
		return -ENOMEM;
	row = &rows->now[rows->n_now++];
	*row = (struct sp_trace_row){.value = *sum};
	memcpy(row->key, key, sp_tracing_key_bytes(run->tracing));
	return 0;
}

/* What is new of a row; false: nothing. */
static bool row_new(const struct sp_trace_rows *rows, const struct sp_trace_row *row, struct sp_trace_row *ret_row)
{
	const struct sp_trace_row *before =
	    rows->n_before ? bsearch(row, rows->before, rows->n_before, sizeof(*row), by_key) : NULL;

	*ret_row = *row;
	if (!before)
		return row->value.n != 0;
	ret_row->value.n -= before->value.n;
	for (size_t i = 0; i < SP_TRACE_SUMS; i++)
		ret_row->value.sum[i] -= before->value.sum[i];
	return ret_row->value.n != 0;
}

int sp_trace_rows_turn(struct sp_trace_run *run)
{
	struct sp_trace_rows *rows = run->rows;
	int r;

	free(rows->before);
	rows->before = sp_take_ptr(rows->now);
	rows->n_before = rows->n_now;
	rows->n_now = rows->now_capacity = rows->n_shown = 0;
	r = sp_tracing_rows(run->tracing, row_take, run);
	if (r < 0)
		return r;
	free(rows->shown);
	rows->shown = calloc(rows->n_now + 1, sizeof(*rows->shown));
	if (!rows->shown)
		return -ENOMEM;
	if (rows->n_now)
		qsort(rows->now, rows->n_now, sizeof(*rows->now), by_key);
	for (size_t i = 0; i < rows->n_now; i++)
		rows->n_shown += row_new(rows, &rows->now[i], &rows->shown[rows->n_shown]);
	for (size_t i = 0; i < rows->n_shown; i++)
		run->n_events += rows->shown[i].value.n;
	qsort(rows->shown, rows->n_shown, sizeof(*rows->shown), run->args->hist ? by_group_and_bucket : by_sum);
	return 0;
}

void sp_trace_rows_free(struct sp_trace_rows *rows)
{
	if (!rows)
		return;
	free(rows->now);
	free(rows->before);
	free(rows->shown);
	free(rows);
}
