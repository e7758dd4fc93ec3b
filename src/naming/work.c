/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.c: runs questions one after the other, step by step; if a worker was asked, the next step waits for its answer.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/lasting.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* --- one question --- */
int sp_naming_begin(struct sp_naming *n, const struct sp_name_question *q, sp_naming_step_fn *first)
{
	struct sp_naming_work *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct sp_naming_work){.naming = n,
				     .file = q->file,
				     .offsets = q->offsets,
				     .n = q->n,
				     .names = q->names,
				     .answer = q->names,
				     .opened.fd = -1,
				     .fd = -1,
				     .table_fd = -1,
				     .search = {.fd = -1, .found = -1},
				     .jit.fd = -1};
	n->work = w;
	sp_naming_then(n, first);
	return 0;
}

static int too_deep(struct sp_naming *n, int r)
{
	(void)n;
	(void)r;
	return sp_fail_said(-ELOOP, "naming has too many steps that wait for another");
}

void sp_naming_then(struct sp_naming *n, sp_naming_step_fn *step)
{
	struct sp_naming_work *w = n->work;

	if (w->n_then < SP_NAMING_STEPS)
		w->then[w->n_then++] = step;
	else
		w->then[SP_NAMING_STEPS - 1] = too_deep;
}

/* False: it waits for a worker. */
static bool go_on(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;

	if (!w->is_waiting && w->result < 0)
		sp_fail_said(w->result, "%s", w->error);
	while (!w->is_waiting && w->n_then)
		w->result = w->then[--w->n_then](n, w->result);
	return !w->is_waiting;
}

static void work_free(struct sp_naming_work *w)
{
	const int fds[] = {w->opened.fd, w->fd, w->table_fd, w->search.fd, w->search.found};
	size_t i;

	for (i = 0; i < SP_COUNT(fds); i++)
		sp_cleanup_close(&fds[i]);
	sp_jit_done(&w->jit, w->n);
	free(w);
}

int sp_naming_end(struct sp_naming *n)
{
	struct sp_naming_work *w = sp_take_ptr(n->work);
	bool is_unfinished = w->is_waiting || w->n_then;
	int r = is_unfinished ? sp_fail_said(-ECANCELED, "ended before it was named") : w->result;

	if (is_unfinished && w->is_cached && w->table_fd >= 0)
		sp_entries_discard(n->entries, w->entry);
	w->naming = NULL;
	if (!w->is_waiting) /* else its answer does so */
		work_free(w);
	return r;
}

static int wait_once(struct sp_naming *n)
{
	struct pollfd fd = {.fd = sp_workers_fd(n->workers), .events = POLLIN};

	poll(&fd, 1, sp_workers_timeout_ms(n->workers));
	return sp_workers_dispatch(n->workers);
}

int sp_naming_wait(struct sp_naming *n)
{
	int r = 0;

	while (r >= 0 && !go_on(n))
		r = wait_once(n);
	return r < 0 ? r : n->work->result;
}

int sp_naming_resolve(struct sp_naming *n, const struct sp_name_question *q)
{
	int r = sp_naming_begin(n, q, sp_naming_first(n, q->file));

	if (r < 0)
		return r;
	sp_naming_wait(n);
	return sp_naming_end(n);
}

/* --- all questions --- */
void sp_naming_start(struct sp_naming *n)
{
	n->identify_until_ns = sp_time_ns(CLOCK_MONOTONIC) + n->identify_ms * UINT64_C(1000000);
	n->fetch_ns = 0;
}

static bool is_identifying(const struct sp_naming *n)
{
	return n->identify_ms && !n->is_over && sp_capture_is_identifying(n->capture) &&
	       sp_workers_outstanding(n->workers) && sp_time_ns(CLOCK_MONOTONIC) < n->identify_until_ns;
}

/* The kernel's names, which no user makes, are left as they are. */
static void bound_names(struct sp_naming *n)
{
	const struct sp_naming_work *w = n->work;

	if (n->capture && sp_profile_file(n->profile, w->file)->kind != SP_FILE_KERNEL)
		sp_name_share_take(&n->share, sp_capture_file_user(n->capture, w->file), w->names, w->n);
}

int sp_naming_step(struct sp_naming *n)
{
	struct sp_name_question q;
	int r = 0;

	if (n->identify_until_ns) {
		if (is_identifying(n))
			return 1;
		n->identify_until_ns = 0;
		n->namer.shortens_names = n->shortens_names;
		r = sp_namer_begin(&n->namer, n->profile);
	}
	while (r >= 0) {
		if (n->work && !n->is_over && !go_on(n))
			return 1;
		if (n->work) {
			bound_names(n);
			r = sp_namer_answer(&n->namer, sp_naming_end(n));
		}
		if (r >= 0)
			r = sp_namer_next(&n->namer, &q);
		if (r <= 0)
			return r;
		r = sp_naming_begin(n, &q, sp_naming_first(n, q.file));
	}
	return r;
}

int sp_naming_run(struct sp_naming *n)
{
	int r;

	sp_naming_start(n);
	r = sp_naming_step(n);
	while (r > 0) {
		r = wait_once(n);
		r = r < 0 ? r : sp_naming_step(n);
	}
	return r;
}

/* --- answers of workers --- */
int sp_naming_asked(struct sp_naming *n, int r)
{
	n->work->is_waiting = r >= 0;
	return r;
}

void sp_naming_came(struct sp_naming_work *w, int r)
{
	const struct sp_naming *n = w->naming;

	if (n && n->parsed)
		n->parsed(n->may_parse_arg, sp_capture_file_user(n->capture, w->file),
			  sp_workers_called_ns(n->workers));
	if (n)
		w->cpu_ns += sp_workers_called_ns(n->workers);
	w->is_waiting = false;
	w->result = r;
	if (r < 0)
		snprintf(w->error, sizeof(w->error), "%s", sp_error_text(r));
	if (!w->naming)
		work_free(w);
}

void sp_naming_opened(void *work, struct sp_open_result *o)
{
	struct sp_naming_work *w = work;

	w->opened =
	    (struct sp_naming_opened){.fd = o->fd, .uid = o->uid, .mode = o->mode, .size = o->size, .state = o->state};
	free(o->path);
	sp_naming_came(w, o->r);
}

void sp_naming_named(void *work, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct sp_naming_work *w = work;

	if (r >= 0 && w->naming)
		memcpy(w->answer, names, SP_MIN(n, w->n) * sizeof(*names));
	else if (r >= 0)
		sp_names_done(names, n);
	if (r >= 0)
		free(names);
	if (warning && w->naming)
		sp_naming_note_text(w->naming, w->file, warning);
	sp_naming_came(w, r);
}

void sp_naming_table_came(void *work, int r, const struct sp_name_table_head *head)
{
	struct sp_naming_work *w = work;

	if (r >= 0)
		w->head = *head;
	sp_naming_came(w, r);
}

static void looked(void *work, int r, const struct sp_elf_debug *debug, uint32_t crc)
{
	struct sp_naming_work *w = work;

	if (r >= 0) {
		w->debug = *debug;
		w->crc = crc;
	}
	sp_naming_came(w, r);
}

int sp_naming_look(struct sp_naming *n, int fd, bool with_crc)
{
	return sp_naming_asked(n, sp_workers_debug(n->workers, fd, with_crc, looked, n->work));
}

int sp_naming_open(struct sp_naming *n, const struct sp_open_path *q)
{
	return sp_naming_asked(n, sp_workers_open_path(n->workers, q, sp_naming_opened, n->work));
}
