/* SPDX-License-Identifier: GPL-2.0-or-later */
/* otlp.c: see otlp.h. The tables are those of a pprof file (pprof_writer.h); here their item 0 is the empty one. */
#include "view/interchange/otlp.h"

#include "base/cursor.h"
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "view/interchange/pprof_writer.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* MESSAGE_FIELD, as opentelemetry-proto 1.10.0 numbers them. */
enum {
	REQUEST_RESOURCE_PROFILES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME_UNIX_NANO = 3,
	PROFILE_DURATION_NANO = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_STACK = 1,
	SAMPLE_VALUES = 4,
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	FUNCTION_START_LINE = 4,
	STACK_LOCATIONS = 1,
	ATTRIBUTE_KEY = 1, /* of the dictionary, a number; of a resource, text */
	ATTRIBUTE_VALUE = 2,
	VALUE_STRING = 1,
	ANSWER_PARTIAL = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_WHY = 2,
};

struct otlp {
	struct sp_pprof w;
	const struct sp_otlp_about *about;
	struct sp_intern *stacks;     /* lists of locations, packed */
	struct sp_intern *attributes; /* struct attribute */
	struct sp_pbuf samples, dictionary, message, part, value;
};
struct attribute {
	uint32_t key; /* string of the output */
	char value[2 * SP_BUILD_ID_MAX + 4];
};

static bool has_failed(const struct otlp *o)
{
	return o->w.error || o->samples.failed || o->dictionary.failed || o->message.failed || o->part.failed ||
	       o->value.failed || o->w.part.failed;
}

/* --- the profile --- */
static void put_sample(struct otlp *o, const struct sp_row *row)
{
	uint32_t stack;

	o->w.part.n = 0;
	sp_pprof_put_stacks(&o->w, row);
	stack = sp_pprof_intern(&o->w, o->stacks, o->w.part.data, o->w.part.n) + 1;
	sp_pbuf_number(&o->message, SAMPLE_STACK, stack);
	sp_pbuf_varint(&o->part, (uint64_t)row->values[o->about->value]);
	sp_pbuf_message(&o->message, SAMPLE_VALUES, &o->part);
	sp_pbuf_message(&o->samples, PROFILE_SAMPLES, &o->message);
}

static void put_type(struct otlp *o, uint32_t field, const char *type, const char *unit)
{
	sp_pbuf_number(&o->message, TYPE_TYPE, sp_pprof_text(&o->w, type));
	sp_pbuf_number(&o->message, TYPE_UNIT, sp_pprof_text(&o->w, unit));
	sp_pbuf_message(&o->samples, field, &o->message);
}

static void put_profile(struct otlp *o)
{
	const struct sp_profile *p = o->w.p;
	const struct sp_otlp_about *about = o->about;
	const struct sp_value_type *type = sp_profile_value_type(p, about->value);

	put_type(o, PROFILE_SAMPLE_TYPE, sp_profile_string(p, type->name), sp_profile_string(p, type->unit));
	for (uint32_t i = 0; i < sp_profile_n_rows(p) && !has_failed(o); i++)
		put_sample(o, sp_profile_row(p, i));
	sp_pbuf_fixed64(&o->samples, PROFILE_TIME_UNIX_NANO, about->time_ns);
	sp_pbuf_number(&o->samples, PROFILE_DURATION_NANO, about->duration_ns);
	put_type(o, PROFILE_PERIOD_TYPE, about->period_type, about->period_unit);
	sp_pbuf_number(&o->samples, PROFILE_PERIOD, about->period);
	sp_pbuf_bytes(&o->samples, PROFILE_ID, about->id, sizeof(about->id));
}

/* --- the dictionary --- */
static void put_item(struct otlp *o, uint32_t table)
{
	sp_pbuf_message(&o->dictionary, table, &o->message);
}

/* Adds it to the list in `part`; the list is put by sp_pbuf_message(). */
static void add_attribute(struct otlp *o, const char *key, const char *value)
{
	struct attribute a = {.key = sp_pprof_text(&o->w, key)};

	snprintf(a.value, sizeof(a.value), "%s", value);
	sp_pbuf_varint(&o->part, sp_pprof_intern(&o->w, o->attributes, &a, sizeof(a)) + 1);
}

static void put_mapping(struct otlp *o, const struct sp_pprof_mapping *m)
{
	char hex[2 * SP_BUILD_ID_MAX + 1];

	sp_pprof_build_id(sp_profile_file(o->w.p, m->file), hex);
	sp_pbuf_number(&o->message, MAPPING_START, m->start);
	sp_pbuf_number(&o->message, MAPPING_LIMIT, m->start ? m->start + m->extent : 0);
	sp_pbuf_number(&o->message, MAPPING_FILENAME, sp_pprof_mapping_name(&o->w, m->file));
	if (*hex) {
		add_attribute(o, "process.executable.build_id.gnu", hex);
		sp_pbuf_message(&o->message, MAPPING_ATTRIBUTES, &o->part);
	}
	put_item(o, DICTIONARY_MAPPINGS);
}

/* NULL: a pseudo-frame, or code that was made while a program ran, of which nothing is known. */
static const char *frame_type(const struct otlp *o, uint32_t mapping)
{
	if (!mapping)
		return NULL;
	switch (sp_profile_file(o->w.p, o->w.order[mapping - 1])->kind) {
	case SP_FILE_KERNEL:
		return "kernel";
	case SP_FILE_ELF:
	case SP_FILE_VDSO:
		return "native";
	default:
		return NULL;
	}
}

static void put_location(struct otlp *o, const struct sp_pprof_location *l)
{
	const char *type = frame_type(o, l->mapping);

	sp_pbuf_number(&o->message, LOCATION_MAPPING, l->mapping);
	sp_pbuf_number(&o->message, LOCATION_ADDRESS, l->address);
	for (uint32_t i = 0; i < l->n_lines; i++) {
		sp_pbuf_number(&o->part, LINE_FUNCTION, l->lines[i].function);
		sp_pbuf_number(&o->part, LINE_LINE, l->lines[i].line);
		sp_pbuf_message(&o->message, LOCATION_LINES, &o->part);
	}
	if (type) {
		add_attribute(o, "profile.frame.type", type);
		sp_pbuf_message(&o->message, LOCATION_ATTRIBUTES, &o->part);
	}
	put_item(o, DICTIONARY_LOCATIONS);
}

static void put_function(struct otlp *o, const struct sp_pprof_function *f)
{
	sp_pbuf_number(&o->message, FUNCTION_NAME, f->name);
	sp_pbuf_number(&o->message, FUNCTION_SYSTEM_NAME, f->system_name);
	sp_pbuf_number(&o->message, FUNCTION_FILENAME, f->filename);
	sp_pbuf_number(&o->message, FUNCTION_START_LINE, f->start_line);
	put_item(o, DICTIONARY_FUNCTIONS);
}

static void put_attribute(struct otlp *o, const struct attribute *a)
{
	sp_pbuf_number(&o->message, ATTRIBUTE_KEY, a->key);
	sp_pbuf_bytes(&o->part, VALUE_STRING, a->value, strlen(a->value));
	sp_pbuf_message(&o->message, ATTRIBUTE_VALUE, &o->part);
	put_item(o, DICTIONARY_ATTRIBUTES);
}

static void put_stack(struct otlp *o, const void *locations, size_t n)
{
	sp_pbuf_bytes(&o->message, STACK_LOCATIONS, locations, n);
	put_item(o, DICTIONARY_STACKS);
}

/* Item 0 of each table is the empty one, which stands for none. */
static void put_empty_items(struct otlp *o)
{
	static const uint32_t tables[] = {DICTIONARY_MAPPINGS, DICTIONARY_LOCATIONS,  DICTIONARY_FUNCTIONS,
					  DICTIONARY_LINKS,    DICTIONARY_ATTRIBUTES, DICTIONARY_STACKS};

	for (size_t i = 0; i < SP_COUNT(tables); i++)
		put_item(o, tables[i]);
}

/* What adds to a table comes before the table; strings, to which all add, are last, with "" as the first. */
static void put_dictionary(struct otlp *o)
{
	struct sp_pprof *w = &o->w;
	const void *item;
	size_t n = 0;

	put_empty_items(o);
	for (uint32_t i = 0; i < w->n_mappings; i++)
		put_mapping(o, &w->mappings[w->order[i]]);
	for (uint32_t i = 0; i < sp_intern_count(w->locations); i++)
		put_location(o, sp_intern_get(w->locations, i, NULL));
	for (uint32_t i = 0; i < sp_intern_count(w->functions); i++)
		put_function(o, sp_intern_get(w->functions, i, NULL));
	for (uint32_t i = 0; i < sp_intern_count(o->stacks); i++) {
		item = sp_intern_get(o->stacks, i, &n);
		put_stack(o, item, n);
	}
	for (uint32_t i = 0; i < sp_intern_count(o->attributes); i++)
		put_attribute(o, sp_intern_get(o->attributes, i, NULL));
	for (uint32_t i = 0; i < sp_intern_count(w->strings); i++) {
		item = sp_intern_get(w->strings, i, &n);
		sp_pbuf_bytes(&o->dictionary, DICTIONARY_STRINGS, item, n);
	}
}

/* --- the whole --- */
static void put_text(struct otlp *o, struct sp_pbuf *to, uint32_t field, const char *text)
{
	char *encoded SP_FREE = sp_encoded(SP_ENCODE_TERMINAL, text);

	if (encoded)
		sp_pbuf_bytes(to, field, encoded, strlen(encoded));
	else
		o->w.error = -ENOMEM;
}

static void put_resource(struct otlp *o, struct sp_pbuf *to)
{
	for (size_t i = 0; i < o->about->n_resource; i++) {
		put_text(o, &o->part, ATTRIBUTE_KEY, o->about->resource[i].key);
		put_text(o, &o->value, VALUE_STRING, o->about->resource[i].value);
		sp_pbuf_message(&o->part, ATTRIBUTE_VALUE, &o->value);
		sp_pbuf_message(&o->message, RESOURCE_ATTRIBUTES, &o->part);
	}
	sp_pbuf_message(to, RESOURCE_PROFILES_RESOURCE, &o->message);
	put_text(o, &o->part, SCOPE_NAME, "soprof");
	put_text(o, &o->part, SCOPE_VERSION, SP_VERSION);
	sp_pbuf_message(&o->message, SCOPE_PROFILES_SCOPE, &o->part);
	sp_pbuf_message(&o->message, SCOPE_PROFILES_PROFILES, &o->samples);
	sp_pbuf_message(to, RESOURCE_PROFILES_SCOPE_PROFILES, &o->message);
}

static int write_all(struct otlp *o, FILE *out)
{
	struct sp_pbuf resource = {0}, request = {0};
	struct sp_gzip_writer *g = &o->w.gzip;
	int r;

	sp_pprof_text(&o->w, ""); /* string 0 */
	sp_pprof_place(&o->w);
	put_profile(o);
	put_dictionary(o);
	put_resource(o, &resource);
	sp_pbuf_message(&request, REQUEST_RESOURCE_PROFILES, &resource);
	sp_pbuf_message(&request, REQUEST_DICTIONARY, &o->dictionary);
	r = o->w.error ? o->w.error : has_failed(o) || resource.failed || request.failed ? -ENOMEM : 0;
	if (r == 0)
		r = sp_gzip_init(g, out, SP_GZIP_FAST);
	if (r == 0) {
		sp_gzip_put(g, request.data, request.n);
		r = sp_gzip_done(g);
	}
	free(resource.data);
	free(request.data);
	return r;
}

int sp_otlp_write(const struct sp_profile *p, const struct sp_otlp_about *about, FILE *out)
{
	const struct sp_view_options options = {.value = about->value};
	struct otlp o = {.w = {.p = p, .o = &options}, .about = about};
	int r = sp_pprof_tables_make(&o.w);

	if (r == 0)
		r = sp_intern_new_bare(&o.stacks);
	if (r == 0)
		r = sp_intern_new_bare(&o.attributes);
	if (r == 0)
		r = write_all(&o, out);
	sp_pprof_tables_free(&o.w);
	sp_intern_free(o.stacks);
	sp_intern_free(o.attributes);
	free(o.samples.data);
	free(o.dictionary.data);
	free(o.message.data);
	free(o.part.data);
	free(o.value.data);
	return r;
}

/* --- answers --- */
/* A field's number; its value, or the bytes that it has. 0: the end, or `bad`. */
static uint32_t next_field(struct sp_cursor *c, uint64_t *ret_number, struct sp_cursor *ret_bytes)
{
	enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
	uint64_t tag = sp_cursor_left(c) ? sp_cursor_uleb(c) : 0;

	*ret_number = 0;
	*ret_bytes = (struct sp_cursor){0};
	switch (tag & 7) {
	case VARINT:
		*ret_number = tag ? sp_cursor_uleb(c) : 0;
		break;
	case FIXED64:
		sp_cursor_skip(c, sizeof(uint64_t));
		break;
	case BYTES:
		*ret_bytes = sp_cursor_sub(c, sp_cursor_uleb(c));
		break;
	case FIXED32:
		sp_cursor_skip(c, sizeof(uint32_t));
		break;
	default:
		c->bad = true;
	}
	return c->bad || tag >> 3 > UINT32_MAX ? 0 : (uint32_t)(tag >> 3);
}

int sp_otlp_answer_read(const void *bytes, size_t n, uint64_t *ret_n_rejected, char *ret_why, size_t size)
{
	struct sp_cursor all = sp_cursor_on(bytes, n), partial, text;
	uint64_t number;
	uint32_t field;

	*ret_n_rejected = 0;
	*ret_why = '\0';
	while ((field = next_field(&all, &number, &partial))) {
		if (field != ANSWER_PARTIAL)
			continue;
		while ((field = next_field(&partial, &number, &text))) {
			if (field == PARTIAL_REJECTED)
				*ret_n_rejected = number;
			if (field == PARTIAL_WHY)
				snprintf(ret_why, size, "%.*s", (int)SP_MIN(text.size, size), (const char *)text.data);
		}
		if (partial.bad || sp_cursor_left(&partial))
			return -EBADMSG;
	}
	return all.bad || sp_cursor_left(&all) ? -EBADMSG : 0;
}
