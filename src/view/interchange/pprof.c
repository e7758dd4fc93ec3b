/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof.c: gzip'd profile.proto (github.com/google/pprof), for `go tool pprof`, speedscope, Parca and Pyroscope.
 *
 * One mapping a file (kernel modules have none), the heaviest first (with a single process: its executable first, as
 * readers expect), in made-up address ranges that do not overlap: stacks have no addresses, since each stands for many
 * processes. An address less its mapping's start is the byte offset in the file, so tools that have the file or its
 * debug file find the line. Kernel frames have no addresses, only functions: an exported profile must not tell where a
 * kernel lies. A mapping has has_functions set only if a symbol named each of its frames; otherwise a reader with debug
 * files may name those named by their range only (library+0xSTART). A function's filename is its source file; where
 * none is known its library's path, so that `pprof -files` then sums by library. Inlined frames and the one that they
 * lie in are the lines of one location. Labels: comm, thread_name and stack (complete, cut, guessed, none) are strings;
 * pid is a number, as in Google's own converter of perf.data: go tool pprof takes a number in -tagfocus for a range and
 * would not find a string. slice, a number, is sp_key.slice: which of the recording's slices of equal length, from 1;
 * left out where it is not known. So are cgroup, the path, and uid. Other labels of a key follow; where these are all
 * that a foreign profile said, no others are written. Comments tell the packages of mappings, as they were where it was
 * recorded: "#soprof: package NAME VERSION BUILD-ID PATH", what is not known as "-", and names that are not the end of
 * the path: "#soprof: soname NAME BUILD-ID PATH"; and how long a slice is: "#soprof: slice NANOSECONDS". go tool pprof
 * does not show comments that begin with a #. Strings are encoded as for a terminal: valid UTF-8, no control
 * characters.
 */
#include "view/interchange/pprof.h"
#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/proto.h"
#include "view/interchange/pprof_writer.h"
#include "view/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
/* --- tables --- */
uint32_t sp_pprof_intern(struct sp_pprof *w, struct sp_intern *table, const void *bytes, size_t len)
{
	int64_t number = w->error ? w->error : sp_intern_add(table, bytes, len);

	if (number < 0)
		w->error = (int)number;
	return number < 0 ? 0 : (uint32_t)number;
}

uint32_t sp_pprof_text(struct sp_pprof *w, const char *text)
{
	char *encoded SP_FREE = sp_encoded(SP_ENCODE_TERMINAL, text);

	if (!encoded)
		w->error = -ENOMEM;
	return encoded ? sp_pprof_intern(w, w->strings, encoded, strlen(encoded)) : 0;
}

uint32_t sp_pprof_string(struct sp_pprof *w, uint32_t number)
{
	return sp_pprof_text(w, sp_profile_string(w->p, number));
}

void sp_pprof_emit(struct sp_pprof *w, uint32_t field)
{
	struct sp_pbuf head = {0};

	sp_pbuf_message(&head, field, &w->message);
	if (head.failed)
		w->error = -ENOMEM;
	else
		sp_gzip_put(&w->gzip, head.data, head.n);
	free(head.data);
}

/* --- samples --- */
static void pprof_put_stack(struct sp_pprof *w, uint32_t number, const char *missed)
{
	struct sp_stack s = sp_profile_stack(w->p, number);

	for (uint32_t i = 0, n; i < s.n_frames && !w->error; i += n) {
		n = sp_pprof_n_at_place(w->p, s.frames + i, s.n_frames - i);
		sp_pbuf_varint(&w->part, sp_pprof_location(w, s.frames + i, n));
	}
	if (number && !s.n_frames && s.stack_class != SP_CLASS_ABSENT)
		sp_pbuf_varint(&w->part, sp_pprof_said(w, missed));
}

static void pprof_put_label(struct sp_pprof *w, const char *key, const char *value, uint32_t number)
{
	if (!*value && !number)
		return;
	sp_pbuf_number(&w->part, LABEL_KEY, sp_pprof_text(w, key));
	sp_pbuf_number(&w->part, LABEL_STR, sp_pprof_text(w, value));
	sp_pbuf_number(&w->part, LABEL_NUM, number);
	sp_pbuf_message(&w->message, SAMPLE_LABEL, &w->part);
}

static const char *class_words(const struct sp_profile *p, uint32_t user)
{
	static const char *const words[] = {[SP_CLASS_COMPLETE] = "complete",
					    [SP_CLASS_CUT] = "cut",
					    [SP_CLASS_GUESSED] = "guessed",
					    [SP_CLASS_ABSENT] = "none"};
	unsigned int stack_class = user ? sp_profile_stack(p, user).stack_class : (unsigned int)SP_CLASS_ABSENT;

	return stack_class < SP_COUNT(words) ? words[stack_class] : "";
}

static void put_own_labels(struct sp_pprof *w, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(w->p, row->key);
	const struct sp_process *process = sp_profile_process(w->p, key->process);

	pprof_put_label(w, "comm", sp_profile_string(w->p, process->comm ? process->comm : key->comm), 0);
	pprof_put_label(w, "pid", "", process->pid);
	pprof_put_label(w, "thread_name", sp_profile_string(w->p, key->comm), 0);
	pprof_put_label(w, "stack", class_words(w->p, row->user), 0);
	pprof_put_label(w, "slice", "", key->slice);
	pprof_put_label(w, "cgroup", sp_profile_string(w->p, process->cgroup_path), 0);
	pprof_put_label(w, "uid", "", process->uid);
}

static void put_labels(struct sp_pprof *w, uint32_t set)
{
	size_t n;
	const struct sp_label *labels = sp_profile_labels(w->p, set, &n);

	for (size_t i = 0; i < n; i++) {
		sp_pbuf_number(&w->part, LABEL_KEY, sp_pprof_string(w, labels[i].name));
		sp_pbuf_number(&w->part, LABEL_STR, sp_pprof_string(w, labels[i].word));
		sp_pbuf_number(&w->part, LABEL_NUM, (uint64_t)labels[i].number);
		sp_pbuf_number(&w->part, LABEL_UNIT, sp_pprof_string(w, labels[i].unit));
		sp_pbuf_message(&w->message, SAMPLE_LABEL, &w->part);
	}
}

void sp_pprof_put_stacks(struct sp_pprof *w, const struct sp_row *row)
{
	pprof_put_stack(w, row->kernel, "[Missed Kernel Stack]");
	pprof_put_stack(w, row->user, "[Missed User Stack]");
	if (!w->part.n) /* readers drop samples without a location, and totals would not agree */
		sp_pbuf_varint(&w->part, sp_pprof_said(w, "[no stack]"));
}

static void put_sample(struct sp_pprof *w, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(w->p, row->key);

	sp_pprof_put_stacks(w, row);
	sp_pbuf_message(&w->message, SAMPLE_LOCATION, &w->part);
	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		sp_pbuf_varint(&w->part, (uint64_t)row->values[i]);
	sp_pbuf_message(&w->message, SAMPLE_VALUE, &w->part);
	if (!(key->flags & SP_KEYF_LABELS_ARE_ALL))
		put_own_labels(w, row);
	put_labels(w, key->labels);
	sp_pprof_emit(w, PROFILE_SAMPLE);
}

/* --- the whole --- */
static void put_type(struct sp_pprof *w, uint32_t field, const struct sp_value_type *type)
{
	sp_pbuf_number(&w->message, TYPE_TYPE, sp_pprof_string(w, type->name));
	sp_pbuf_number(&w->message, TYPE_UNIT, sp_pprof_string(w, type->unit));
	sp_pprof_emit(w, field);
}

static void put_profile_number(struct sp_pprof *w, uint32_t field, uint64_t value)
{
	struct sp_pbuf b = {0};

	sp_pbuf_number(&b, field, value);
	if (b.failed)
		w->error = -ENOMEM;
	sp_gzip_put(&w->gzip, b.data, b.n);
	free(b.data);
}

/* A word of a comment; "-" for text that is empty or has spaces. */
static const char *word_of(struct sp_pprof *w, uint32_t number)
{
	const char *word = sp_profile_string(w->p, number);

	return *word && !strchr(word, ' ') ? word : "-";
}

static void put_comment(struct sp_pprof *w, const char *kind, const char *words, const char *hex, const char *path)
{
	char *comment SP_FREE = NULL;

	if (asprintf(&comment, "#soprof: %s %s %s %s", kind, words, *hex ? hex : "-", path) < 0) {
		comment = NULL;
		w->error = -ENOMEM;
		return;
	}
	put_profile_number(w, PROFILE_COMMENT, sp_pprof_text(w, comment));
}

static void put_mapping_comments(struct sp_pprof *w, uint32_t file)
{
	const struct sp_file *f = sp_profile_file(w->p, file);
	char hex[2 * SP_BUILD_ID_MAX + 1], *words SP_FREE = NULL, *path SP_FREE = sp_view_path(w->p, file);
	const char *name = word_of(w, f->name), *last = path ? strrchr(path, '/') : NULL;

	if (f->kind != SP_FILE_ELF)
		return;
	sp_pprof_build_id(f, hex);
	if (!path || asprintf(&words, "%s %s", word_of(w, f->package), word_of(w, f->package_version)) < 0) {
		words = NULL;
		w->error = -ENOMEM;
		return;
	}
	if (f->owner_known)
		put_comment(w, "package", words, hex, path);
	if (strcmp(name, "-") != 0 && strcmp(name, last ? last + 1 : path) != 0)
		put_comment(w, "soname", name, hex, path);
}

/* What a foreign profile says about itself. */
static void put_foreign_info(struct sp_pprof *w, const struct sp_profile_info *info)
{
	size_t n;
	const struct sp_label *comments = sp_profile_labels(w->p, info->comments, &n);

	for (size_t i = 0; i < n; i++)
		put_profile_number(w, PROFILE_COMMENT, sp_pprof_string(w, comments[i].word));
	put_profile_number(w, PROFILE_DROP_FRAMES, sp_pprof_string(w, info->drop_frames));
	put_profile_number(w, PROFILE_KEEP_FRAMES, sp_pprof_string(w, info->keep_frames));
	if (sp_profile_n_value_types(w->p) > 1)
		put_profile_number(w, PROFILE_DEFAULT_TYPE,
				   sp_pprof_string(w, sp_profile_value_type(w->p, w->o->value)->name));
	put_profile_number(w, PROFILE_DOC_URL, sp_pprof_string(w, info->doc_url));
}

static void put_slice_comment(struct sp_pprof *w, uint64_t slice_ns)
{
	char comment[48];

	snprintf(comment, sizeof(comment), "#soprof: slice %" PRIu64, slice_ns);
	put_profile_number(w, PROFILE_COMMENT, sp_pprof_text(w, comment));
}

static void put_info(struct sp_pprof *w)
{
	/* only read, but the getter takes a profile that may be changed */
	const struct sp_profile_info *info = sp_profile_info((struct sp_profile *)(uintptr_t)w->p);

	for (uint32_t i = 0; i < sp_profile_n_value_types(w->p); i++)
		put_type(w, PROFILE_SAMPLE_TYPE, sp_profile_value_type(w->p, i));
	put_profile_number(w, PROFILE_TIME_NANOS, info->time_ns);
	put_profile_number(w, PROFILE_DURATION_NANOS, info->duration_ns);
	if (info->period_type.name)
		put_type(w, PROFILE_PERIOD_TYPE, &info->period_type);
	put_profile_number(w, PROFILE_PERIOD, info->period);
	for (uint32_t i = 0; i < w->n_mappings; i++)
		put_mapping_comments(w, w->order[i]);
	if (info->slice_ns)
		put_slice_comment(w, info->slice_ns);
	put_foreign_info(w, info);
}

static void put_strings(struct sp_pprof *w)
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

static int pprof_put_all(struct sp_pprof *w)
{
	sp_pprof_text(w, ""); /* string 0 */
	sp_pprof_place(w);
	put_info(w);
	for (uint32_t i = 0; i < sp_profile_n_rows(w->p) && !w->error; i++)
		put_sample(w, sp_profile_row(w->p, i));
	sp_pprof_put_places(w);
	put_strings(w); /* last, since all other parts add strings */
	return w->error;
}

int sp_pprof_tables_make(struct sp_pprof *w)
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

void sp_pprof_tables_free(struct sp_pprof *w)
{
	sp_intern_free(w->strings);
	sp_intern_free(w->functions);
	sp_intern_free(w->locations);
	free(w->mappings);
	free(w->order);
	free(w->location_of);
	free(w->location);
	free(w->message.data);
	free(w->part.data);
}

int sp_pprof_write(const struct sp_profile *p, const struct sp_view_options *o, int level, FILE *out)
{
	struct sp_pprof w = {.p = p, .o = o};
	int r = sp_pprof_tables_make(&w), done;

	if (r >= 0)
		r = sp_gzip_init(&w.gzip, out, level);
	if (r >= 0) {
		r = pprof_put_all(&w);
		done = sp_gzip_done(&w.gzip);
		r = r < 0 ? r : done;
	}
	sp_pprof_tables_free(&w);
	return r;
}

static int pprof_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	return sp_pprof_write(p, o, SP_GZIP_USUAL, out);
}

const struct sp_view sp_view_pprof = {
    .name = "pprof",
    .suffix = ".pb.gz",
    .mime = "application/vnd.google.protobuf+gzip",
    .summary = "gzip'd profile.proto, for go tool pprof",
    .binary = true,
    .recording = true,
    .slices = true,
    .write = pprof_write,
};
