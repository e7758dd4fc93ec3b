/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof_samples.c: samples into rows, without knowing yet what their numbers mean. */
#include "read/pprof/pprof.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/proto.h"
#include "read/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int append(uint8_t **buffer, size_t *n, size_t *capacity, const uint8_t *bytes, size_t size)
{
	int e = *n + size > *capacity ? sp_grow(buffer, capacity, *n + size, 1) : 0;

	if (e >= 0 && size)
		memcpy(*buffer + *n, bytes, size);
	*n += e >= 0 ? size : 0;
	return e;
}

static int append_location(struct pprof_pending *s, const struct pprof_field *f)
{
	uint8_t one[10];

	if (f->wire == PPROF_BYTES)
		return append(&s->bytes, &s->n, &s->capacity, f->bytes.data, f->bytes.size);
	return append(&s->bytes, &s->n, &s->capacity, one, sp_put_uleb(one, f->value));
}

/* Labels stay messages, each behind its length. */
static int append_label(struct pprof *r, const struct pprof_field *f)
{
	uint8_t head[10];
	int e = append(&r->labels, &r->labels_n, &r->labels_capacity, head, sp_put_uleb(head, f->bytes.size));

	if (e < 0)
		return e;
	return append(&r->labels, &r->labels_n, &r->labels_capacity, f->bytes.data, f->bytes.size);
}

static void add_value(struct pprof_pending *s, uint64_t value)
{
	if (s->n_values < SP_MAX_VALUES)
		s->values[s->n_values] = (int64_t)value;
	s->n_values++;
}

/* false: broken. */
static bool add_values(struct pprof_pending *s, struct pprof_field *f)
{
	if (f->wire == PPROF_VARINT)
		add_value(s, f->value);
	while (f->wire == PPROF_BYTES && sp_cursor_left(&f->bytes))
		add_value(s, sp_cursor_uleb(&f->bytes));
	return !f->bytes.bad;
}

/* 1, 0: it is broken, or negative. */
static int parse_fields(struct pprof *r, struct sp_cursor *c, struct pprof_pending *s)
{
	struct pprof_field f = {0};
	int e = 0;

	while (e >= 0 && pprof_next(c, &f)) {
		bool number = f.wire == PPROF_VARINT && f.number != SAMPLE_LABEL;

		if (f.number > SAMPLE_LABEL)
			continue;
		if (!number && f.wire != PPROF_BYTES)
			return 0;
		if (f.number == SAMPLE_LOCATION)
			e = append_location(s, &f);
		else if (f.number == SAMPLE_LABEL)
			e = append_label(r, &f);
		else if (!add_values(s, &f))
			return 0;
	}
	return e < 0 ? e : !c->bad;
}

static int parse(struct pprof *r, struct sp_cursor c, struct pprof_pending *s)
{
	uint64_t stack_bytes = 0;
	int good;

	s->n = s->n_values = r->labels_n = 0;
	good = append(&s->bytes, &s->n, &s->capacity, (const uint8_t *)&stack_bytes, sizeof(stack_bytes));
	if (good >= 0)
		good = parse_fields(r, &c, s);
	if (good <= 0)
		return good;
	stack_bytes = s->n - sizeof(stack_bytes);
	memcpy(s->bytes, &stack_bytes, sizeof(stack_bytes));
	good = append(&s->bytes, &s->n, &s->capacity, r->labels, r->labels_n);
	return good < 0 ? good : 1;
}

static int fold(struct pprof *r, const struct pprof_pending *s)
{
	struct pprof_row *row = sp_read_table_find(r->rows, s->hash, s->bytes, s->n);

	if (!row)
		return -ENOMEM;
	if (!row->n_samples++)
		row->at = s->at;
	for (size_t i = 0; i < r->stride; i++)
		sp_saturating_add(&row->values[i], s->values[i]);
	return 0;
}

int pprof_flush_pending(struct pprof *r)
{
	int e = 0;

	for (size_t i = 0; i < r->n_pending; i++)
		sp_read_table_prefetch(r->rows, r->pending[i].hash);
	for (size_t i = 0; i < r->n_pending && e >= 0; i++)
		e = fold(r, &r->pending[i]);
	r->n_pending = 0;
	return e;
}

/* If no value types came before it, the first sample tells how many values there are. */
static int pprof_samples_init(struct pprof *r, size_t n_values)
{
	r->n_values = r->n_types ? r->n_types : n_values;
	r->stride = SP_MIN(r->n_values, (size_t)SP_MAX_VALUES);
	return sp_read_table_new(sizeof(struct pprof_row) + r->stride * sizeof(int64_t), &r->rows);
}

int pprof_add_sample(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	struct pprof_pending *s = &r->pending[r->n_pending];
	int e = parse(r, c, s);

	if (e < 0)
		return e;
	if (!e)
		return sp_input_bad_at(r->in, r->o, r->result, at, "sample: not a message as profile.proto has it");
	e = r->rows || !s->n_values ? 0 : pprof_samples_init(r, s->n_values);
	if (e < 0)
		return e;
	if (s->n_values != r->n_values || !s->n_values)
		return sp_input_bad_at(r->in, r->o, r->result, at, "sample: %zu values; expected %zu", s->n_values,
				       r->rows ? r->n_values : SP_MAX(r->n_types, (size_t)1));
	s->at = at;
	s->hash = sp_read_table_hash(r->rows, s->bytes, s->n);
	r->result->n_samples++;
	return ++r->n_pending == PPROF_MAX_PENDING ? pprof_flush_pending(r) : 0;
}
