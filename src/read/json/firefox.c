/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox.c: JSON of the Firefox profiler (profiler.firefox.com), of samply and of perf's script "gecko".
 *
 * Of two forms: "processed", whose tables are an array for each column, in each thread or, newer, in `shared`; and what
 * Gecko itself writes, whose tables have a schema and rows, with processes within. Both have for each sample the number
 * of a stack, which is a frame above another stack. Values: samples, and their time, a sample being as long as the
 * interval; where weights are bytes, these. Gecko writes native frames as addresses, which lie in the libraries of the
 * process: they are named LIBRARY+0xADDRESS.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/json/json.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 1 << 14, MAX_PROCESSES_DEPTH = 8, VALUE_SAMPLES = 0, VALUE_TIME = 1, VALUE_BYTES = 2 };

struct column {
	int64_t *at;
	size_t n;
};
struct span {
	uint64_t start, end;
	size_t library;
};
/* The tables of a thread, or those that threads share. */
struct tables {
	uint32_t stacks, frames, funcs; /* where they are in the document */
	uint32_t *strings, *libraries;
	size_t n_strings, n_libraries;
	struct span *spans;                 /* of libraries */
	struct column prefix, frame_of;     /* of stacks; -1: none */
	struct column func_of, line;        /* of frames */
	struct column name, resource, file; /* of functions; of a frame in Gecko's form the name is the location */
	struct column library;              /* of resources: which of the libraries */
	struct column resource_name;
	uint32_t *known; /* frames of the profile, by frame; 0 = not made yet */
};
struct firefox {
	struct sp_input *in;
	struct sp_doc *d;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct tables t;
	double interval_ns;
	uint32_t libraries; /* of all threads; 0: each has its own */
	uint32_t *path;
	size_t path_capacity;
};

/* --- tables --- */
static int column_read(const struct firefox *f, uint32_t table, const char *name, struct column *ret_column)
{
	int64_t at = sp_doc_int(f->d, sp_doc_member(f->d, sp_doc_member(f->d, table, "schema"), name), -1);
	uint32_t rows = sp_doc_member(f->d, table, "data");
	SP_FREE uint32_t *values = NULL;
	size_t n;
	int r;

	if (at < 0 || !rows)
		return sp_doc_ints(f->d, sp_doc_member(f->d, table, name), -1, &ret_column->at, &ret_column->n);
	r = sp_doc_elements(f->d, rows, &values, &n);
	if (r < 0)
		return r;
	*ret_column = (struct column){calloc(n + 1, sizeof(*ret_column->at)), n};
	if (!ret_column->at)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t cell = sp_doc_first(f->d, values[i]);

		for (int64_t k = 0; k < at && cell; k++)
			cell = sp_doc_next(f->d, values[i], cell);
		ret_column->at[i] = sp_doc_int(f->d, cell, -1);
	}
	return 0;
}

static int64_t cell(const struct column *c, int64_t row)
{
	return row >= 0 && (uint64_t)row < c->n ? c->at[row] : -1;
}

static void tables_done(struct tables *t)
{
	struct column *const columns[] = {&t->prefix,   &t->frame_of, &t->func_of, &t->line,         &t->name,
					  &t->resource, &t->file,     &t->library, &t->resource_name};

	for (size_t i = 0; i < SP_COUNT(columns); i++)
		free(columns[i]->at);
	free(t->strings);
	free(t->libraries);
	free(t->spans);
	free(t->known);
	*t = (struct tables){0};
}

static uint32_t table_of(const struct firefox *f, uint32_t thread, const char *name)
{
	uint32_t own = sp_doc_member(f->d, thread, name), shared = sp_doc_member(f->d, SP_DOC_ROOT, "shared");

	return own ? own : sp_doc_member(f->d, shared, name);
}

SP_ORDER_BY(span_compare, struct span, start);

/* Where the libraries are mapped, by address. */
static int spans_read(struct firefox *f)
{
	struct tables *t = &f->t;

	t->spans = calloc(t->n_libraries + 1, sizeof(*t->spans));
	if (!t->spans)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_libraries; i++) {
		uint32_t start = sp_doc_member(f->d, t->libraries[i], "start"),
			 end = sp_doc_member(f->d, t->libraries[i], "end");

		t->spans[i] =
		    (struct span){(uint64_t)sp_doc_int(f->d, start, 0), (uint64_t)sp_doc_int(f->d, end, 0), i};
	}
	qsort(t->spans, t->n_libraries, sizeof(*t->spans), span_compare);
	return 0;
}

/* NULL: the address is in no library. */
static const struct span *span_at(const struct tables *t, uint64_t address)
{
	size_t n = SP_N_UP_TO(t->spans, t->n_libraries, start, address);

	return n && address < t->spans[n - 1].end ? &t->spans[n - 1] : NULL;
}

/* Tables that threads share are read once. */
static int tables_read(struct firefox *f, uint32_t thread)
{
	struct tables *t = &f->t;
	uint32_t stacks = table_of(f, thread, "stackTable"), frames = table_of(f, thread, "frameTable"),
		 funcs = table_of(f, thread, "funcTable"), resources = table_of(f, thread, "resourceTable"),
		 strings = table_of(f, thread, "stringArray"), libraries = sp_doc_member(f->d, thread, "libs");
	const struct {
		uint32_t table;
		const char *name;
		struct column *column;
	} columns[] = {
	    {stacks, "prefix", &t->prefix}, {stacks, "frame", &t->frame_of}, {frames, "func", &t->func_of},
	    {frames, "line", &t->line},     {funcs, "name", &t->name},       {funcs, "resource", &t->resource},
	    {funcs, "fileName", &t->file},  {resources, "lib", &t->library}, {resources, "name", &t->resource_name},
	};
	int r = 0;

	if (stacks && t->stacks == stacks && t->frames == frames && t->funcs == funcs)
		return 0;
	tables_done(t);
	t->stacks = stacks;
	t->frames = frames;
	t->funcs = funcs;
	for (size_t i = 0; i < SP_COUNT(columns) && r >= 0; i++)
		r = column_read(f, columns[i].table, columns[i].name, columns[i].column);
	if (r >= 0 && !funcs) { /* Gecko's */
		free(t->func_of.at);
		r = column_read(f, frames, "location", &t->func_of);
	}
	if (r >= 0)
		r = sp_doc_elements(f->d, strings ? strings : table_of(f, thread, "stringTable"), &t->strings,
				    &t->n_strings);
	if (r >= 0)
		r = sp_doc_elements(f->d, libraries ? libraries : f->libraries, &t->libraries, &t->n_libraries);
	if (r >= 0)
		r = spans_read(f);
	t->known = r < 0 ? NULL : calloc(t->func_of.n + 1, sizeof(*t->known));
	return r < 0 ? r : t->known ? sp_input_check_memory(f->in) : -ENOMEM;
}

/* --- frames --- */
/* A new string; "" for what is no string's number. */
static char *string_at(const struct firefox *f, int64_t number)
{
	bool is_there = number >= 0 && (uint64_t)number < f->t.n_strings;
	const char *text = is_there ? sp_doc_string(f->d, f->t.strings[number]) : "";

	return text ? strdup(text) : NULL;
}

/* Its path, else its name. A new string. */
static char *library_at(const struct firefox *f, int64_t number)
{
	uint32_t library = number >= 0 && (uint64_t)number < f->t.n_libraries ? f->t.libraries[number] : 0;
	const char *text = sp_doc_string(f->d, sp_doc_member(f->d, library, "path"));

	if (text && !*text)
		text = sp_doc_string(f->d, sp_doc_member(f->d, library, "name"));
	return text ? strdup(text) : NULL;
}

/* The library of a function, else what else it came from (a script, an add-on). A new string. */
static char *file_of(const struct firefox *f, int64_t func, const char *source)
{
	int64_t resource = cell(&f->t.resource, func), library = cell(&f->t.library, resource);

	if (library >= 0)
		return library_at(f, library);
	return *source ? strdup(source) : string_at(f, cell(&f->t.resource_name, resource));
}

/* "memcpy (in libc.so.6)": Gecko's form has name and library in one. */
static const char *location_split(char *name)
{
	char *at = strstr(name, " (in ");
	size_t n = strlen(name);

	if (!at || at == name || name[n - 1] != ')')
		return "";
	name[n - 1] = 0;
	*at = 0;
	return at + 5;
}

/* "burn (https://a/b.js:1:22)[8]": the script that the name is in, without line and column; "": there is none. */
static const char *script_split(char *name)
{
	char *at = strstr(name, " ("), *end = strrchr(name, ')'), *colon;
	bool has_line = false;

	if (!at || at == name || !end || end < at || (end[1] && end[1] != '['))
		return "";
	*end = 0;
	while ((colon = strrchr(at + 2, ':')) && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) {
		*colon = 0;
		has_line = true;
	}
	*(has_line ? at : end) = has_line ? 0 : ')';
	return has_line ? at + 2 : "";
}

/* "0x7f00001234" in a library that is mapped there becomes "libfoo.so+0x1234", in the library's path. */
static int address_split(const struct firefox *f, char **name, char **ret_file)
{
	char *end, *text = NULL;
	uint64_t address = strncmp(*name, "0x", 2) ? 0 : strtoull(*name, &end, 16);
	const struct span *span = address && !*end ? span_at(&f->t, address) : NULL;
	const char *library;

	if (!span)
		return 0;
	library = sp_doc_string(f->d, sp_doc_member(f->d, f->t.libraries[span->library], "name"));
	if (!library || asprintf(&text, "%s+0x%" PRIx64, library, address - span->start) < 0)
		return -ENOMEM;
	free(*name);
	free(*ret_file);
	*name = text;
	*ret_file = library_at(f, (int64_t)span->library);
	return *ret_file ? 0 : -ENOMEM;
}

static int64_t frame_make(struct firefox *f, int64_t frame)
{
	int64_t func = cell(&f->t.func_of, frame), line = cell(&f->t.line, frame);
	SP_FREE char *name = string_at(f, f->t.funcs ? cell(&f->t.name, func) : func);
	SP_FREE char *source = string_at(f, cell(&f->t.file, func));
	SP_FREE char *file = source ? file_of(f, func, source) : NULL;
	struct sp_read_named named = {.source = source};

	if (!name || !source || !file || (!f->t.funcs && address_split(f, &name, &file) < 0))
		return -ENOMEM;
	named.name = name;
	named.file = *file ? file : f->t.funcs ? "" : location_split(name);
	if (!*named.file && !f->t.funcs)
		named.file = script_split(name);
	named.line = *source && line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	return sp_read_named_frame(f->p, &named);
}

static int64_t frame_at(struct firefox *f, int64_t frame)
{
	bool is_there = frame >= 0 && (uint64_t)frame < f->t.func_of.n;
	int64_t made;

	if (is_there && f->t.known[frame])
		return f->t.known[frame];
	made = frame_make(f, is_there ? frame : -1);
	if (made > 0 && is_there)
		f->t.known[frame] = (uint32_t)made;
	return made;
}

/* --- samples --- */
static bool is_root(const struct firefox *f, uint32_t frame)
{
	const struct sp_func *func = sp_profile_func(f->p, sp_profile_frame(f->p, frame)->func);

	return !strcmp(sp_profile_string(f->p, func->name), "(root)");
}

/* 1: told that the stack is none. */
static int path_make(struct firefox *f, uint32_t thread, int64_t stack, struct sp_read_path *ret_path)
{
	size_t n = 0;

	while (stack >= 0) {
		int64_t above = cell(&f->t.prefix, stack), frame = frame_at(f, cell(&f->t.frame_of, stack));
		int r = frame < 0 ? (int)frame : sp_grow(&f->path, &f->path_capacity, n + 1, sizeof(*f->path));

		if (r < 0)
			return r;
		if (above >= stack || (uint64_t)stack >= f->t.frame_of.n || n == MAX_DEPTH)
			return sp_doc_bad(f->d, thread, "stack %lld is not above an earlier one", (long long)stack)
				   ?: 1;
		f->path[n++] = (uint32_t)frame;
		stack = above;
	}
	n -= n && is_root(f, f->path[n - 1]);
	*ret_path = (struct sp_read_path){.frames = f->path, .n = n, .leaf_first = true};
	return 0;
}

enum weight_is { WEIGHT_SAMPLES, WEIGHT_MS, WEIGHT_BYTES };

static enum weight_is weight_of(const struct firefox *f, uint32_t samples)
{
	uint32_t type = sp_doc_member(f->d, samples, "weightType");

	return sp_doc_is(f->d, type, "tracing-ms") ? WEIGHT_MS
	       : sp_doc_is(f->d, type, "bytes")    ? WEIGHT_BYTES
						   : WEIGHT_SAMPLES;
}

/* Sums of the samples of one stack; the last is of those without one. */
struct sums {
	int64_t values[3];
};

static int64_t rounded(double x)
{
	return fabs(x) < 9e18 ? (int64_t)llround(x) : 0;
}

static void sample_add(const struct firefox *f, enum weight_is is, double weight, struct sums *sums)
{
	sp_saturating_add(&sums->values[VALUE_SAMPLES], is == WEIGHT_SAMPLES ? rounded(weight) : 1);
	if (is == WEIGHT_BYTES)
		sp_saturating_add(&sums->values[VALUE_BYTES], rounded(weight));
	else
		sp_saturating_add(&sums->values[VALUE_TIME],
				  rounded(is == WEIGHT_MS ? weight * 1e6 : weight * f->interval_ns));
}

static int samples_sum(struct firefox *f, uint32_t samples, const struct column *stacks, struct sums *sums)
{
	enum weight_is is = weight_of(f, samples);
	uint32_t weights = sp_doc_member(f->d, samples, "weight");
	uint32_t weight = sp_doc_kind(f->d, weights) == SP_DOC_ARRAY ? sp_doc_first(f->d, weights) : 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < stacks->n; i++) {
		int64_t stack = stacks->at[i];
		bool is_there = stack >= 0 && (uint64_t)stack < f->t.frame_of.n;

		if (stack >= 0 && !is_there)
			r = sp_doc_bad(f->d, samples, "a sample of stack %lld, which is not there", (long long)stack);
		f->result->n_samples++;
		sample_add(f, is, weight ? sp_doc_double(f->d, weight, 0) : 1,
			   &sums[is_there ? (size_t)stack : f->t.frame_of.n]);
		weight = weight ? sp_doc_next(f->d, weights, weight) : 0;
	}
	return r;
}

static int64_t thread_key(struct firefox *f, uint32_t thread)
{
	uint32_t pid = sp_doc_member(f->d, thread, "pid");
	SP_FREE char *process = strdup(sp_doc_string(f->d, sp_doc_member(f->d, thread, "processName")) ?: "");
	SP_FREE char *name = strdup(sp_doc_string(f->d, sp_doc_member(f->d, thread, "name")) ?: "");
	const char *text = sp_doc_string(f->d, pid);
	uint64_t number = (uint64_t)SP_MAX(sp_doc_int(f->d, pid, 0), 0);

	if (!process || !name || !text)
		return -ENOMEM;
	if (*text && sp_parse_number(text, 0, UINT32_MAX, &number) < 0) {
		sp_error_clear(); /* "Unknown Process 1" */
		number = 0;
	}
	return sp_read_thread(f->p, number <= UINT32_MAX ? (uint32_t)number : 0, process, name);
}

static int rows_add(struct firefox *f, uint32_t thread, const struct sums *sums)
{
	int64_t key = thread_key(f, thread);
	int r = (int)SP_MIN(key, 0);

	for (size_t i = 0; i <= f->t.frame_of.n && r >= 0; i++) {
		bool has_stack = i < f->t.frame_of.n;
		int64_t values[SP_MAX_VALUES] = {0};
		struct sp_read_path path = {0};

		if (!sums[i].values[0] && !sums[i].values[1] && !sums[i].values[2])
			continue;
		memcpy(values, sums[i].values, sizeof(sums[i].values));
		r = has_stack ? path_make(f, thread, (int64_t)i, &path) : 0;
		if (r == 0)
			r = sp_read_path_add(f->p, (uint32_t)key, &path, values);
		if (r >= 0)
			r = sp_input_check_memory(f->in);
	}
	return r;
}

static int thread_read(struct firefox *f, uint32_t thread)
{
	uint32_t samples = sp_doc_member(f->d, thread, "samples");
	struct column stacks = {0};
	SP_FREE struct sums *sums = NULL;
	int r = tables_read(f, thread);

	if (r >= 0)
		r = column_read(f, samples, "stack", &stacks);
	sums = r < 0 ? NULL : calloc(f->t.frame_of.n + 1, sizeof(*sums));
	if (r >= 0)
		r = sums ? samples_sum(f, samples, &stacks, sums) : -ENOMEM;
	if (r >= 0)
		r = rows_add(f, thread, sums);
	free(stacks.at);
	return r;
}

/* --- the whole --- */
static bool has_bytes(const struct firefox *f, uint32_t threads)
{
	for (uint32_t i = sp_doc_first(f->d, threads); i; i = sp_doc_next(f->d, threads, i))
		if (weight_of(f, sp_doc_member(f->d, i, "samples")) == WEIGHT_BYTES)
			return true;
	return false;
}

/* A process of Gecko's form, in which others may be. */
static int process_read(struct firefox *f, uint32_t process, unsigned depth)
{
	uint32_t threads = sp_doc_member(f->d, process, "threads"),
		 processes = sp_doc_member(f->d, process, "processes");
	double ms = sp_doc_double(f->d, sp_doc_at(f->d, process, "meta.interval"), 1);
	uint32_t libraries = sp_doc_member(f->d, process, "libs");
	int r = 0;

	f->interval_ns = ms > 0 && ms < 1e6 ? ms * 1e6 : 1e6;
	f->libraries = libraries;
	for (uint32_t i = sp_doc_first(f->d, threads); i && r >= 0; i = sp_doc_next(f->d, threads, i))
		r = thread_read(f, i);
	for (uint32_t i = sp_doc_first(f->d, processes); i && r >= 0; i = sp_doc_next(f->d, processes, i))
		r = depth < MAX_PROCESSES_DEPTH ? process_read(f, i, depth + 1)
						: sp_doc_bad(f->d, i, "processes within processes within others");
	return r;
}

static int document_read(struct firefox *f)
{
	int r = sp_profile_add_value_type(f->p, "samples", "count");

	if (r >= 0)
		r = sp_profile_add_value_type(f->p, "time", "nanoseconds");
	if (r >= 0 && has_bytes(f, sp_doc_member(f->d, SP_DOC_ROOT, "threads")))
		r = sp_profile_add_value_type(f->p, "bytes", "bytes");
	if (r >= 0)
		r = process_read(f, SP_DOC_ROOT, 0);
	if (r >= 0)
		sp_profile_info(f->p)->default_type = sp_profile_value_type(f->p, VALUE_TIME)->name;
	return r;
}

static int firefox_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
			struct sp_read_result *result)
{
	struct firefox f = {.in = in, .result = result, .p = into};
	int r = sp_doc_read(in, o, result, &f.d);

	if (r >= 0)
		r = document_read(&f);
	sp_doc_free(f.d);
	tables_done(&f.t);
	free(f.path);
	return r;
}

/* A program that writes such a file may begin with anything; these words are early in all. */
static int firefox_recognise(const uint8_t *head, size_t n)
{
	static const char *const words[] = {"\"preprocessedProfileVersion\"", "\"stackTable\"", "\"pausedRanges\"",
					    "\"frameTable\"", "\"breakpadId\""};

	for (size_t i = 0; n && *head == '{' && i < SP_COUNT(words); i++)
		if (memmem(head, n, words[i], strlen(words[i])))
			return 88;
	return 0;
}

const struct sp_reader sp_reader_firefox = {
    .name = "firefox",
    .summary = "JSON of the Firefox profiler, of samply and perf's script gecko",
    .recognise = firefox_recognise,
    .read = firefox_read,
};
