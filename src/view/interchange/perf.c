/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.c: the text of `perf script`, for stackcollapse-perf.pl, speedscope and whatever else reads it.
 *
 * Readers expect samples, not sums: FlameGraph's counts them, others add up the periods before the event, speedscope
 * takes the time between the samples of a thread. So a stack is written once for each of its samples; the periods of
 * these add up to its other value (cpu nanoseconds), and the clock goes on by the period of each sample (for values
 * that are no time, by a microsecond for each unit). Samples of one thread stand together, in the order of the
 * recording's slices, so speedscope finds each thread's time between them, but for half of the first and of the last.
 * Above MAX_EVENTS samples, each stack gets its share of so many, at least one, and the periods still add up; comments
 * at the end say so, and that times are made up.
 *
 * Names are encoded as in the folded view, and further where perf's own readers would split them: no white space in a
 * file's name, none before a digit in a thread's. Addresses are those of the file, as readelf prints them; a kernel's
 * are made up, one range a function: an exported profile must not tell where a kernel lies. Thread ids are not known:
 * the pid is used for both.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "view/priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 1 << 20 };
#define KERNEL_START 0xffff800000000000ULL
#define KERNEL_SHIFT 20 /* bytes reserved for each function */
#define NS_PER_SECOND UINT64_C(1000000000)

struct event_row {
	uint32_t row;
	const char *comm;
	uint32_t pid, slice;
	int64_t n, weight; /* number of events, and the sum of their periods */
};
struct writer {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	FILE *out;
	uint32_t samples, weight; /* values; UINT32_MAX: samples are not counted */
	uint64_t ns_per_unit, clock_ns;
	char *event;
	char **dsos; /* by file, made when they are first needed */
	struct event_row *rows;
	uint32_t n_rows, n_negative;
	int64_t n_samples;
};

/* --- names --- */
static bool always(const char *at)
{
	(void)at;
	return true;
}

static bool before_digit(const char *at)
{
	return isdigit((unsigned char)at[1]);
}

/* As in the folded view; spaces for which `hide` is true become \x20. NULL: out of memory. */
static char *encoded(const char *text, bool (*hide)(const char *at))
{
	char *plain SP_FREE = sp_encoded(SP_ENCODE_FOLDED, text), *result = NULL;
	size_t size;
	FILE *out = plain ? open_memstream(&result, &size) : NULL;

	if (!out)
		return NULL;
	for (const char *at = plain; *at; at++) {
		bool is_comment = at == plain && *at == '#';

		if (is_comment || (*at == ' ' && hide(at)))
			fprintf(out, "\\x%02x", (unsigned int)*at);
		else
			fputc(*at, out);
	}
	return fclose(out) ? NULL : result;
}

static char *dso_of(const struct sp_profile *p, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(p, file);
	char *path SP_FREE = sp_view_path(p, file);

	if (!path)
		return NULL;
	return encoded(f->kind == SP_FILE_ANON                                  ? "//anon"
		       : f->kind == SP_FILE_KERNEL && !strcmp(path, "[kernel]") ? "[kernel.kallsyms]"
		       : *path                                                  ? path
										: "[unknown]",
		       always);
}

static uint64_t address_of(const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);

	uint64_t distance = 0;

	if (!f->func || sp_profile_file(p, f->file)->kind != SP_FILE_KERNEL)
		return sp_view_address(p, frame);
	sp_view_distance(p, frame, &distance);
	return KERNEL_START + ((uint64_t)f->func << KERNEL_SHIFT) + distance;
}

/* --- one stack --- */
/* Readers cut what looks like an offset off a name: behind a name that ends so, another one is added. */
static bool ends_in_offset(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && !strncmp(plus, "+0x", 3) && plus[3] && !plus[3 + strspn(plus + 3, "0123456789abcdefABCDEF")];
}

static void put_distance(const struct sp_profile *p, uint32_t frame, FILE *out)
{
	const struct sp_func *func = sp_profile_func(p, sp_profile_frame(p, frame)->func);
	const char *name = sp_profile_string(p, func->name);
	uint64_t distance = 0;

	if (sp_view_distance(p, frame, &distance) || !*name || ends_in_offset(name))
		fprintf(out, "+0x%" PRIx64, distance);
}

static int perf_put_frame(const struct writer *w, uint32_t frame, FILE *out)
{
	uint32_t file = sp_view_library(w->p, frame);

	if (!w->dsos[file])
		w->dsos[file] = dso_of(w->p, file);
	if (!w->dsos[file])
		return -ENOMEM;
	fprintf(out, "\t%16" PRIx64 " ", address_of(w->p, frame));
	sp_view_put_name(w->p, frame, SP_ENCODE_FOLDED, out);
	put_distance(w->p, frame, out);
	fprintf(out, " (%s)\n", w->dsos[file]);
	return 0;
}

/* Writes a stack; for a missed one the folded view's placeholder (rows.c). */
static int perf_put_stack(const struct writer *w, uint32_t number, bool kernel, FILE *out)
{
	struct sp_stack s = sp_profile_stack(w->p, number);
	int r = 0;

	if (number && !s.n_frames && s.stack_class != SP_CLASS_ABSENT)
		fprintf(out, "\t%16x [Missed %s Stack]+0x0 ([unknown])\n", 0, kernel ? "Kernel" : "User");
	for (uint32_t i = 0; i < s.n_frames && r >= 0; i++)
		r = perf_put_frame(w, s.frames[i], out);
	return r;
}

static int stack_text(const struct writer *w, const struct sp_row *row, char **ret_text)
{
	size_t size;
	FILE *out = open_memstream(ret_text, &size);
	int r = 0;

	if (!out)
		return -ENOMEM;
	if (!w->o->user_only)
		r = perf_put_stack(w, row->kernel, true, out);
	if (r >= 0 && !w->o->kernel_only)
		r = perf_put_stack(w, row->user, false, out);
	return fclose(out) ? -ENOMEM : r;
}

/* --- its samples --- */
static void pass(struct writer *w, uint64_t period)
{
	uint64_t ns;

	if (__builtin_mul_overflow(period, w->ns_per_unit, &ns) ||
	    __builtin_add_overflow(w->clock_ns, ns, &w->clock_ns))
		w->clock_ns = UINT64_MAX;
}

static void put_events(struct writer *w, const struct event_row *row, const char *comm, const char *stack)
{
	uint64_t n = (uint64_t)row->n, period = (uint64_t)row->weight / n, larger = (uint64_t)row->weight % n;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t this_period = period + (i < larger);

		pass(w, this_period);
		fprintf(w->out, "%s %8" PRIu32 "/%-7" PRIu32 " %5" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " %s: \n%s\n",
			comm, row->pid, row->pid, w->clock_ns / NS_PER_SECOND, w->clock_ns % NS_PER_SECOND, this_period,
			w->event, stack);
	}
}

static int perf_put_row(struct writer *w, const struct event_row *row)
{
	char *comm SP_FREE = encoded(*row->comm ? row->comm : "[unknown]", before_digit);
	char *stack SP_FREE = NULL;
	int r = comm ? stack_text(w, sp_profile_row(w->p, row->row), &stack) : -ENOMEM;

	if (r >= 0)
		put_events(w, row, comm, stack);
	return r;
}

/* --- all rows --- */
static int compare(const void *x, const void *y)
{
	const struct event_row *a = x, *b = y;

	return strcmp(a->comm, b->comm)
	       ?: SP_RISING(a->pid, b->pid)
	       ?: SP_RISING(a->slice, b->slice)
	       ?: SP_RISING(a->row, b->row);
}

static void take_row(struct writer *w, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(w->p, number);
	const struct sp_key *key = sp_profile_key(w->p, row->key);
	int64_t n = row->values[w->samples == UINT32_MAX ? w->weight : w->samples];
	struct event_row taken = {.row = number, .n = SP_MAX(n, 1), .weight = row->values[w->weight]};

	if (n < 0 || taken.weight < 0) {
		w->n_negative++;
		return;
	}
	if (!taken.weight && (!n || w->o->value != w->samples)) /* of another event */
		return;
	taken.comm = sp_profile_string(w->p, key->comm);
	taken.pid = sp_profile_process(w->p, key->process)->pid;
	taken.slice = key->slice;
	w->rows[w->n_rows++] = taken;
	if (__builtin_add_overflow(w->n_samples, taken.n, &w->n_samples))
		w->n_samples = INT64_MAX;
}

static int take_rows(struct writer *w)
{
	w->rows = calloc((size_t)sp_profile_n_rows(w->p) + 1, sizeof(*w->rows));
	w->dsos = calloc(sp_profile_n_files(w->p), sizeof(*w->dsos));
	if (!w->rows || !w->dsos)
		return -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_rows(w->p); i++)
		take_row(w, i);
	qsort(w->rows, w->n_rows, sizeof(*w->rows), compare);
	for (uint32_t i = 0; i < w->n_rows && w->n_samples > MAX_EVENTS; i++) {
		double share = (double)w->rows[i].n / (double)w->n_samples;

		w->rows[i].n = SP_MAX((int64_t)(share * MAX_EVENTS), 1);
	}
	return 0;
}

/* No comment has digits between spaces: readers that do not know comments would take those for a pid. */
static void put_comments(const struct writer *w)
{
	if (w->n_rows)
		fputs("# soprof: times are made up\n", w->out);
	if (w->n_samples > MAX_EVENTS)
		fprintf(w->out, "# soprof: a sample here stands for several; there were %" PRId64 "\n", w->n_samples);
	if (w->n_negative)
		fprintf(w->out, "# soprof: stacks left out for a value below zero: %" PRIu32 "\n", w->n_negative);
}

/* --- which values --- */
static const char *perf_name_of(const struct sp_profile *p, uint32_t value)
{
	return sp_profile_string(p, sp_profile_value_type(p, value)->name);
}

static const char *perf_unit_of(const struct sp_profile *p, uint32_t value)
{
	return sp_profile_string(p, sp_profile_value_type(p, value)->unit);
}

/* The weight: the value shown, if it is not the number of samples; else the time of the samples, if it is known. */
static void choose_values(struct writer *w)
{
	int time = sp_profile_find_value(w->p, NULL, "nanoseconds");

	w->samples = (uint32_t)sp_profile_find_value(w->p, "samples", NULL);
	w->weight = w->o->value == w->samples && time >= 0 ? (uint32_t)time : w->o->value;
}

static uint64_t ns_per_unit(const char *unit)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1}, {"microseconds", 1000}, {"milliseconds", 1000000}, {"seconds", NS_PER_SECOND}};

	for (size_t i = 0; i < SP_COUNT(units); i++)
		if (!strcmp(unit, units[i].unit))
			return units[i].ns;
	return 1000;
}

/* The event's name: perf's own for CPU time, else the value's. */
static char *event_of(const struct writer *w)
{
	const char *name = perf_name_of(w->p, w->weight);

	if (!strcmp(name, "cpu") && !strcmp(perf_unit_of(w->p, w->weight), "nanoseconds"))
		return strdup("cpu-clock");
	return encoded(*name ? name : "samples", always);
}

static void done(struct writer *w)
{
	for (uint32_t i = 0; w->dsos && i < sp_profile_n_files(w->p); i++)
		free(w->dsos[i]);
	free(w->dsos);
	free(w->event);
	free(w->rows);
}

static int perf_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct writer w = {.p = p, .o = o, .out = out};
	int r;

	if (o->value >= sp_profile_n_value_types(p))
		return -EINVAL;
	choose_values(&w);
	w.ns_per_unit = ns_per_unit(perf_unit_of(p, w.weight));
	w.event = event_of(&w);
	r = w.event ? take_rows(&w) : -ENOMEM;
	for (uint32_t i = 0; i < w.n_rows && r >= 0; i++)
		r = perf_put_row(&w, &w.rows[i]);
	if (r >= 0)
		put_comments(&w);
	done(&w);
	return r;
}

const struct sp_view sp_view_perf = {
    .name = "perf",
    .suffix = ".perf",
    .mime = "text/plain; charset=utf-8",
    .summary = "as perf script prints it",
    .write = perf_write,
};
