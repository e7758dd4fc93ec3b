/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.c: profile.proto (github.com/google/pprof) of any producer: Go, gperftools, Parca, Pyroscope, soprof.
 *
 * Unknown fields are skipped, as protocol buffers require. pprof.h has the design.
 */
#include "read/pprof/pprof.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/proto.h"
#include "read/priv.h"
#include "read/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAD = 20 /* a tag and a length */ };

/* --- wire format --- */
/* A tag; false if it is none. */
static bool read_tag(struct sp_cursor *c, struct pprof_field *f)
{
	uint64_t tag = sp_cursor_uleb(c);

	f->number = (uint32_t)(tag >> 3);
	f->wire = tag & 7;
	if (!f->number || tag >> 3 >= 1 << 29 || f->wire == 3 || f->wire == 4 || f->wire > 5)
		c->bad = true;
	return !c->bad;
}

bool pprof_next(struct sp_cursor *c, struct pprof_field *f)
{
	if (!sp_cursor_left(c) || !read_tag(c, f))
		return false;
	f->value = 0;
	if (f->wire == PPROF_VARINT)
		f->value = sp_cursor_uleb(c);
	else if (f->wire == PPROF_BYTES)
		f->bytes = sp_cursor_sub(c, sp_cursor_uleb(c));
	else
		sp_cursor_skip(c, f->wire == PPROF_FIXED64 ? 8 : 4);
	return !c->bad;
}

uint32_t pprof_string_index(uint64_t value)
{
	return value < PPROF_NO_STRING ? (uint32_t)value : PPROF_NO_STRING;
}

/* Numbers of a message by field, the last of each as protocol buffers want it; false if it is broken. */
static bool read_numbers(struct sp_cursor c, uint64_t *numbers, uint32_t n)
{
	struct pprof_field f;

	memset(numbers, 0, n * sizeof(*numbers));
	while (pprof_next(&c, &f)) {
		if (f.number >= n)
			continue;
		if (f.wire != PPROF_VARINT)
			return false;
		numbers[f.number] = f.value;
	}
	return !c.bad;
}

static int bad_message(struct pprof *r, uint64_t at, const char *what)
{
	return sp_input_bad_at(r->in, r->o, r->result, at, "%s: not a message as profile.proto has it", what);
}

/* --- messages --- */
static int add_item(struct pprof_table *t, const void *item)
{
	int e = sp_grow(&t->items, &t->capacity, t->n + 1, t->item_bytes);

	if (e < 0)
		return e;
	memcpy((char *)t->items + t->n++ * t->item_bytes, item, t->item_bytes);
	return 0;
}

static int add_type(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	uint64_t n[TYPE_UNIT + 1];

	if (!read_numbers(c, n, SP_COUNT(n)))
		return bad_message(r, at, "sample type");
	if (r->n_types == PPROF_MAX_TYPES)
		return sp_fail_said(-EBADMSG, "%s: byte %" PRIu64 ": more than %d sample types", sp_input_name(r->in),
				    at, PPROF_MAX_TYPES);
	r->types[r->n_types++] =
	    (struct pprof_type){pprof_string_index(n[TYPE_TYPE]), pprof_string_index(n[TYPE_UNIT]), at};
	return 0;
}

static int set_period_type(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	uint64_t n[TYPE_UNIT + 1];

	if (!read_numbers(c, n, SP_COUNT(n)))
		return bad_message(r, at, "period type");
	r->period_type = (struct pprof_type){pprof_string_index(n[TYPE_TYPE]), pprof_string_index(n[TYPE_UNIT]), at};
	return 0;
}

static int id_is_zero(struct pprof *r, uint64_t at, const char *what)
{
	return sp_input_bad_at(r->in, r->o, r->result, at, "%s: id 0; expected one from 1 up", what);
}

static int add_mapping(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	uint64_t n[MAPPING_BUILD_ID + 1];

	if (!read_numbers(c, n, SP_COUNT(n)))
		return bad_message(r, at, "mapping");
	if (!n[MAPPING_ID])
		return id_is_zero(r, at, "mapping");
	if (!r->mappings.n)
		r->first_mapping = n[MAPPING_ID];
	return add_item(&r->mappings, &(struct pprof_mapping){.id = n[MAPPING_ID],
							      .at = at,
							      .start = n[MAPPING_START],
							      .limit = n[MAPPING_LIMIT],
							      .offset = n[MAPPING_OFFSET],
							      .filename = pprof_string_index(n[MAPPING_FILENAME]),
							      .build_id = pprof_string_index(n[MAPPING_BUILD_ID])});
}

static uint32_t line_number(uint64_t value)
{
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static int add_function(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	uint64_t n[FUNCTION_START_LINE + 1];

	if (!read_numbers(c, n, SP_COUNT(n)))
		return bad_message(r, at, "function");
	if (!n[FUNCTION_ID])
		return id_is_zero(r, at, "function");
	return add_item(&r->functions,
			&(struct pprof_function){.id = n[FUNCTION_ID],
						 .at = at,
						 .name = pprof_string_index(n[FUNCTION_NAME]),
						 .system_name = pprof_string_index(n[FUNCTION_SYSTEM_NAME]),
						 .filename = pprof_string_index(n[FUNCTION_FILENAME]),
						 .start_line = line_number(n[FUNCTION_START_LINE])});
}

/* 1, 0: it is broken, or negative. */
static int pprof_add_line(struct pprof *r, const struct pprof_field *f)
{
	uint64_t n[LINE_LINE + 1];
	int e;

	if (f->wire != PPROF_BYTES || !read_numbers(f->bytes, n, SP_COUNT(n)))
		return 0;
	if (r->n_lines >= UINT32_MAX)
		return -E2BIG;
	e = sp_grow(&r->lines, &r->lines_capacity, r->n_lines + 1, sizeof(*r->lines));
	if (e < 0)
		return e;
	r->lines[r->n_lines++] = (struct pprof_line){n[LINE_FUNCTION], line_number(n[LINE_LINE])};
	return 1;
}

static int add_location(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	struct pprof_location l = {.at = at, .first_line = (uint32_t)r->n_lines};
	struct pprof_field f;
	int good = 1;

	while (good > 0 && pprof_next(&c, &f)) {
		if (f.number == LOCATION_LINE)
			good = pprof_add_line(r, &f);
		else if (f.number < LOCATION_LINE)
			good = f.wire == PPROF_VARINT;
		if (f.number == LOCATION_ID)
			l.id = f.value;
		else if (f.number == LOCATION_MAPPING)
			l.mapping = f.value;
		else if (f.number == LOCATION_ADDRESS)
			l.address = f.value;
	}
	if (good < 0)
		return good;
	if (!good || c.bad)
		return bad_message(r, at, "location");
	if (!l.id)
		return id_is_zero(r, at, "location");
	l.n_lines = (uint32_t)r->n_lines - l.first_line;
	return add_item(&r->locations, &l);
}

static int add_string(struct pprof *r, struct sp_cursor c, uint64_t at)
{
	int e = 0;
	int64_t number;

	if (!r->n_strings && c.size)
		e = sp_input_bad_at(r->in, r->o, r->result, at, "string table: begins with \"%.*s\"; expected \"\"",
				    (int)SP_MIN(c.size, (size_t)40), (const char *)c.data);
	if (e >= 0 && r->n_strings >= PPROF_NO_STRING)
		e = -E2BIG;
	if (e >= 0)
		e = sp_grow(&r->strings, &r->strings_capacity, r->n_strings + 1, sizeof(*r->strings));
	if (e < 0)
		return e;
	if (c.size && memmem(c.data, c.size, "\\x", 2)) { /* \xNN: our own view's form of bytes that are no text */
		char *decoded SP_FREE = sp_read_unescape(SP_ENCODE_TERMINAL, (const char *)c.data, c.size);

		number = decoded ? sp_profile_add_string(r->p, decoded) : -ENOMEM;
	} else {
		number = sp_profile_add_bytes(r->p, c.size ? (const void *)c.data : "", c.size);
	}
	if (number < 0)
		return (int)number;
	r->strings[r->n_strings++] = (uint32_t)number;
	return 0;
}

static int add_message(struct pprof *r, uint32_t field, struct sp_cursor c, uint64_t at)
{
	switch (field) {
	case PROFILE_SAMPLE_TYPE:
		return add_type(r, c, at);
	case PROFILE_SAMPLE:
		return pprof_add_sample(r, c, at);
	case PROFILE_MAPPING:
		return add_mapping(r, c, at);
	case PROFILE_LOCATION:
		return add_location(r, c, at);
	case PROFILE_FUNCTION:
		return add_function(r, c, at);
	case PROFILE_STRING:
		return add_string(r, c, at);
	case PROFILE_PERIOD_TYPE:
		return set_period_type(r, c, at);
	case PROFILE_COMMENT:
		return pprof_add_comments(r, c);
	default:
		return 0;
	}
}

static int set_number(struct pprof *r, uint32_t field, uint64_t value, uint64_t at)
{
	switch (field) {
	case PROFILE_COMMENT:
		return pprof_add_comment(r, value);
	case PROFILE_DROP_FRAMES:
		r->drop_frames = pprof_string_index(value);
		break;
	case PROFILE_KEEP_FRAMES:
		r->keep_frames = pprof_string_index(value);
		break;
	case PROFILE_DOC_URL:
		r->doc_url = pprof_string_index(value);
		break;
	case PROFILE_TIME_NANOS:
		r->time_ns = (int64_t)value;
		break;
	case PROFILE_DURATION_NANOS:
		r->duration_ns = (int64_t)value;
		break;
	case PROFILE_PERIOD:
		r->period = (int64_t)value;
		break;
	case PROFILE_DEFAULT_TYPE:
		r->default_type = pprof_string_index(value);
		r->default_at = at;
		break;
	default:
		break;
	}
	return 0;
}

/* --- the stream --- */
static bool is_message(uint32_t field)
{
	return (field >= PROFILE_SAMPLE_TYPE && field <= PROFILE_STRING) || field == PROFILE_PERIOD_TYPE;
}

static bool is_number(uint32_t field)
{
	return field == PROFILE_TIME_NANOS || field == PROFILE_DURATION_NANOS || field == PROFILE_PERIOD ||
	       field == PROFILE_DEFAULT_TYPE;
}

/* The input ended inside a field; for broken compression that is already reported. */
static int ended_inside(struct pprof *r, int e, uint64_t size)
{
	const uint8_t *bytes;
	size_t n;

	if (e && (e != -EBADMSG || !r->o->keep_going))
		return e;
	sp_error_clear();
	if (sp_input_is_cut(r->in))
		return 0;
	e = sp_input_peek(r->in, size, &bytes, &n);
	if (e < 0)
		return e;
	return sp_input_bad(r->in, r->o, r->result, "ends after %zu of %" PRIu64 " bytes", n, size);
}

/* Skips n bytes. 1; 0: the end; or negative. */
static int skip(struct pprof *r, uint64_t n)
{
	int e = sp_input_skip(r->in, n);

	return e > 0 ? 1 : ended_inside(r, e, n);
}

/* Reads a field's bytes, behind its head. 1; 0: the end; or negative. */
static int read_bytes(struct pprof *r, const struct pprof_field *f, uint64_t size, uint64_t at)
{
	const uint8_t *bytes;
	int e;

	if (is_number(f->number)) {
		e = sp_input_bad_at(r->in, r->o, r->result, at, "field %u: a message; expected a number", f->number);
		return e < 0 ? e : skip(r, size);
	}
	if (!is_message(f->number) && f->number != PROFILE_COMMENT)
		return skip(r, size);
	if (size > SP_INPUT_MAX_PIECE) {
		e = sp_input_bad_at(r->in, r->o, r->result, at, "field %u: %" PRIu64 " bytes; at most %d are read",
				    f->number, size, SP_INPUT_MAX_PIECE);
		return e < 0 ? e : skip(r, size);
	}
	if (size) {
		e = sp_input_bytes(r->in, size, &bytes);
		if (e <= 0)
			return ended_inside(r, e, size);
	}
	e = add_message(r, f->number, sp_cursor_on(size ? bytes : (const uint8_t *)"", size), at);
	return e < 0 ? e : 1;
}

/* The head of the next field. 1, 0: the end, or negative. */
static int pprof_read_key(struct pprof *r, struct pprof_field *f, uint64_t *ret_value)
{
	const uint8_t *head;
	struct sp_cursor c;
	size_t n;
	int e = sp_input_peek(r->in, MAX_HEAD, &head, &n);

	if (e < 0 || !n)
		return e;
	c = sp_cursor_on(head, n);
	if (read_tag(&c, f))
		*ret_value = f->wire == PPROF_VARINT || f->wire == PPROF_BYTES ? sp_cursor_uleb(&c) : 0;
	if (!c.bad)
		return sp_input_bytes(r->in, c.at, &head);
	if (n < MAX_HEAD && sp_input_is_cut(r->in))
		return 0;
	/* nobody knows where the next field begins: keep_going keeps what came before */
	return sp_input_bad_at(r->in, r->o, r->result, sp_input_offset(r->in),
			       "no field of a protocol buffer; all behind it is lost");
}

static int read_field(struct pprof *r)
{
	uint64_t at = sp_input_offset(r->in), value = 0;
	struct pprof_field f = {0};
	int e = pprof_read_key(r, &f, &value);

	if (e <= 0)
		return e;
	if (f.wire == PPROF_BYTES)
		return read_bytes(r, &f, value, at);
	if (is_message(f.number))
		e = sp_input_bad_at(r->in, r->o, r->result, at, "field %u: a number; expected a message", f.number);
	if (e < 0)
		return e;
	if (f.wire != PPROF_VARINT)
		return skip(r, f.wire == PPROF_FIXED64 ? 8 : 4);
	e = set_number(r, f.number, value, at);
	return e < 0 ? e : 1;
}

/* --- the whole --- */
static void done(struct pprof *r)
{
	free(r->mappings.items);
	free(r->locations.items);
	free(r->functions.items);
	free(r->lines);
	free(r->strings);
	free(r->labels);
	free(r->comments);
	for (size_t i = 0; i < PPROF_MAX_PENDING; i++)
		free(r->pending[i].bytes);
	sp_read_table_free(r->rows);
}

static int pprof_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		      struct sp_read_result *result)
{
	struct pprof r = {.in = in,
			  .o = o,
			  .result = result,
			  .p = into,
			  .mappings.item_bytes = sizeof(struct pprof_mapping),
			  .locations.item_bytes = sizeof(struct pprof_location),
			  .functions.item_bytes = sizeof(struct pprof_function)};
	int e;

	do
		e = read_field(&r);
	while (e > 0);
	if (e >= 0)
		e = pprof_flush_pending(&r);
	if (e >= 0)
		e = pprof_resolve(&r);
	done(&r);
	return e;
}

/* Whether the field may be part of a profile. */
static bool pprof_field_is_valid(const struct pprof_field *f)
{
	uint64_t numbers[8];

	if (f->number == PROFILE_SAMPLE_TYPE || f->number == PROFILE_MAPPING || f->number == PROFILE_FUNCTION ||
	    f->number == PROFILE_PERIOD_TYPE)
		return f->wire == PPROF_BYTES && read_numbers(f->bytes, numbers, SP_COUNT(numbers));
	if (is_message(f->number))
		return f->wire == PPROF_BYTES;
	return !is_number(f->number) || f->wire == PPROF_VARINT;
}

static int pprof_recognise(const uint8_t *head, size_t n)
{
	struct sp_cursor c = sp_cursor_on(head, n);
	struct pprof_field f;
	size_t n_known = 0;

	while (pprof_next(&c, &f)) {
		if (!pprof_field_is_valid(&f))
			return n_known > 1 ? 60 : 0;
		n_known += is_message(f.number);
	}
	/* a field that is broken, or cut by the end of the head, does not discredit those before it */
	return n_known > 1 ? 90 : n_known && !c.bad ? 40 : 0;
}

const struct sp_reader sp_reader_pprof = {
    .name = "pprof",
    .summary = "profile.proto, gzip'd or not: go tool pprof, gperftools, Parca, Pyroscope, soprof",
    .recognise = pprof_recognise,
    .read = pprof_read,
};
