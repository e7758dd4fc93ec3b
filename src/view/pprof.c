/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.c: gzip'd profile.proto (github.com/google/pprof), for `go tool pprof`, speedscope, Parca and Pyroscope.
 *
 * One mapping a file, the heaviest first (with a single process: its executable first, as readers expect), in address
 * ranges made up so that none overlap: a stack has no addresses of its own, since it stands for many processes. An
 * address less its mapping's start is the byte offset in the file, so tools that have the file or its debug file find
 * the line. Kernel frames have no addresses, only functions: an exported profile must not tell where a kernel lies.
 * A mapping has functions only when every one of its frames was named by a symbol; one named by its range only
 * (library+0xSTART) leaves the door open for a reader with debug files.
 * A function's filename is its library's path: there are no source lines, and `pprof -files` then sums by library.
 * Labels: comm, thread_name and stack (complete, cut, guessed, none) are strings; pid is a number, as in Google's own
 * converter of perf.data: go tool pprof takes a number in -tagfocus for a range and would not find a string. slice, a
 * number, is sp_key.slice: which of the recording's slices of equal length, from 1; left out where it is not known.
 * Comments tell the packages of mappings, as they were where it was recorded: "#soprof: package NAME VERSION BUILD-ID
 * PATH", what is not known as "-"; go tool pprof does not show comments that begin with a #.
 * Strings are encoded as for a terminal: valid UTF-8, no control characters.
 */
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/proto.h"
#include "view/pbuf.h"
#include "view/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 0x1000ULL
#define FIRST_START 0x400000ULL
#define MAX_EXTENT (1ULL << 48) /* what lies further out in its "file" (foreign profiles) gets no address range */

struct mapping {
	uint32_t file;   /* number; the table's first element is "none" */
	uint32_t id;     /* in the output, 0 = never sampled */
	uint32_t seen;   /* number of the last row + 1 whose weight was added */
	bool kernel;     /* frames without addresses */
	bool has_ranges; /* at least one function without a symbol */
	uint64_t weight, extent, start;
};
struct location {
	uint64_t address;
	uint32_t mapping, function;
};
struct function {
	uint32_t name, system_name, filename; /* strings of the output */
};
struct writer {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_gzip gzip;
	struct sp_pbuf message, part; /* a field of the profile, and what is inside it */
	struct sp_intern *strings, *functions, *locations;
	struct mapping *mappings; /* by file */
	uint32_t *order;          /* files by the id of their mapping, from 1 */
	uint32_t n_mappings;
	uint32_t *location_of; /* by frame, 0 = not yet */
	int error;
};

/* --- tables ------------------------------------------------------------------------------------------------------- */
static uint32_t intern(struct writer *w, struct sp_intern *table, const void *bytes, size_t len)
{
	int64_t number = w->error ? w->error : sp_intern_add(table, bytes, len);

	if (number < 0)
		w->error = (int)number;
	return number < 0 ? 0 : (uint32_t)number;
}

static uint32_t string_of(struct writer *w, const char *text)
{
	char *encoded SP_FREE = sp_encoded(SP_ENCODE_TERMINAL, text);

	if (!encoded)
		w->error = -ENOMEM;
	return encoded ? intern(w, w->strings, encoded, strlen(encoded)) : 0;
}

static uint32_t profile_string(struct writer *w, uint32_t number)
{
	return string_of(w, sp_profile_string(w->p, number));
}

static void emit(struct writer *w, uint32_t field)
{
	struct sp_pbuf head = {0};

	sp_pbuf_message(&head, field, &w->message);
	if (head.failed)
		w->error = -ENOMEM;
	else
		sp_gzip_put(&w->gzip, head.data, head.n);
	free(head.data);
}

/* --- mappings ----------------------------------------------------------------------------------------------------- */
static void weigh_frame(struct writer *w, uint32_t frame, uint32_t row)
{
	const struct sp_frame *f = sp_profile_frame(w->p, frame);
	const struct sp_func *func = sp_profile_func(w->p, f->func);
	struct mapping *m = &w->mappings[f->file];
	int64_t value = sp_profile_row(w->p, row)->values[w->o->value];

	if (m->seen != row + 1)
		m->weight += value > 0 ? (uint64_t)value : 0;
	m->seen = row + 1;
	m->has_ranges |= !f->func || func->is_range;
	m->extent = SP_MAX(m->extent, f->offset + 1);
}

static void weigh_rows(struct writer *w)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(w->p); i++) {
		const struct sp_row *row = sp_profile_row(w->p, i);
		struct sp_stack stacks[] = {sp_profile_stack(w->p, row->kernel), sp_profile_stack(w->p, row->user)};

		for (size_t k = 0; k < SP_COUNT(stacks); k++)
			for (uint32_t j = 0; j < stacks[k].n_frames; j++)
				weigh_frame(w, stacks[k].frames[j], i);
	}
}

/* The executable, if all rows are of one process; else 0. */
static uint32_t only_executable(const struct sp_profile *p)
{
	uint32_t process = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		uint32_t of = sp_profile_key(p, sp_profile_row(p, i)->key)->process;

		if (process && of != process)
			return 0;
		process = of;
	}
	return process ? sp_profile_process(p, process)->exe : 0;
}

struct mapping_order {
	const struct mapping *mappings;
	uint32_t first;
};

static int compare_mappings(const void *x, const void *y, void *arg)
{
	const struct mapping_order *o = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint64_t wa = o->mappings[a].weight, wb = o->mappings[b].weight;

	if (a == o->first || b == o->first)
		return a == b ? 0 : a == o->first ? -1 : 1;
	if (wa != wb)
		return wa < wb ? 1 : -1;
	return (a > b) - (a < b);
}

/* Numbers the mappings and lays them out one after the other, a page between any two. */
static void place_mappings(struct writer *w)
{
	struct mapping_order by = {w->mappings, only_executable(w->p)};
	uint64_t start = FIRST_START;

	for (uint32_t file = 1; file < sp_profile_n_files(w->p); file++)
		if (w->mappings[file].seen || file == by.first)
			w->order[w->n_mappings++] = file;
	qsort_r(w->order, w->n_mappings, sizeof(*w->order), compare_mappings, &by);
	for (uint32_t i = 0; i < w->n_mappings; i++) {
		struct mapping *m = &w->mappings[w->order[i]];

		m->id = i + 1;
		m->file = w->order[i];
		m->kernel = sp_profile_file(w->p, m->file)->kind == SP_FILE_KERNEL;
		m->extent = (m->extent + PAGE - 1) & ~(PAGE - 1);
		if (m->kernel || !m->extent || m->extent > MAX_EXTENT)
			continue;
		m->start = start;
		start += m->extent + PAGE;
	}
}

static uint32_t path_string(struct writer *w, uint32_t file)
{
	char *path SP_FREE = sp_view_path(w->p, file);

	if (!path)
		w->error = -ENOMEM;
	return path ? string_of(w, path) : 0;
}

/* Readers merge mappings of one name and size: anonymous memory of two processes must not have the same name. */
static uint32_t mapping_name(struct writer *w, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(w->p, file);
	char anon[32];

	if (f->kind == SP_FILE_KERNEL)
		return string_of(w, "[kernel.kallsyms]");
	if (f->kind != SP_FILE_ANON)
		return path_string(w, file);
	snprintf(anon, sizeof(anon), "[anon:%" PRIu32 "]", sp_profile_process(w->p, f->process)->pid);
	return string_of(w, anon);
}

static void write_build_id(const struct sp_file *f, char hex[2 * SP_BUILD_ID_MAX + 1])
{
	*hex = '\0';
	for (size_t i = 0; i < f->build_id_len && i < SP_BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", f->build_id[i]);
}

static void put_mapping(struct writer *w, const struct mapping *m)
{
	const struct sp_file *f = sp_profile_file(w->p, m->file);
	char hex[2 * SP_BUILD_ID_MAX + 1];

	write_build_id(f, hex);
	sp_pbuf_number(&w->message, MAPPING_ID, m->id);
	sp_pbuf_number(&w->message, MAPPING_START, m->start);
	sp_pbuf_number(&w->message, MAPPING_LIMIT, m->start ? m->start + m->extent : 0);
	sp_pbuf_number(&w->message, MAPPING_FILENAME, mapping_name(w, m->file));
	sp_pbuf_number(&w->message, MAPPING_BUILD_ID, string_of(w, hex));
	sp_pbuf_number(&w->message, MAPPING_HAS_FUNCTIONS, m->seen && !m->has_ranges);
	emit(w, PROFILE_MAPPING);
}

/* --- locations and functions -------------------------------------------------------------------------------------- */
static uint32_t add_location(struct writer *w, const struct location *l)
{
	return intern(w, w->locations, l, sizeof(*l)) + 1;
}

/* A location that only says something, in no mapping. */
static uint32_t said(struct writer *w, const char *words)
{
	uint32_t name = string_of(w, words);
	struct function f = {name, name, 0};
	struct location l = {.function = intern(w, w->functions, &f, sizeof(f)) + 1};

	return add_location(w, &l);
}

static uint32_t function_of(struct writer *w, uint32_t frame)
{
	const struct sp_func *func = sp_profile_func(w->p, sp_profile_frame(w->p, frame)->func);
	struct function f = {.name = profile_string(w, func->name)};

	f.system_name = func->linkage_name ? profile_string(w, func->linkage_name) : f.name;
	f.filename = path_string(w, sp_view_library(w->p, frame));
	return intern(w, w->functions, &f, sizeof(f)) + 1;
}

static uint32_t location_of(struct writer *w, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(w->p, frame);
	const struct mapping *m = &w->mappings[f->file];
	struct location l = {.mapping = m->id, .address = m->kernel ? 0 : m->start + f->offset};

	if (w->location_of[frame])
		return w->location_of[frame];
	if (f->func)
		l.function = function_of(w, frame);
	w->location_of[frame] = add_location(w, &l);
	return w->location_of[frame];
}

static void put_locations(struct writer *w)
{
	for (uint32_t i = 0; i < sp_intern_count(w->locations) && !w->error; i++) {
		const struct location *l = sp_intern_get(w->locations, i, NULL);

		sp_pbuf_number(&w->message, LOCATION_ID, i + 1);
		sp_pbuf_number(&w->message, LOCATION_MAPPING, l->mapping);
		sp_pbuf_number(&w->message, LOCATION_ADDRESS, l->address);
		sp_pbuf_number(&w->part, LINE_FUNCTION, l->function);
		if (l->function)
			sp_pbuf_message(&w->message, LOCATION_LINE, &w->part);
		emit(w, PROFILE_LOCATION);
	}
}

static void put_functions(struct writer *w)
{
	for (uint32_t i = 0; i < sp_intern_count(w->functions) && !w->error; i++) {
		const struct function *f = sp_intern_get(w->functions, i, NULL);

		sp_pbuf_number(&w->message, FUNCTION_ID, i + 1);
		sp_pbuf_number(&w->message, FUNCTION_NAME, f->name);
		sp_pbuf_number(&w->message, FUNCTION_SYSTEM_NAME, f->system_name);
		sp_pbuf_number(&w->message, FUNCTION_FILENAME, f->filename);
		emit(w, PROFILE_FUNCTION);
	}
}

/* --- samples ------------------------------------------------------------------------------------------------------ */
static void put_stack(struct writer *w, uint32_t number, const char *missed)
{
	struct sp_stack s = sp_profile_stack(w->p, number);

	for (uint32_t i = 0; i < s.n_frames; i++)
		sp_pbuf_varint(&w->part, location_of(w, s.frames[i]));
	if (number && !s.n_frames && s.stack_class != SP_STACK_ABSENT)
		sp_pbuf_varint(&w->part, said(w, missed));
}

static void put_label(struct writer *w, const char *key, const char *value, uint32_t number)
{
	if (!*value && !number)
		return;
	sp_pbuf_number(&w->part, LABEL_KEY, string_of(w, key));
	sp_pbuf_number(&w->part, LABEL_STR, string_of(w, value));
	sp_pbuf_number(&w->part, LABEL_NUM, number);
	sp_pbuf_message(&w->message, SAMPLE_LABEL, &w->part);
}

static const char *class_words(const struct sp_profile *p, uint32_t user)
{
	static const char *const words[] = {[SP_STACK_COMPLETE] = "complete",
					    [SP_STACK_CUT] = "cut",
					    [SP_STACK_GUESS] = "guessed",
					    [SP_STACK_ABSENT] = "none"};
	unsigned int stack_class = user ? sp_profile_stack(p, user).stack_class : (unsigned int)SP_STACK_ABSENT;

	return stack_class < SP_COUNT(words) ? words[stack_class] : "";
}

static void put_labels(struct writer *w, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(w->p, row->key);
	const struct sp_process *process = sp_profile_process(w->p, key->process);

	put_label(w, "comm", sp_profile_string(w->p, process->comm ? process->comm : key->comm), 0);
	put_label(w, "pid", "", process->pid);
	put_label(w, "thread_name", sp_profile_string(w->p, key->comm), 0);
	put_label(w, "stack", class_words(w->p, row->user), 0);
	put_label(w, "slice", "", key->slice);
}

static void put_sample(struct writer *w, const struct sp_row *row)
{
	put_stack(w, row->kernel, "[Missed Kernel Stack]");
	put_stack(w, row->user, "[Missed User Stack]");
	if (!w->part.n) /* readers leave out a sample that is nowhere, and the totals would not agree */
		sp_pbuf_varint(&w->part, said(w, "[no stack]"));
	sp_pbuf_message(&w->message, SAMPLE_LOCATION, &w->part);
	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		sp_pbuf_varint(&w->part, (uint64_t)row->values[i]);
	sp_pbuf_message(&w->message, SAMPLE_VALUE, &w->part);
	put_labels(w, row);
	emit(w, PROFILE_SAMPLE);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
static void put_type(struct writer *w, uint32_t field, const struct sp_value_type *type)
{
	sp_pbuf_number(&w->message, TYPE_TYPE, profile_string(w, type->name));
	sp_pbuf_number(&w->message, TYPE_UNIT, profile_string(w, type->unit));
	emit(w, field);
}

static void put_profile_number(struct writer *w, uint32_t field, uint64_t value)
{
	struct sp_pbuf b = {0};

	sp_pbuf_number(&b, field, value);
	if (b.failed)
		w->error = -ENOMEM;
	sp_gzip_put(&w->gzip, b.data, b.n);
	free(b.data);
}

/* A word of a comment; what would be several words is not told. */
static const char *word_of(struct writer *w, uint32_t number)
{
	const char *word = sp_profile_string(w->p, number);

	return *word && !strchr(word, ' ') ? word : "-";
}

static void put_package(struct writer *w, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(w->p, file);
	char hex[2 * SP_BUILD_ID_MAX + 1], *comment SP_FREE = NULL, *path SP_FREE = NULL;

	if (f->kind != SP_FILE_ELF || !f->owner_known)
		return;
	write_build_id(f, hex);
	path = sp_view_path(w->p, file);
	if (!path || asprintf(&comment, "#soprof: package %s %s %s %s", word_of(w, f->package),
			      word_of(w, f->package_version), *hex ? hex : "-", path) < 0) {
		comment = NULL;
		w->error = -ENOMEM;
		return;
	}
	put_profile_number(w, PROFILE_COMMENT, string_of(w, comment));
}

static void put_info(struct writer *w)
{
	/* the getter wants a profile that it may hand out to be filled in; nothing is written through it here */
	const struct sp_profile_info *info = sp_profile_info((struct sp_profile *)(uintptr_t)w->p);

	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		put_type(w, PROFILE_SAMPLE_TYPE, sp_profile_value_type(w->p, i));
	put_profile_number(w, PROFILE_TIME_NANOS, info->time_ns);
	put_profile_number(w, PROFILE_DURATION_NANOS, info->duration_ns);
	if (info->period_type.name)
		put_type(w, PROFILE_PERIOD_TYPE, &info->period_type);
	put_profile_number(w, PROFILE_PERIOD, info->period);
	for (uint32_t i = 0; i < w->n_mappings; i++)
		put_package(w, w->order[i]);
}

static void put_strings(struct writer *w)
{
	for (uint32_t i = 0; i < sp_intern_count(w->strings) && !w->error; i++) {
		size_t len = 0;
		const void *text = sp_intern_get(w->strings, i, &len);
		struct sp_pbuf b = {0};

		sp_pbuf_bytes(&b, PROFILE_STRING, text, len);
		if (b.failed)
			w->error = -ENOMEM;
		sp_gzip_put(&w->gzip, b.data, b.n);
		free(b.data);
	}
}

static int put_all(struct writer *w)
{
	string_of(w, ""); /* string 0 */
	weigh_rows(w);
	place_mappings(w);
	put_info(w);
	for (uint32_t i = 0; i < sp_profile_n_rows(w->p) && !w->error; i++)
		put_sample(w, sp_profile_row(w->p, i));
	for (uint32_t i = 0; i < w->n_mappings; i++)
		put_mapping(w, &w->mappings[w->order[i]]);
	put_locations(w);
	put_functions(w);
	put_strings(w); /* last: all others have asked for strings */
	return w->error;
}

static int make_tables(struct writer *w)
{
	int r = sp_intern_new(&w->strings);

	if (r >= 0)
		r = sp_intern_new(&w->functions);
	if (r >= 0)
		r = sp_intern_new(&w->locations);
	w->mappings = calloc(sp_profile_n_files(w->p), sizeof(*w->mappings));
	w->order = calloc(sp_profile_n_files(w->p), sizeof(*w->order));
	w->location_of = calloc(sp_profile_n_frames(w->p), sizeof(*w->location_of));
	return r < 0 ? r : w->mappings && w->order && w->location_of ? 0 : -ENOMEM;
}

static void free_tables(struct writer *w)
{
	sp_intern_free(w->strings);
	sp_intern_free(w->functions);
	sp_intern_free(w->locations);
	free(w->mappings);
	free(w->order);
	free(w->location_of);
	free(w->message.data);
	free(w->part.data);
}

static int pprof_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct writer w = {.p = p, .o = o};
	int r = make_tables(&w), done;

	if (r >= 0)
		r = sp_gzip_init(&w.gzip, out);
	if (r >= 0) {
		r = put_all(&w);
		done = sp_gzip_done(&w.gzip);
		r = r < 0 ? r : done;
	}
	free_tables(&w);
	return r;
}

extern const struct sp_view sp_view_pprof;
const struct sp_view sp_view_pprof = {
    .name = "pprof",
    .suffix = ".pb.gz",
    .mime = "application/vnd.google.protobuf+gzip",
    .summary = "gzip'd profile.proto, for go tool pprof",
    .binary = true,
    .write = pprof_write,
};
