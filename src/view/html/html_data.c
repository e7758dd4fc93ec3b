/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_data.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/html/html_noise.h"
#include "view/html/html_stacks.h"
#include "view/value.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	const struct sp_html_stacks *s;
	struct sp_json j;
	uint32_t n_values;  /* with the number of rows, if no value is the number of samples */
	uint32_t rest;      /* bits that do not fill a base64 character yet */
	uint32_t rest_bits; /* 0, 2 or 4 */
};

/* --- values --- */

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

void sp_html_put_value(struct sp_json *j, const char *name, const char *unit, int old)
{
	SP_FREE char *words = sp_value_words(name);

	sp_json_array(j, NULL);
	sp_json_string(j, NULL, words ? words : name);
	sp_json_string(j, NULL, unit);
	sp_json_int(j, NULL, old);
	sp_json_end(j);
}

static void html_data_put_values(struct writer *w)
{
	uint32_t n = sp_profile_n_value_types(w->p), samples = n;
	sp_json_array(&w->j, "values");
	for (uint32_t i = 0; i < n; i++) {
		if (samples == n && is_samples(value_name(w, i)))
			samples = i;
		sp_html_put_value(&w->j, w->o->value_name && i == w->o->value ? w->o->value_name : value_name(w, i),
				  sp_profile_string(w->p, sp_profile_value_type(w->p, i)->unit), old_of(w, i));
	}
	w->n_values = n + (samples == n);
	if (samples == n)
		sp_html_put_value(&w->j, "samples", "count", -1);
	sp_json_end(&w->j);
	sp_json_ints(sp_json_line(&w->j), {"value", w->o->value}, {"samples", samples});
}

/* --- paths --- */

static void put_base64(struct writer *w, uint8_t byte)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	w->rest = w->rest << 8 | byte;
	for (w->rest_bits += 8; w->rest_bits >= 6; w->rest_bits -= 6)
		fputc(digits[w->rest >> (w->rest_bits - 6) & 63], w->j.out);
	w->rest &= 63;
}

/* Adds zeros up to a multiple of 3 bytes, so that base64 needs no padding. */
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
	if (w->s->n_slices)
		put_varint(w, path->slice);
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
	if (w->s->n_slices)
		sp_json_ints(&w->j, {"n_slices", w->s->n_slices},
			     {"slice_ns", (int64_t)sp_profile_info(w->p)->slice_ns},
			     {"duration_ns", (int64_t)sp_profile_info(w->p)->duration_ns});
	sp_json_ints(&w->j, {"n_nodes", (int64_t)n_nodes}, {"n_paths", (int64_t)w->s->n_paths});
	fputc('"', sp_json_raw(&w->j, "paths"));
	last = &none;
	for (size_t i = 0; i < w->s->n_paths; last = &w->s->paths[i++])
		put_path(w, &w->s->paths[i], last);
	end_base64(w);
	fputc('"', w->j.out);
}

int sp_html_data_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_html_stacks *s = NULL;
	int r = sp_html_stacks_new(p, o, &s);
	if (r < 0)
		return r;
	struct writer w = {.p = p, .o = o, .s = s, .j = {.out = out}};
	sp_json_object(&w.j, NULL);
	sp_json_int(&w.j, "format", 1);
	sp_json_string(sp_json_line(&w.j), "title", o->title ? o->title : "");
	sp_json_string(sp_json_line(&w.j), "subtitle", o->subtitle ? o->subtitle : "");
	sp_json_line(&w.j);
	html_data_put_values(&w);
	sp_json_line(&w.j);
	sp_html_tables_put(&s->t, s->order, &w.j);
	sp_json_line(&w.j);
	if (o->diff)
		r = sp_html_noise_write(o->diff, s, &w.j);
	put_paths(&w);
	sp_json_done(&w.j);
	sp_html_stacks_free(s);
	return r < 0 ? sp_fail(r, "tell what is noise") : 0;
}
