/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.c: the file format of speedscope (www.speedscope.app/file-format-schema.json), of py-spy, rbspy and
 * others.
 *
 * What our own view writes has a profile for each value, over the same stacks, and threads as the first frames. Others
 * have one for each thread. "sampled" profiles have stacks and weights; "evented" ones say when a frame begins and
 * ends, and become the time that each stack lasted. Weights are values by their units, in nanoseconds if they are
 * times.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "read/json/json.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 1 << 16 };
enum frame_is { IS_FRAME, IS_THREAD, IS_MISSED_USER, IS_MISSED_KERNEL };

struct known_frame {
	uint32_t frame;
	enum frame_is is; /* of our own files */
	uint32_t value;   /* where it is in the document */
};
struct speedscope {
	struct sp_doc *d;
	struct sp_read_result *result;
	struct sp_profile *p;
	bool is_ours;
	struct known_frame *frames;
	size_t n_frames;
	/* of the profile that is being read: */
	uint32_t key, value;
	double scale;
	uint32_t *path;
	size_t path_capacity;
};

/* --- frames --- */
/* A new string. Our own view encodes names for a terminal, since speedscope shows them as they are. */
static char *text_at(const struct speedscope *s, uint32_t value)
{
	const char *text = sp_doc_string(s->d, value);

	if (!text)
		return NULL;
	return s->is_ours ? sp_read_unescape(SP_ENCODE_TERMINAL, text, strlen(text)) : strdup(text);
}

static enum frame_is what_is(const struct speedscope *s, const char *name, bool has_file)
{
	if (!s->is_ours || has_file)
		return IS_FRAME;
	return !strcmp(name, SP_READ_MISSED_USER)     ? IS_MISSED_USER
	       : !strcmp(name, SP_READ_MISSED_KERNEL) ? IS_MISSED_KERNEL
						      : IS_FRAME;
}

static int frame_read(struct speedscope *s, uint32_t value, struct known_frame *ret_frame)
{
	uint32_t file = sp_doc_member(s->d, value, "file");
	SP_FREE char *path = text_at(s, file), *name = text_at(s, sp_doc_member(s->d, value, "name"));
	int64_t line = sp_doc_int(s->d, sp_doc_member(s->d, value, "line"), 0);
	struct sp_read_named named = {.name = name, .file = path, .source = line > 0 ? path : ""};
	int64_t frame;

	if (!path || !name)
		return -ENOMEM;
	named.source_line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	frame = sp_read_named_frame(s->p, &named);
	*ret_frame = (struct known_frame){(uint32_t)frame, what_is(s, name, *path), value};
	return (int)SP_MIN(frame, 0);
}

static int frames_read(struct speedscope *s)
{
	SP_FREE uint32_t *values = NULL;
	int r = sp_doc_elements(s->d, sp_doc_at(s->d, SP_DOC_ROOT, "shared.frames"), &values, &s->n_frames);

	s->frames = calloc(s->n_frames + 1, sizeof(*s->frames));
	if (r < 0 || !s->frames)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_frames && r >= 0; i++)
		r = frame_read(s, values[i], &s->frames[i]);
	return r;
}

/* --- values --- */
static double unit_scale(const struct speedscope *s, uint32_t profile, const char **ret_unit)
{
	static const struct {
		const char *unit;
		double ns;
	} times[] = {{"seconds", 1e9}, {"milliseconds", 1e6}, {"microseconds", 1e3}, {"nanoseconds", 1}};
	uint32_t unit = sp_doc_member(s->d, profile, "unit");

	*ret_unit = "nanoseconds";
	for (size_t i = 0; i < SP_COUNT(times); i++)
		if (sp_doc_is(s->d, unit, times[i].unit))
			return times[i].ns;
	*ret_unit = sp_doc_is(s->d, unit, "bytes") ? "bytes" : "count";
	return 1;
}

/* A value for each profile of ours; of others one for each unit. */
static const char *value_name(struct speedscope *s, uint32_t profile, const char *unit)
{
	if (s->is_ours)
		return sp_doc_string(s->d, sp_doc_member(s->d, profile, "name"));
	return !strcmp(unit, "nanoseconds") ? "time" : !strcmp(unit, "bytes") ? "bytes" : "weight";
}

static int value_declare(struct speedscope *s, uint32_t profile)
{
	const char *unit, *name;

	unit_scale(s, profile, &unit);
	name = value_name(s, profile, unit);
	if (!name)
		return -ENOMEM;
	if (sp_profile_find_value(s->p, name, unit) >= 0)
		return 0;
	if (sp_profile_n_value_types(s->p) == SP_MAX_VALUES)
		return sp_doc_bad(s->d, profile, "a value more than %d, the most of one profile", SP_MAX_VALUES);
	return SP_MIN(sp_profile_add_value_type(s->p, name, unit), 0);
}

static int values_declare(struct speedscope *s, uint32_t profiles)
{
	struct sp_profile_info *info = sp_profile_info(s->p);
	int64_t active = sp_doc_int(s->d, sp_doc_member(s->d, SP_DOC_ROOT, "activeProfileIndex"), 0);
	int r = s->is_ours ? 0 : sp_profile_add_value_type(s->p, "samples", "count");

	for (uint32_t i = sp_doc_first(s->d, profiles); i && r >= 0; i = sp_doc_next(s->d, profiles, i))
		r = value_declare(s, i);
	if (r >= 0 && !sp_profile_n_value_types(s->p))
		r = sp_profile_add_value_type(s->p, "samples", "count");
	if (r < 0)
		return r;
	active = s->is_ours ? SP_MAX(active, 0) : 1;
	if (active < sp_profile_n_value_types(s->p))
		info->default_type = sp_profile_value_type(s->p, (uint32_t)active)->name;
	return 0;
}

static int profile_begin(struct speedscope *s, uint32_t profile)
{
	const char *unit, *name;
	int64_t key;
	int value;

	s->scale = unit_scale(s, profile, &unit);
	name = value_name(s, profile, unit);
	if (!name)
		return -ENOMEM;
	value = sp_profile_find_value(s->p, name, unit);
	s->value = (uint32_t)SP_MAX(value, 0);
	name = s->is_ours ? "" : sp_doc_string(s->d, sp_doc_member(s->d, profile, "name"));
	key = name ? sp_read_thread(s->p, 0, "", name) : -ENOMEM;
	s->key = (uint32_t)key;
	return value < 0 ? 1 : (int)SP_MIN(key, 0); /* 1: a value for which there was no room, which was told */
}

static int weight_add(struct speedscope *s, uint32_t key, const struct sp_read_path *path, double weight)
{
	int64_t values[SP_MAX_VALUES] = {0};
	double scaled = weight * s->scale;

	if (!(fabs(scaled) < 9e18))
		scaled = 0;
	values[s->value] = (int64_t)llround(scaled);
	if (!s->is_ours)
		values[0] = 1;
	s->result->n_samples++;
	return sp_read_path_add(s->p, key, path, values);
}

/* --- sampled profiles --- */
/* The thread of our own stacks: their first frame, which alone has no file. */
static int64_t own_key(struct speedscope *s, const struct known_frame *f)
{
	SP_FREE char *name = NULL;

	if (f->is != IS_FRAME || sp_doc_member(s->d, f->value, "file"))
		return 0;
	name = text_at(s, sp_doc_member(s->d, f->value, "name"));
	return name ? sp_read_thread(s->p, 0, "", name) : -ENOMEM;
}

/* 1: the row was bad, which was told. */
static int sample_read(struct speedscope *s, uint32_t sample, double weight)
{
	struct sp_read_path path = {0};
	int64_t key = s->key;
	bool is_first = s->is_ours;
	int r;

	for (uint32_t at = sp_doc_first(s->d, sample); at; at = sp_doc_next(s->d, sample, at)) {
		int64_t i = sp_doc_int(s->d, at, -1);
		const struct known_frame *f = i >= 0 && i < (int64_t)s->n_frames ? &s->frames[i] : NULL;

		if (!f)
			return sp_doc_bad(s->d, at, "expected the number of one of %zu frames", s->n_frames);
		if (is_first && (key = own_key(s, f)) < 0)
			return (int)key;
		path.missed_user |= f->is == IS_MISSED_USER;
		path.missed_kernel |= f->is == IS_MISSED_KERNEL;
		if (f->is == IS_FRAME && !(is_first && key)) {
			r = sp_grow(&s->path, &s->path_capacity, path.n + 1, sizeof(*s->path));
			if (r < 0)
				return r;
			s->path[path.n++] = f->frame;
		}
		is_first = false;
	}
	path.frames = s->path;
	return weight_add(s, (uint32_t)key, &path, weight);
}

static int sampled_read(struct speedscope *s, uint32_t profile)
{
	uint32_t samples = sp_doc_member(s->d, profile, "samples"), weights = sp_doc_member(s->d, profile, "weights");
	uint32_t sample = sp_doc_first(s->d, samples), weight = sp_doc_first(s->d, weights);
	int r = 0;

	while (sample && r >= 0) {
		r = sample_read(s, sample, weights ? sp_doc_double(s->d, weight, 0) : 1);
		sample = sp_doc_next(s->d, samples, sample);
		weight = weight ? sp_doc_next(s->d, weights, weight) : 0;
	}
	return r;
}

/* --- evented profiles --- */
static int event_read(struct speedscope *s, uint32_t event, struct sp_read_path *path, double *last)
{
	int64_t i = sp_doc_int(s->d, sp_doc_member(s->d, event, "frame"), -1);
	uint32_t type = sp_doc_member(s->d, event, "type");
	double at = sp_doc_double(s->d, sp_doc_member(s->d, event, "at"), *last);
	bool opens = sp_doc_is(s->d, type, "O"), closes = sp_doc_is(s->d, type, "C");
	int r = 0;

	if (i < 0 || i >= (int64_t)s->n_frames || (!opens && !closes) || (opens && path->n == MAX_DEPTH) ||
	    (closes && (!path->n || s->path[path->n - 1] != s->frames[i].frame)))
		return sp_doc_bad(s->d, event, "expected the beginning of a frame, or the end of the innermost one");
	if (path->n && at > *last)
		r = weight_add(s, s->key, path, at - *last);
	*last = SP_MAX(at, *last);
	if (r >= 0 && opens)
		r = sp_grow(&s->path, &s->path_capacity, path->n + 1, sizeof(*s->path));
	if (r < 0)
		return r;
	path->frames = s->path;
	if (opens)
		s->path[path->n] = s->frames[i].frame;
	path->n = opens ? path->n + 1 : path->n - 1;
	return 0;
}

static int evented_read(struct speedscope *s, uint32_t profile)
{
	uint32_t events = sp_doc_member(s->d, profile, "events");
	double last = sp_doc_double(s->d, sp_doc_member(s->d, profile, "startValue"), 0);
	struct sp_read_path path = {.frames = s->path};
	int r = 0;

	for (uint32_t i = sp_doc_first(s->d, events); i && r >= 0; i = sp_doc_next(s->d, events, i))
		r = event_read(s, i, &path, &last);
	return r;
}

/* --- the whole --- */
static int profiles_read(struct speedscope *s)
{
	uint32_t profiles = sp_doc_member(s->d, SP_DOC_ROOT, "profiles"),
		 exporter = sp_doc_member(s->d, SP_DOC_ROOT, "exporter");
	int r;

	s->is_ours = sp_doc_is(s->d, exporter, "soprof");
	r = frames_read(s);
	if (r >= 0)
		r = values_declare(s, profiles);
	for (uint32_t i = sp_doc_first(s->d, profiles); i && r >= 0; i = sp_doc_next(s->d, profiles, i)) {
		uint32_t type = sp_doc_member(s->d, i, "type");

		r = profile_begin(s, i);
		if (r == 0)
			r = sp_doc_is(s->d, type, "evented") ? evented_read(s, i) : sampled_read(s, i);
	}
	return SP_MIN(r, 0);
}

static int speedscope_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
			   struct sp_read_result *result)
{
	struct speedscope s = {.result = result, .p = into};
	int r = sp_doc_read(in, o, result, &s.d);

	if (r >= 0)
		r = profiles_read(&s);
	sp_doc_free(s.d);
	free(s.frames);
	free(s.path);
	return r;
}

static int speedscope_recognise(const uint8_t *head, size_t n)
{
	return n && *head == '{' && memmem(head, n, "speedscope.app/file-format-schema.json", 38) ? 95 : 0;
}

const struct sp_reader sp_reader_speedscope = {
    .name = "speedscope",
    .summary = "JSON of speedscope, py-spy and others",
    .recognise = speedscope_recognise,
    .read = speedscope_read,
};
