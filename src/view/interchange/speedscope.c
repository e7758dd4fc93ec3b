/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.c: the file format of speedscope (www.speedscope.app/file-format-schema.json), a "sampled" profile for
 * each value of the profile, over one table of frames.
 *
 * A frame is a name and a file, which speedscope groups its colours by: the source file, with the line where the
 * function begins, or, if that is not known, the library's path (or name). Stacks are the folded view's: the thread's
 * name, user frames from the root, kernel frames. Stacks that look the same are one, with the sum as weight; where the
 * recording has slices of time, one in each of these. They come in the order of the slices, which speedscope's first
 * view has, "Time Order", and within a slice sorted by frames, so that equal callers are side by side. That view's axis
 * adds up weights: it is as long as the value, of all threads, and not as the recording. speedscope refuses negative
 * weights: such stacks are left out, and the profile's name counts them; what would be negative in one slice and is not
 * in the sum keeps the whole file from having slices. Its numbers are doubles: it rounds sums above 2^53.
 */
#include "base/encode.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "view/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum frame_kind { FRAME_COMM, FRAME_MISSED_USER, FRAME_MISSED_KERNEL, FRAME_NAMED, FRAME_NAMELESS };
/* The identity of a frame, without padding. */
struct frame_key {
	uint32_t kind;
	uint32_t name;    /* COMM, NAMED: a string; NAMELESS: the frame */
	uint32_t file;    /* string: of the source, or path or name of the library */
	uint32_t line;    /* of the source, where the function begins, 0 = not known */
	uint32_t process; /* of anonymous memory */
};
struct sums {
	int64_t values[SP_MAX_VALUES];
};
struct writer {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_json j;
	struct sp_intern *frames, *stacks; /* struct frame_key; arrays of a slice and frame numbers, root first */
	struct sums *sums;                 /* by stack */
	size_t sums_capacity;
	uint32_t *words; /* the current stack */
	size_t n_words, words_capacity;
	uint32_t *order; /* the stacks, sorted */
	bool has_slices;
	bool no_memory; /* for some name */
};

/* --- frames and stacks --- */
static int push_word(struct writer *w, uint32_t word)
{
	return SP_APPEND(w->words, w->n_words, w->words_capacity, word);
}

static int push(struct writer *w, struct frame_key key)
{
	int64_t number = sp_intern_add(w->frames, &key, sizeof(key));

	return number < 0 ? (int)number : push_word(w, (uint32_t)number);
}

static int push_frame(struct writer *w, uint32_t number)
{
	const struct sp_file *f = sp_profile_file(w->p, sp_view_library(w->p, number));
	const struct sp_func *func = sp_profile_func(w->p, sp_profile_frame(w->p, number)->func);
	struct frame_key key = {.kind = FRAME_NAMELESS, .name = number};

	if (func->name) {
		key.kind = FRAME_NAMED;
		key.name = func->name;
	}
	key.process = f->kind == SP_FILE_ANON && !func->source ? f->process : 0;
	key.file = func->source ? func->source : f->path ? f->path : f->name;
	key.line = func->source ? func->source_line : 0;
	return push(w, key);
}

static int push_half(struct writer *w, const struct sp_half *half, enum frame_kind missed)
{
	int r = half->state == SP_HALF_MISSED ? push(w, (struct frame_key){.kind = missed}) : 0;

	for (uint32_t i = half->n; i-- > 0 && r >= 0;) {
		uint32_t frame = 0, name;

		sp_shown_rows_frame(half->ids[i], &frame, &name); /* with SP_SHOWN_EXACT all ids are frames */
		r = push_frame(w, frame);
	}
	return r;
}

static int speedscope_add_row(struct writer *w, const struct sp_shown_row *row, uint32_t value)
{
	int64_t number;
	int r;

	w->n_words = 0;
	r = push_word(w, row->slice);
	if (r >= 0 && *sp_profile_string(w->p, row->comm))
		r = push(w, (struct frame_key){.kind = FRAME_COMM, .name = row->comm});
	if (r >= 0)
		r = push_half(w, &row->user, FRAME_MISSED_USER);
	if (r >= 0)
		r = push_half(w, &row->kernel, FRAME_MISSED_KERNEL);
	if (r < 0)
		return r;
	number = sp_intern_add_to(w->stacks, w->words, w->n_words * sizeof(*w->words), &w->sums, &w->sums_capacity,
				  sizeof(*w->sums), NULL);
	if (number < 0)
		return (int)number;
	sp_saturating_add(&w->sums[number].values[value], row->value);
	return 0;
}

static bool has_slices(const struct sp_profile *p)
{
	if (!sp_profile_info(p)->slice_ns)
		return false;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		for (uint32_t value = 0; value < sp_profile_n_value_types(p); value++)
			if (sp_profile_row(p, i)->values[value] < 0)
				return false;
	return true;
}

static int add_value(struct writer *w, uint32_t value)
{
	struct sp_view_options o = *w->o;
	struct sp_shown_rows rows = {0};
	int r;

	o.value = value;
	r = sp_shown_rows_merge(w->p, &o, SP_SHOWN_EXACT | (w->has_slices ? SP_SHOWN_BY_SLICE : 0), &rows);
	for (size_t i = 0; i < rows.n && r >= 0; i++)
		r = speedscope_add_row(w, &rows.rows[i], value);
	sp_shown_rows_done(&rows);
	return r;
}

static const uint32_t *stack_words(const struct writer *w, uint32_t stack, size_t *ret_n)
{
	const uint32_t *words = sp_intern_get(w->stacks, stack, ret_n);

	*ret_n /= sizeof(*words);
	return words;
}

static int compare_stacks(const void *x, const void *y, void *arg)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	size_t n_a, n_b;
	const uint32_t *in_a = stack_words(arg, a, &n_a), *in_b = stack_words(arg, b, &n_b);

	for (size_t i = 0; i < n_a && i < n_b; i++)
		if (in_a[i] != in_b[i])
			return in_a[i] < in_b[i] ? -1 : 1;
	return (n_a > n_b) - (n_a < n_b);
}

static int sort_stacks(struct writer *w)
{
	uint32_t n = sp_intern_count(w->stacks);

	w->order = calloc((size_t)n + 1, sizeof(*w->order));
	if (!w->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	qsort_r(w->order, n, sizeof(*w->order), compare_stacks, w);
	return 0;
}

/* --- output --- */
/*
 * Writes a name into JSON. It is encoded for a terminal first, because speedscope shows names as they are, and one that
 * reverses the direction of writing would deceive.
 */
static void speedscope_put_text(struct writer *w, const char *s)
{
	char *shown SP_FREE = sp_encoded(SP_ENCODE_TERMINAL, s);

	w->no_memory |= !shown;
	for (const char *at = shown; at && *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', w->j.out);
		fputc(*at, w->j.out);
	}
}

static void put_string(struct writer *w, const char *name, const char *s)
{
	fputc('"', sp_json_raw(&w->j, name));
	speedscope_put_text(w, s);
	fputc('"', w->j.out);
}

static void put_file(struct writer *w, const struct frame_key *key)
{
	const char *file = sp_profile_string(w->p, key->file);

	if (key->process)
		sp_json_format(&w->j, "file", "\"[anon:%" PRIu32 "]\"", sp_profile_process(w->p, key->process)->pid);
	else if (*file)
		put_string(w, "file", file);
	if (key->line)
		sp_json_uint(&w->j, "line", key->line);
}

static void put_nameless(struct writer *w, const struct sp_frame *frame)
{
	const char *library = sp_profile_string(w->p, sp_profile_file(w->p, frame->file)->name);

	fputc('"', sp_json_raw(&w->j, "name"));
	speedscope_put_text(w, *library ? library : "[unknown]");
	fprintf(w->j.out, "+0x%" PRIx64 "\"", frame->offset);
}

static void speedscope_put_frame(struct writer *w, const struct frame_key *key)
{
	sp_json_object(sp_json_line(&w->j), NULL);
	if (key->kind == FRAME_MISSED_USER || key->kind == FRAME_MISSED_KERNEL)
		sp_json_string(&w->j, "name",
			       key->kind == FRAME_MISSED_USER ? "[Missed User Stack]" : "[Missed Kernel Stack]");
	else if (key->kind == FRAME_NAMELESS)
		put_nameless(w, sp_profile_frame(w->p, key->name));
	else
		put_string(w, "name", sp_profile_string(w->p, key->name));
	put_file(w, key);
	sp_json_end(&w->j);
}

static void put_samples(struct writer *w, uint32_t value)
{
	for (uint32_t i = 0; i < sp_intern_count(w->stacks); i++) {
		size_t n;
		const uint32_t *words = stack_words(w, w->order[i], &n);

		if (w->sums[w->order[i]].values[value] <= 0)
			continue;
		sp_json_array(sp_json_line(&w->j), NULL);
		for (size_t k = 1; k < n; k++) /* behind the slice */
			sp_json_uint(&w->j, NULL, words[k]);
		sp_json_end(&w->j);
	}
}

static void put_weights(struct writer *w, uint32_t value)
{
	for (uint32_t i = 0; i < sp_intern_count(w->stacks); i++) {
		int64_t weight = w->sums[w->order[i]].values[value];

		if (weight > 0)
			sp_json_int(&w->j, NULL, weight);
	}
}

/* The schema's units; all others become "none". */
static const char *speedscope_unit_of(const char *unit)
{
	static const char *const known[] = {"bytes", "microseconds", "milliseconds", "nanoseconds", "seconds"};

	for (size_t i = 0; i < SP_COUNT(known); i++)
		if (!strcmp(unit, known[i]))
			return known[i];
	return "none";
}

static void speedscope_put_name(struct writer *w, uint32_t value, uint32_t n_negative)
{
	fputc('"', sp_json_raw(&w->j, "name"));
	speedscope_put_text(w, sp_profile_string(w->p, sp_profile_value_type(w->p, value)->name));
	if (n_negative)
		fprintf(w->j.out, " (stacks below zero left out: %" PRIu32 ")", n_negative);
	fputc('"', w->j.out);
}

static void put_profile(struct writer *w, uint32_t value)
{
	const char *unit = sp_profile_string(w->p, sp_profile_value_type(w->p, value)->unit);
	uint32_t n_negative = 0;
	int64_t sum = 0;

	for (uint32_t i = 0; i < sp_intern_count(w->stacks); i++) {
		n_negative += w->sums[i].values[value] < 0;
		sp_saturating_add(&sum, SP_MAX(w->sums[i].values[value], 0));
	}
	sp_json_object(sp_json_line(&w->j), NULL);
	sp_json_string(&w->j, "type", "sampled");
	speedscope_put_name(w, value, n_negative);
	sp_json_string(&w->j, "unit", speedscope_unit_of(unit));
	sp_json_ints(&w->j, {"startValue", 0}, {"endValue", sum});
	sp_json_array(sp_json_line(&w->j), "samples");
	put_samples(w, value);
	sp_json_end(&w->j);
	sp_json_array(sp_json_line(&w->j), "weights");
	put_weights(w, value);
	sp_json_end(&w->j);
	sp_json_end(&w->j);
}

static void speedscope_put_all(struct writer *w)
{
	sp_json_object(&w->j, NULL);
	sp_json_string(&w->j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	sp_json_string(&w->j, "exporter", "soprof");
	put_string(w, "name", w->o->title ? w->o->title : "soprof");
	sp_json_uint(&w->j, "activeProfileIndex", w->o->value);
	sp_json_object(sp_json_line(&w->j), "shared");
	sp_json_array(&w->j, "frames");
	for (uint32_t i = 0; i < sp_intern_count(w->frames); i++)
		speedscope_put_frame(w, sp_intern_get(w->frames, i, NULL));
	sp_json_end(&w->j);
	sp_json_end(&w->j);
	sp_json_array(sp_json_line(&w->j), "profiles");
	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		put_profile(w, i);
	sp_json_done(&w->j);
}

static int speedscope_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct writer w = {.p = p, .o = o, .j = {.out = out}, .has_slices = has_slices(p)};
	int r = sp_intern_new(&w.frames);

	if (r >= 0)
		r = sp_intern_new(&w.stacks);
	for (uint32_t i = 0; i < sp_profile_n_value_types(p) && r >= 0; i++)
		r = add_value(&w, i);
	if (r >= 0)
		r = sort_stacks(&w);
	if (r >= 0)
		speedscope_put_all(&w);
	if (w.no_memory)
		r = -ENOMEM;
	sp_intern_free(w.frames);
	sp_intern_free(w.stacks);
	free(w.sums);
	free(w.words);
	free(w.order);
	return r;
}

const struct sp_view sp_view_speedscope = {
    .name = "speedscope",
    .suffix = ".speedscope.json",
    .mime = "application/json",
    .summary = "for www.speedscope.app",
    .slices = true,
    .write = speedscope_write,
};
