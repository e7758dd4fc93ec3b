/* SPDX-License-Identifier: GPL-2.0-or-later */
/* naming.c: names of one file's offsets, asked from the workers. */
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "elf/elf.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "unwind/build.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_AGAIN_S = 600, MADE_AGAIN_S = 60, ASK_AGAIN_S = 60 };

int sp_naming_answer(struct sp_naming_wait *w, int asked)
{
	int r = asked < 0 ? asked : sp_naming_wait(w->naming, &w->done);

	return r < 0 ? r : w->r;
}

int sp_naming_wait(struct sp_naming *n, const bool *done)
{
	int r = 0;

	while (r >= 0 && !*done)
		if (n->meanwhile)
			n->meanwhile(n->meanwhile_arg);
		else
			r = sp_workers_wait(n->workers, 60000);
	return r;
}

void sp_naming_opened(void *open, struct sp_open_result *result)
{
	*(struct sp_naming_open *)open = (struct sp_naming_open){.r = result->r,
								 .fd = result->fd,
								 .uid = result->uid,
								 .mode = result->mode,
								 .size = result->size,
								 .done = true};
	free(result->path);
}

int sp_naming_fd(struct sp_naming *n, int asked, struct sp_naming_open *open)
{
	int r = asked < 0 ? asked : sp_naming_wait(n, &open->done);

	r = r < 0 ? r : open->r;
	return r < 0 ? r : open->fd;
}

void sp_naming_note_text(struct sp_naming *n, uint32_t file, const char *text)
{
	struct sp_file *f = sp_profile_file(n->profile, file);
	int64_t note = f->note ? 0 : sp_profile_add_string(n->profile, text);

	if (note > 0)
		f->note = (uint32_t)note;
}

void sp_naming_note(struct sp_naming *n, uint32_t file, const char *what, int r)
{
	char text[512];

	snprintf(text, sizeof(text), "%.300s: %.200s", what, sp_error_text(r));
	sp_error_clear();
	sp_naming_note_text(n, file, text);
}

/* --- who has it mapped ---------------------------------------------------------------------------------------------
 */
static void pids_of_row(struct sp_naming *n, const struct sp_row *row)
{
	const struct sp_profile *p = n->profile;
	const struct sp_key *key = sp_profile_key(p, row->key);
	struct sp_stack stack = sp_profile_stack(p, row->user);
	uint32_t i;

	for (i = 0; i < stack.n_frames; i++) {
		uint32_t file = sp_profile_frame(p, stack.frames[i])->file;

		if (file < n->n_pids)
			n->pids[file] = sp_profile_process(p, key->process)->pid;
	}
}

uint32_t sp_naming_pid(struct sp_naming *n, uint32_t file)
{
	const struct sp_profile *p = n->profile;
	uint32_t i;

	if (file >= n->n_pids && !sp_grow(&n->pids, &n->n_pids, sp_profile_n_files(p), sizeof(*n->pids)))
		for (i = 0; i < sp_profile_n_rows(p); i++)
			pids_of_row(n, sp_profile_row(p, i));
	return file < n->n_pids ? n->pids[file] : 0;
}

/* --- names ---------------------------------------------------------------------------------------------------------
 */
static int vdso_names(const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_elf *e = NULL;
	size_t size = 0;
	const void *image = sp_capture_vdso(&size);
	int r = image ? sp_elf_open_bytes(image, size, &e) : -ENOENT;

	if (r < 0)
		return sp_fail(r, "read the vDSO");
	r = sp_names_find(e, sp_function_walk, offsets, n, names);
	sp_elf_close(e);
	return r;
}

void sp_naming_came(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct sp_naming_wait *w = arg;

	if (warning)
		sp_naming_note_text(w->naming, w->file, warning);

	w->done = true;
	w->r = r;
	if (r < 0)
		return;
	memcpy(w->names, names, SP_MIN(n, w->n) * sizeof(*names));
	free(names);
}

static int ask(struct sp_naming *naming, uint32_t file, const int fds[2], const uint64_t *offsets, size_t n,
	       struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = naming, .file = file, .names = names, .n = n};
	int r = sp_workers_names(naming->workers, fds[0], fds[1], offsets, n, sp_naming_came, &w);

	return sp_naming_answer(&w, r);
}

struct sp_named_file *sp_named_file(struct sp_naming *n, uint32_t file)
{
	if (sp_grow(&n->files, &n->n_files, (size_t)file + 1, sizeof(*n->files)) < 0)
		return NULL;
	n->files[file].tag = sp_profile_file(n->profile, file)->tag;
	return &n->files[file];
}

void sp_naming_met(struct sp_naming *n, uint32_t file, uint64_t n_samples)
{
	struct sp_named_file *f = sp_named_file(n, file);

	if (f)
		f->n_met += n_samples;
}

bool sp_naming_may_parse(const struct sp_naming *n, const struct sp_named_file *f, unsigned worth)
{
	return !n->may_parse || n->may_parse(n->may_parse_arg, worth * SP_MAX(f->n_met, 1));
}

/* What is too large for a table is asked for what came together in a minute. */
static bool may_ask(const struct sp_naming *n, const struct sp_named_file *f)
{
	uint64_t now_ns = sp_time_ns(CLOCK_BOOTTIME);
	bool is_soon =
	    f->state == SP_NAMED_ASKED && f->asked_ns && now_ns - f->asked_ns < (uint64_t)ASK_AGAIN_S * SP_NS_PER_S;

	return !n->may_parse || (!is_soon && sp_naming_may_parse(n, f, SP_NAMING_QUESTION));
}

void sp_named_file_done(struct sp_named_file *f)
{
	sp_debug_file_drop(f);
	if (f->state == SP_NAMED_PRIVATE)
		close(f->table.fd);
	*f = (struct sp_named_file){0};
}

/* What could not be parsed at all is not tried again: an agent would do so for ever. */
static int ask_parser(struct sp_naming *n, uint32_t file, int fd, const uint64_t *offsets, size_t n_offsets,
		      struct sp_name *names)
{
	struct sp_named_file *f = sp_named_file(n, file);
	SP_CLOSE int held = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the session may close its own while we wait */
	int r;

	if (!f)
		return -ENOMEM;
	if (f->state == SP_NAMED_FAILED)
		return sp_fail(f->failure, "could not be parsed");
	if (held < 0)
		return -errno;
	if (!may_ask(n, f))
		return -EAGAIN;
	f->asked_ns = sp_time_ns(CLOCK_BOOTTIME);
	f->n_asked++;
	sp_debug_file_choose(n, file, f, held);
	r = ask(n, file, (const int[]){held, f->debug_fd}, offsets, n_offsets, names);
	if (r < 0 && f->debug_fd >= 0) {
		sp_naming_note(n, file, "debug file", r);
		sp_debug_file_drop(f);
		r = ask(n, file, (const int[]){held, -1}, offsets, n_offsets, names);
	}
	n->stats.n_asked++;
	if (r < 0 && r != -ENOMEM) {
		f->state = SP_NAMED_FAILED;
		f->failure = r;
	}
	return r;
}

/* Most programs that make code tell nothing of it; one that does may begin to. */
static int ask_made(struct sp_naming *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		    struct sp_name *names)
{
	struct sp_named_file *f = sp_named_file(n, file);
	uint64_t now_ns = sp_time_ns(CLOCK_BOOTTIME);
	int r;

	if (!f)
		return -ENOMEM;
	if (f->looked_ns && now_ns - f->looked_ns < (uint64_t)MADE_AGAIN_S * SP_NS_PER_S)
		return -ENOENT;
	if (!sp_naming_may_parse(n, f, SP_NAMING_QUESTION))
		return -EAGAIN;
	r = sp_naming_jit_code(n, file, offsets, n_offsets, names);
	f = sp_named_file(n, file);
	if (f)
		f->looked_ns = r == -ENOENT ? now_ns : 0;
	return r;
}

int sp_naming_resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_naming *naming = arg;
	uint8_t kind = sp_profile_file(naming->profile, file)->kind;
	int fd, r;

	if (kind == SP_FILE_VDSO)
		return vdso_names(offsets, n, names);
	if (kind == SP_FILE_ANON)
		return ask_made(naming, file, offsets, n, names);
	fd = sp_naming_file_fd(naming, file);
	if (fd < 0)
		return sp_fail_said(-ENOENT, "the file could not be opened");
	r = sp_naming_look_up(naming, file, fd, offsets, n, names);
	return r == -ENOENT ? ask_parser(naming, file, fd, offsets, n, names) : r;
}

struct sources_wait {
	struct sp_source_lines *sources;
	size_t n;
	int r;
	bool done;
};

static void sources_came(void *arg, int r, struct sp_source_lines *sources, size_t n)
{
	struct sources_wait *w = arg;

	w->done = true;
	w->r = r;
	if (r < 0)
		return;
	memcpy(w->sources, sources, SP_MIN(n, w->n) * sizeof(*sources));
	free(sources);
}

int sp_naming_source_lines(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_source_lines *sources)
{
	struct sp_naming *naming = arg;
	struct sources_wait w = {.sources = sources, .n = n};
	int fd = sp_naming_file_fd(naming, file), r;
	struct sp_named_file *f = sp_named_file(naming, file);

	if (fd < 0)
		return -ENOENT;
	if (!f)
		return -ENOMEM;
	sp_debug_file_choose(naming, file, f, fd);
	r = sp_workers_source_lines(naming->workers, fd, f->debug_fd, offsets, n, sources_came, &w);
	r = r < 0 ? r : sp_naming_wait(naming, &w.done);
	r = r < 0 ? r : w.r;
	return r < 0 && r != -ENOENT ? sp_fail(r, "source lines") : r;
}

static int by_tag(const void *a, const void *b)
{
	const struct sp_named_file *x = a, *y = b;

	return (x->tag > y->tag) - (x->tag < y->tag);
}

/* Tried in vain so long ago that a debug file may have come since. */
static bool is_stale(const struct sp_named_file *f)
{
	return f->looked_ns && sp_time_ns(CLOCK_BOOTTIME) - f->looked_ns > (uint64_t)LOOK_AGAIN_S * SP_NS_PER_S;
}

int sp_naming_renew(struct sp_naming *n, struct sp_profile *fresh)
{
	size_t n_old = n->n_files, i;
	struct sp_named_file *old = sp_take_ptr(n->files), *f, *known;

	n->profile = fresh;
	n->renewed_ns = sp_time_ns(CLOCK_MONOTONIC);
	n->n_files = 0;
	free(sp_take_ptr(n->pids));
	n->n_pids = 0;
	if (n_old)
		qsort(old, n_old, sizeof(*old), by_tag);
	for (i = 1; i < sp_profile_n_files(fresh) && n_old; i++) {
		struct sp_named_file key = {.tag = sp_profile_file(fresh, (uint32_t)i)->tag};

		known = sp_profile_file(fresh, (uint32_t)i)->kind == SP_FILE_ELF
			    ? bsearch(&key, old, n_old, sizeof(*old), by_tag)
			    : NULL;
		f = known && !is_stale(known) ? sp_named_file(n, (uint32_t)i) : NULL;
		if (!f)
			continue;
		*f = *known;
		*known = (struct sp_named_file){.tag = known->tag, .debug_fd = -1};
	}
	for (i = 0; i < n_old; i++)
		sp_named_file_done(&old[i]);
	free(old);
	return 0;
}

void sp_naming_done(struct sp_naming *n)
{
	size_t i;

	for (i = 0; i < n->n_files; i++)
		sp_named_file_done(&n->files[i]);
	sp_naming_kernel_drop(n);
	sp_naming_paths_done(n);
	sp_name_scratch_free(n->scratch);
	free(n->files);
	free(n->pids);
	free(n->urls);
	free(n->without);
	sp_entries_close(n->entries);
	*n = (struct sp_naming){0};
}
