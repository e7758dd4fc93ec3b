/* SPDX-License-Identifier: GPL-2.0-or-later */
/* naming.c: what is known of files, and the first steps of a question. */
#include "naming/naming.h"
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "capture/capture.h"
#include "elf/elf.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "unwind/build.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_AGAIN_S = 600, ASK_AGAIN_S = 60 };

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

/* --- processes that have it mapped --- */
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

/* --- names --- */
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

static bool may_spend(const struct sp_naming *n, const struct sp_named_file *f, unsigned worth, uint64_t bytes)
{
	uint32_t file = (uint32_t)(f - n->files);

	return n->may_parse(n->may_parse_arg, sp_capture_file_user(n->capture, file), worth * SP_MAX(f->n_met, 1),
			    bytes);
}

bool sp_naming_may_parse(const struct sp_naming *n, const struct sp_named_file *f, unsigned worth)
{
	struct sp_cache_key key = {0};

	if (!n->may_parse)
		return true;
	sp_capture_file_key(n->capture, (uint32_t)(f - n->files), &key);
	return may_spend(n, f, worth, key.file_size / worth);
}

bool sp_naming_may_read(const struct sp_naming *n, const struct sp_named_file *f, uint64_t bytes)
{
	return !n->may_parse || may_spend(n, f, SP_NAMING_QUESTION, bytes);
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

/* --- first steps --- */
static int vdso_names(struct sp_naming *n, int r)
{
	const struct sp_naming_work *w = n->work;
	struct sp_elf *e = NULL;
	size_t size = 0;
	const void *image = sp_capture_vdso(&size);

	r = image ? sp_elf_open_bytes(image, size, &e) : -ENOENT;
	if (r < 0)
		return sp_fail(r, "read the vDSO");
	r = sp_names_find(e, sp_function_walk, w->offsets, w->n, w->names);
	sp_elf_close(e);
	return r;
}

static int ask(struct sp_naming *n, sp_naming_step_fn *then)
{
	struct sp_naming_work *w = n->work;
	int debug_fd = sp_named_file(n, w->file)->debug_fd;

	sp_naming_then(n, then);
	return sp_naming_asked(n, sp_workers_names(n->workers, w->fd, debug_fd, w->offsets, w->n, sp_naming_named, w));
}

bool sp_naming_debug_failed(struct sp_naming *n, int r)
{
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	if (r >= 0 || f->debug_fd < 0)
		return false;
	sp_naming_note(n, n->work->file, "debug file", r);
	sp_debug_file_drop(f);
	return true;
}

/* What could not be parsed at all is not tried again: an agent would do so for ever. */
static int parsed(struct sp_naming *n, int r)
{
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	if (sp_naming_debug_failed(n, r))
		return ask(n, parsed);
	n->stats.n_asked++;
	if (r < 0 && r != -ENOMEM) {
		f->state = SP_NAMED_FAILED;
		f->failure = r;
	}
	return r;
}

static int parse(struct sp_naming *n, int r)
{
	(void)r;
	return ask(n, parsed);
}

static int looked_up(struct sp_naming *n, int r)
{
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	if (r != -ENOENT)
		return r;
	if (f->state == SP_NAMED_FAILED)
		return sp_fail(f->failure, "could not be parsed");
	if (!may_ask(n, f))
		return -EAGAIN;
	f->asked_ns = sp_time_ns(CLOCK_BOOTTIME);
	f->n_asked++;
	sp_naming_then(n, parse);
	return sp_debug_file_choose(n);
}

/* Into work->fd, since the session may close its own descriptor while we wait. */
static int hold_file(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	int fd = sp_naming_file_fd(n, w->file);

	if (fd < 0)
		return sp_fail_said(-ENOENT, "the file could not be opened");
	if (!sp_named_file(n, w->file))
		return -ENOMEM;
	w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return w->fd < 0 ? -errno : 0;
}

static int name_found(struct sp_naming *n, int r)
{
	r = hold_file(n);
	if (r < 0)
		return r;
	sp_naming_then(n, looked_up);
	return sp_naming_look_up(n);
}

static int file_names(struct sp_naming *n, int r)
{
	(void)r;
	sp_naming_then(n, name_found);
	return sp_naming_file_find(n);
}

sp_naming_step_fn *sp_naming_first(const struct sp_naming *n, uint32_t file)
{
	switch (sp_profile_file(n->profile, file)->kind) {
	case SP_FILE_VDSO:
		return vdso_names;
	case SP_FILE_ANON:
		return sp_naming_jit_code;
	case SP_FILE_KERNEL:
		return sp_naming_kernel;
	}
	return file_names;
}

static int debug_choose(struct sp_naming *n, int r)
{
	r = hold_file(n);
	if (r < 0)
		return r;
	sp_naming_then(n, n->work->ask);
	return sp_debug_file_choose(n);
}

int sp_naming_by_debug(struct sp_naming *n, int r)
{
	(void)r;
	sp_naming_then(n, debug_choose);
	return sp_naming_file_find(n);
}

/* --- source lines --- */
static void sources_came(void *work, int r, struct sp_source_lines *sources, size_t n)
{
	struct sp_naming_work *w = work;

	if (r >= 0 && w->naming)
		memcpy(w->sources, sources, SP_MIN(n, w->n) * sizeof(*sources));
	else if (r >= 0)
		sp_source_lines_done(sources, n);
	if (r >= 0)
		free(sources);
	sp_naming_came(w, r);
}

static int sources_ask(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	int debug_fd = sp_named_file(n, w->file)->debug_fd;

	(void)r;
	return sp_naming_asked(n,
			       sp_workers_source_lines(n->workers, w->fd, debug_fd, w->offsets, w->n, sources_came, w));
}

int sp_naming_source_lines(void *naming, uint32_t file, const uint64_t *offsets, size_t n,
			   struct sp_source_lines *sources)
{
	int r = sp_naming_begin(naming, &(struct sp_name_question){file, offsets, n, NULL}, sp_naming_by_debug);
	struct sp_naming_work *w = ((struct sp_naming *)naming)->work;

	if (r < 0)
		return r;
	w->sources = sources;
	w->ask = sources_ask;
	sp_naming_wait(naming);
	r = sp_naming_end(naming);
	return r < 0 && r != -ENOENT ? sp_fail(r, "source lines") : r;
}

/* --- frame pointers --- */
static void verified_came(void *work, int r, const uint64_t *places, size_t n)
{
	struct sp_naming_work *w = work;

	if (r >= 0 && w->naming) {
		memcpy(w->verified, places, SP_MIN(n, w->n) * sizeof(*places));
		w->n_verified = SP_MIN(n, w->n);
	}
	sp_naming_came(w, r);
}

static int verify_ask(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	r = hold_file(n);
	return r < 0 ? r : sp_naming_asked(n, sp_workers_verify(n->workers, w->fd, w->offsets, w->n, verified_came, w));
}

static int verify_first(struct sp_naming *n, int r)
{
	(void)r;
	sp_naming_then(n, verify_ask);
	return sp_naming_file_find(n);
}

int sp_naming_verify(struct sp_naming *n, uint32_t file, uint64_t *places, size_t *n_places)
{
	SP_FREE uint64_t *verified = calloc(*n_places + 1, sizeof(*verified));
	int r = verified ? sp_naming_begin(n, &(struct sp_name_question){file, places, *n_places, NULL}, verify_first)
			 : -ENOMEM;

	if (r < 0)
		return r;
	n->work->verified = verified;
	sp_naming_wait(n);
	*n_places = n->work->n_verified;
	memcpy(places, verified, *n_places * sizeof(*places));
	return sp_naming_end(n);
}

/* --- another profile --- */
SP_ORDER_BY(by_tag, struct sp_named_file, tag);

/* Tried in vain so long ago that a debug file may have come since. */
static bool is_stale(const struct sp_named_file *f)
{
	return f->looked_ns && sp_time_ns(CLOCK_BOOTTIME) - f->looked_ns > (uint64_t)LOOK_AGAIN_S * SP_NS_PER_S;
}

int sp_naming_renew(struct sp_naming *n, struct sp_profile *fresh)
{
	size_t n_old = n->n_files, i;
	struct sp_named_file *old = sp_take_ptr(n->files), *f, *known;

	if (fresh != n->profile) {
		sp_namer_done(&n->namer);
		sp_name_share_renew(&n->share);
	}
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

	if (n->work)
		sp_naming_end(n);
	sp_namer_done(&n->namer);
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
