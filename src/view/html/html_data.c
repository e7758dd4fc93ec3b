/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/html/html_noise.h"
#include "view/html/html_stacks.h"
#include "view/svg/svg_colour.h"
#include "view/view.h"

struct writer {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	const struct sp_html_stacks *s;
	FILE *out;
	uint32_t n_values;  /* with the number of rows, if no value is the number of samples */
	uint32_t rest;      /* bits of the base64 that make no character yet */
	uint32_t rest_bits; /* 0, 2 or 4 */
};

static void put_string(struct writer *w, const char *text)
{
	fputc('"', w->out);
	sp_encode(w->out, SP_ENCODE_JSON, text);
	fputc('"', w->out);
}

static void put_field(struct writer *w, const char *name, const char *text)
{
	fprintf(w->out, "\"%s\":", name);
	put_string(w, text ? text : "");
	fputs(",\n", w->out);
}

/* --- values ----------------------------------------------------------------------------------------------------- */

static const char *value_name(const struct writer *w, uint32_t i)
{
	return sp_profile_string(w->p, sp_profile_value_type(w->p, i)->name);
}

static int old_of(const struct writer *w, uint32_t value)
{
	const char *name = value_name(w, value);
	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		if (!strncmp(name, "new", 3) && !strncmp(value_name(w, i), "old", 3) &&
		    !strcmp(value_name(w, i) + 3, name + 3))
			return (int)i;
	return -1;
}

static bool is_samples(const char *name)
{
	return !strcmp(name, "samples") || !strcmp(name, "new samples");
}

static void put_values(struct writer *w)
{
	uint32_t n = sp_profile_n_value_types(w->p), samples = n;
	fputs("\"values\":[", w->out);
	for (uint32_t i = 0; i < n; i++) {
		if (samples == n && is_samples(value_name(w, i)))
			samples = i;
		fputs(i ? ",[" : "[", w->out);
		put_string(w, w->o->value_name && i == w->o->value ? w->o->value_name : value_name(w, i));
		fputc(',', w->out);
		put_string(w, sp_profile_string(w->p, sp_profile_value_type(w->p, i)->unit));
		fprintf(w->out, ",%d]", old_of(w, i));
	}
	w->n_values = n + (samples == n);
	if (samples == n)
		fprintf(w->out, "%s[\"samples\",\"count\",-1]", n ? "," : "");
	fprintf(w->out, "],\n\"value\":%u,\"samples\":%u,\n", w->o->value, samples);
}

/* --- libraries and entities ------------------------------------------------------------------------------------- */

static const char *plain_name(const struct writer *w, const struct sp_file *file)
{
	const char *name = sp_profile_string(w->p, file->name), *path = sp_profile_string(w->p, file->path);
	const char *slash = strrchr(path, '/');
	return name[0] ? name : slash && slash[1] ? slash + 1 : path[0] ? path : "[unknown]";
}

/* The memory of JIT code is told apart by its process. */
static const char *library_name(const struct writer *w, const struct sp_file *file, char *room, size_t size)
{
	if (file->kind != SP_FILE_ANON || !file->process)
		return plain_name(w, file);
	snprintf(room, size, "[anon:%" PRIu32 "]", sp_profile_process(w->p, file->process)->pid);
	return room;
}

static void put_build_id(struct writer *w, const struct sp_file *file)
{
	fputs(",\"", w->out);
	for (size_t i = 0; i < SP_MIN(file->build_id_len, SP_BUILD_ID_MAX); i++)
		fprintf(w->out, "%02x", file->build_id[i]);
	fputs("\",", w->out);
}

static void put_library(struct writer *w, const struct sp_file *file)
{
	char room[32];
	const char *name = library_name(w, file, room, sizeof(room));
	bool is_kernel = file->kind == SP_FILE_KERNEL;
	fputs(",\n[", w->out);
	put_string(w, name);
	fputc(',', w->out);
	put_string(w, sp_profile_string(w->p, file->path));
	put_build_id(w, file);
	put_string(w, sp_profile_string(w->p, file->package));
	fprintf(w->out, ",%u,", file->kind);
	put_string(w, sp_profile_string(w->p, file->note));
	fprintf(w->out, ",%d,%u,%u]", file->deleted, sp_svg_colour(name, is_kernel, false),
		sp_svg_colour(name, is_kernel, true));
}

static void put_libraries(struct writer *w)
{
	fputs("\"libraries\":[0", w->out);
	for (uint32_t i = 1; i < w->s->n_libraries; i++)
		put_library(w, sp_profile_file(w->p, w->s->files[i]));
	fputs("],\n\"names\":[", w->out);
	for (uint32_t i = 0; i < sp_intern_count(w->s->names); i++) {
		fputs(i ? ",\n" : "", w->out);
		put_string(w, sp_html_stacks_name(w->s, i));
	}
	fputs("],\n\"entities\":[", w->out);
	for (uint32_t i = 0; i < w->s->n_entities; i++) {
		const struct sp_html_entity *e = &w->s->entities[i];
		fprintf(w->out, "%s%u,%u,%u,%u", i ? "," : "", e->name, e->library, e->module, e->kind);
	}
	fputs("],\n", w->out);
}

/* --- paths ------------------------------------------------------------------------------------------------------ */

static void put_base64(struct writer *w, uint8_t byte)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	w->rest = w->rest << 8 | byte;
	for (w->rest_bits += 8; w->rest_bits >= 6; w->rest_bits -= 6)
		fputc(digits[w->rest >> (w->rest_bits - 6) & 63], w->out);
	w->rest &= 63;
}

/* Zeros at the end that make the number of bytes a multiple of 3, so that no padding is needed. */
static void end_base64(struct writer *w)
{
	while (w->rest_bits)
		put_base64(w, 0);
}

static void put_varint(struct writer *w, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		put_base64(w, (uint8_t)(n | 0x80));
	put_base64(w, (uint8_t)n);
}

static uint32_t n_common(const struct writer *w, const struct sp_html_path *a, const struct sp_html_path *b)
{
	uint32_t n = 0;
	while (n < a->n && n < b->n && w->s->words[a->first + n] == w->s->words[b->first + n])
		n++;
	return n;
}

static void put_path(struct writer *w, const struct sp_html_path *path, const struct sp_html_path *last)
{
	uint32_t common = n_common(w, last, path);
	put_varint(w, last->n - common);
	put_varint(w, path->n - common);
	for (uint32_t i = common; i < path->n; i++)
		put_varint(w, w->s->words[path->first + i]);
	for (uint32_t i = 0; i < w->n_values; i++)
		put_varint(w, (uint64_t)path->values[i] << 1 ^ (uint64_t)(path->values[i] >> 63));
}

static void put_paths(struct writer *w)
{
	static const struct sp_html_path none;
	const struct sp_html_path *last = &none;
	size_t n_nodes = 0;
	for (size_t i = 0; i < w->s->n_paths; last = &w->s->paths[i++])
		n_nodes += w->s->paths[i].n - n_common(w, last, &w->s->paths[i]);
	fprintf(w->out, "\"n_nodes\":%zu,\"n_paths\":%zu,\"paths\":\"", n_nodes, w->s->n_paths);
	last = &none;
	for (size_t i = 0; i < w->s->n_paths; last = &w->s->paths[i++])
		put_path(w, &w->s->paths[i], last);
	end_base64(w);
	fputs("\"", w->out);
}

int sp_html_data_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_html_stacks *s = NULL;
	int r = sp_html_stacks_new(p, o, &s);
	if (r < 0)
		return r;
	struct writer w = {.p = p, .o = o, .s = s, .out = out};
	fputs("{\"format\":1,\n", out);
	put_field(&w, "title", o->title);
	put_field(&w, "subtitle", o->subtitle);
	put_values(&w);
	put_libraries(&w);
	if (o->diff)
		r = sp_html_noise_write(o->diff, s, out);
	put_paths(&w);
	fputs("}\n", out);
	sp_html_stacks_free(s);
	return r < 0 ? sp_fail(r, "tell what is noise") : 0;
}
