/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html.c: our own page (view/html), whose data is JSON in it: libraries, names, entities, and paths as numbers in
 * base64.
 *
 * An entity is what frames are merged by: name, library, module of the kernel and kind. A path says how many words of
 * the one before go, and what comes on top, then its values; in a page with slices of time its slice comes first.
 */
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/json/json.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK "<script type=\"application/json\" id=\"data\">"

enum { ENTITY_THREAD, ENTITY_NOTE, ENTITY_USER, ENTITY_GUESSED, ENTITY_KERNEL, ENTITY_BESIDE = 7 };
enum { ENTITY_NUMBERS = 4, LIBRARY_PATH = 1, LIBRARY_BUILD_ID, LIBRARY_PACKAGE };

struct html {
	struct sp_input *in;
	struct sp_doc *d;
	struct sp_read_result *result;
	struct sp_profile *p;
	uint32_t *libraries, *names; /* values of the document */
	size_t n_libraries, n_names;
	int64_t *entities; /* ENTITY_NUMBERS each */
	size_t n_entities;
	uint32_t *files;  /* of the profile, by library */
	uint32_t *frames; /* by entity; 0: none yet, or no frame */
	uint32_t n_values;
	/* the paths */
	const char *at;
	uint32_t bits, n_bits;
	uint32_t *words; /* of the path */
	size_t n_words, words_capacity;
	uint32_t *path;
	size_t path_capacity;
	bool has_slices;
	uint64_t slice; /* of the path */
};

/* --- tables --- */
static int64_t library_string(struct html *h, uint32_t library, int member)
{
	uint32_t value = sp_doc_first(h->d, library);
	const char *text;

	for (int i = 0; i < member && value; i++)
		value = sp_doc_next(h->d, library, value);
	text = sp_doc_string(h->d, value);
	return text ? sp_profile_add_string(h->p, text) : -ENOMEM;
}

static int library_read(struct html *h, size_t i)
{
	int64_t name = library_string(h, h->libraries[i], 0), path = library_string(h, h->libraries[i], LIBRARY_PATH),
		build_id = library_string(h, h->libraries[i], LIBRARY_BUILD_ID),
		package = library_string(h, h->libraries[i], LIBRARY_PACKAGE), file;

	if (name < 0 || path < 0 || build_id < 0 || package < 0)
		return -ENOMEM;
	file = sp_read_mapping(h->p, (uint32_t)(path ? path : name), (uint32_t)build_id);
	if (file < 0)
		return (int)file;
	if (file && package)
		sp_profile_file(h->p, (uint32_t)file)->package = (uint32_t)package;
	h->files[i] = (uint32_t)file;
	return 0;
}

static int tables_read(struct html *h)
{
	size_t n;
	int r = sp_doc_elements(h->d, sp_doc_member(h->d, SP_DOC_ROOT, "libraries"), &h->libraries, &h->n_libraries);

	if (r >= 0)
		r = sp_doc_elements(h->d, sp_doc_member(h->d, SP_DOC_ROOT, "names"), &h->names, &h->n_names);
	if (r >= 0)
		r = sp_doc_ints(h->d, sp_doc_member(h->d, SP_DOC_ROOT, "entities"), -1, &h->entities, &n);
	if (r < 0)
		return r;
	h->n_entities = n / ENTITY_NUMBERS;
	h->files = calloc(h->n_libraries + 1, sizeof(*h->files));
	h->frames = calloc(h->n_entities + 1, sizeof(*h->frames));
	if (!h->files || !h->frames)
		return -ENOMEM;
	for (size_t i = 1; i < h->n_libraries && r >= 0; i++)
		r = library_read(h, i);
	return r;
}

static int values_read(struct html *h)
{
	uint32_t values = sp_doc_member(h->d, SP_DOC_ROOT, "values");
	int64_t shown = sp_doc_int(h->d, sp_doc_member(h->d, SP_DOC_ROOT, "value"), 0);
	int r = 0;

	for (uint32_t i = sp_doc_first(h->d, values); i && r >= 0; i = sp_doc_next(h->d, values, i)) {
		uint32_t name = sp_doc_first(h->d, i);
		SP_FREE char *text = strdup(sp_doc_string(h->d, name) ?: "");
		const char *unit = sp_doc_string(h->d, sp_doc_next(h->d, i, name));

		if (!text || !unit)
			return -ENOMEM;
		if (h->n_values++ < SP_MAX_VALUES)
			r = sp_profile_add_value_type(h->p, text, unit);
	}
	if (r >= 0 && !sp_profile_n_value_types(h->p))
		return sp_fail_said(-EBADMSG, "%s: byte 0: a page without values; expected one of soprof",
				    sp_input_name(h->in));
	if (shown >= 0 && shown < sp_profile_n_value_types(h->p))
		sp_profile_info(h->p)->default_type = sp_profile_value_type(h->p, (uint32_t)shown)->name;
	return SP_MIN(r, 0);
}

/* --- frames --- */
static char *name_at(struct html *h, int64_t number)
{
	const char *text = number >= 0 && (uint64_t)number < h->n_names ? sp_doc_string(h->d, h->names[number]) : "";

	return text ? strdup(text) : NULL;
}

static int64_t frame_at(struct html *h, uint32_t entity)
{
	const int64_t *e = &h->entities[(size_t)entity * ENTITY_NUMBERS];
	int64_t kind = e[3], frame;
	SP_FREE char *name = name_at(h, e[0]), *module = name_at(h, e[2]);
	struct sp_read_named named = {.name = name, .source = ""};

	if (h->frames[entity])
		return h->frames[entity];
	if (!name || !module)
		return -ENOMEM;
	if (e[1] > 0 && (uint64_t)e[1] < h->n_libraries && !*module)
		named.in = h->files[e[1]];
	named.file = kind == ENTITY_BESIDE ? SP_READ_WAKER : *module ? module : kind == ENTITY_KERNEL ? "[kernel]" : "";
	named.flags = kind == ENTITY_GUESSED ? SP_FRAMEF_GUESSED : 0;
	frame = sp_read_named_frame(h->p, &named);
	h->frames[entity] = (uint32_t)SP_MAX(frame, 0);
	return frame;
}

/* --- paths --- */
static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int byte_take(struct html *h)
{
	while (h->n_bits < 8) {
		int digit = digit_of(*h->at);

		if (digit < 0)
			return -EBADMSG;
		h->at++;
		h->bits = h->bits << 6 | (uint32_t)digit;
		h->n_bits += 6;
	}
	h->n_bits -= 8;
	return h->bits >> h->n_bits & 0xff;
}

static int number_take(struct html *h, uint64_t *ret_number)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		int byte = byte_take(h);

		if (byte < 0)
			return byte;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_number = n;
			return 0;
		}
	}
	return -EBADMSG;
}

static int words_take(struct html *h)
{
	uint64_t n_gone, n_new, word;
	int r = h->has_slices ? number_take(h, &h->slice) : 0;

	if (r >= 0)
		r = number_take(h, &n_gone);
	if (r >= 0)
		r = number_take(h, &n_new);
	if (r < 0 || n_gone > h->n_words || h->slice > UINT32_MAX)
		return -EBADMSG;
	h->n_words -= (size_t)n_gone;
	for (uint64_t i = 0; i < n_new; i++) {
		r = number_take(h, &word);
		if (r < 0 || word >= h->n_entities)
			return -EBADMSG;
		r = sp_grow(&h->words, &h->words_capacity, h->n_words + 1, sizeof(*h->words));
		if (r < 0)
			return r;
		h->words[h->n_words++] = (uint32_t)word;
	}
	return 0;
}

static int values_take(struct html *h, int64_t *values)
{
	for (uint32_t i = 0; i < h->n_values; i++) {
		uint64_t zigzag;
		int r = number_take(h, &zigzag);

		if (r < 0)
			return r;
		if (i < SP_MAX_VALUES)
			values[i] = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
	}
	return 0;
}

/* The key with the path's slice. */
static int64_t key_in_slice(struct html *h, int64_t key)
{
	struct sp_key k;

	if (key < 0 || !h->slice)
		return key;
	k = *sp_profile_key(h->p, (uint32_t)key);
	k.slice = (uint32_t)h->slice;
	return sp_profile_add_key(h->p, &k);
}

static int path_add(struct html *h, const int64_t *values)
{
	struct sp_read_path path = {0};
	int64_t key = 0;
	int r = sp_grow(&h->path, &h->path_capacity, h->n_words + 1, sizeof(*h->path));

	for (size_t i = 0; i < h->n_words && r >= 0; i++) {
		const int64_t *e = &h->entities[(size_t)h->words[i] * ENTITY_NUMBERS];
		SP_FREE char *name = e[3] <= ENTITY_NOTE ? name_at(h, e[0]) : NULL;
		int64_t frame = 0;

		if (e[3] == ENTITY_THREAD)
			key = name ? sp_read_thread(h->p, 0, "", name) : -ENOMEM;
		else if (e[3] == ENTITY_NOTE)
			path.is_cut = !name || strncmp(name, "[no ", 4);
		else
			frame = frame_at(h, h->words[i]);
		if (key < 0 || frame < 0)
			return key < 0 ? (int)key : (int)frame;
		if (frame)
			h->path[path.n++] = (uint32_t)frame;
	}
	key = r < 0 ? r : key_in_slice(h, key);
	if (key < 0)
		return (int)key;
	path.frames = h->path;
	h->result->n_samples++;
	return sp_read_path_add(h->p, (uint32_t)key, &path, values);
}

static uint64_t html_number(struct html *h, const char *member)
{
	return (uint64_t)SP_MAX(sp_doc_int(h->d, sp_doc_member(h->d, SP_DOC_ROOT, member), 0), (int64_t)0);
}

static int paths_read(struct html *h)
{
	uint32_t paths = sp_doc_member(h->d, SP_DOC_ROOT, "paths");
	int64_t n = sp_doc_int(h->d, sp_doc_member(h->d, SP_DOC_ROOT, "n_paths"), 0);
	SP_FREE char *text = strdup(sp_doc_string(h->d, paths) ?: "");
	struct sp_profile_info *info = sp_profile_info(h->p);
	int r = text ? 0 : -ENOMEM;

	info->slice_ns = html_number(h, "slice_ns");
	info->duration_ns = html_number(h, "duration_ns");
	h->has_slices = info->slice_ns != 0;
	h->at = text;
	for (int64_t i = 0; i < n && r >= 0; i++) {
		int64_t values[SP_MAX_VALUES] = {0};

		r = words_take(h);
		if (r >= 0)
			r = values_take(h, values);
		if (r == -EBADMSG)
			return sp_doc_bad(h->d, paths, "stack %lld of %lld is damaged", (long long)i, (long long)n);
		if (r >= 0)
			r = path_add(h, values);
		if (r >= 0)
			r = sp_input_check_memory(h->in);
	}
	return r;
}

/* --- the whole --- */
static int html_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		     struct sp_read_result *result)
{
	struct html h = {.in = in, .result = result, .p = into};
	int r = sp_doc_read_behind(in, MARK, o, result, &h.d);

	if (r >= 0)
		r = values_read(&h);
	if (r >= 0)
		r = tables_read(&h);
	if (r >= 0)
		r = paths_read(&h);
	sp_doc_free(h.d);
	free(h.libraries);
	free(h.names);
	free(h.entities);
	free(h.files);
	free(h.frames);
	free(h.words);
	free(h.path);
	return r;
}

/* The data may be behind the head: which page it is, is told by what soprof's begins with. */
static int html_recognise(const uint8_t *head, size_t n)
{
	if (n < 15 || strncasecmp((const char *)head, "<!doctype html>", 15) != 0)
		return 0;
	return memmem(head, n, MARK, strlen(MARK)) ? 90 : memmem(head, n, "soprof", 6) ? 50 : 5;
}

const struct sp_reader sp_reader_html = {
    .name = "html",
    .summary = "a page that soprof wrote",
    .recognise = html_recognise,
    .read = html_read,
};
