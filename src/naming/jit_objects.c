/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_objects.c: JIT objects that a running process keeps for debuggers (symbol/jit_names.h).
 *
 * Each file that the process has mapped is searched once for the descriptor; those without one are remembered. A
 * parser reads the process's memory through a descriptor that the opener has opened, so we need no privilege.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MAX_FILES = 512, MAX_WITHOUT = 4096, MAX_LINES = 65536 };

struct sp_jit_mapped {
	uint64_t start, end, offset;
	struct sp_naming_without file;
};

static bool is_without(const struct sp_naming *n, const struct sp_naming_without *file)
{
	size_t i;

	for (i = 0; i < n->n_without; i++)
		if (n->without[i].ino == file->ino && n->without[i].dev == file->dev)
			return true;
	return false;
}

/* When there are too many the oldest is asked again. */
static void note_without(struct sp_naming *n, const struct sp_naming_without *file)
{
	if (n->n_without == MAX_WITHOUT)
		memmove(n->without, n->without + 1, --n->n_without * sizeof(*file));
	if (!sp_grow(&n->without, &n->without_capacity, n->n_without + 1, sizeof(*file)))
		n->without[n->n_without++] = *file;
}

/* The files that have code mapped, each once. */
static size_t read_mapped(FILE *f, struct sp_jit_mapped *files)
{
	SP_FREE char *text = NULL;
	size_t size = 0, n = 0, i, n_lines;

	for (n_lines = 0; n_lines < MAX_LINES && n < MAX_FILES && getline(&text, &size, f) > 0; n_lines++) {
		struct sp_maps_line l;

		text[strcspn(text, "\n")] = 0;
		if (!sp_maps_parse(text, &l) || !l.is_exec || !l.ino)
			continue;
		for (i = 0; i < n && (files[i].file.ino != l.ino || files[i].file.dev != l.dev); i++)
			;
		if (i == n)
			files[n++] = (struct sp_jit_mapped){l.start, l.end, l.offset, {.ino = l.ino, .dev = l.dev}};
	}
	return n;
}

/* Another process has its number now. */
static bool has_gone(const struct sp_process *p)
{
	uint64_t start_ns = sp_process_start_ns(p->pid), tick_ns = SP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	return !start_ns || start_ns / tick_ns + 1 < p->start_ns / tick_ns ||
	       p->start_ns / tick_ns + 1 < start_ns / tick_ns;
}

static int open_proc(struct sp_naming *n, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", n->work->jit.process.pid, what);
	return sp_naming_open(n, &(struct sp_open_path){.path = path});
}

/* --- the lists --- */
static int list_read(struct sp_naming *n, int r);

/* A program and its library may both have a descriptor, of which only one is in use. */
static int read_next(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_jit_question *m = &w->jit;

	if (m->at == m->n_lists)
		return m->has_list ? 0 : -ENOENT;
	sp_naming_then(n, list_read);
	return sp_naming_asked(n, sp_workers_jit_names(n->workers, SP_JIT_OBJECTS, m->fd, m->lists[m->at++],
						       m->addresses, w->n, sp_naming_named, w));
}

static int list_read(struct sp_naming *n, int r)
{
	if (r >= 0) {
		sp_jit_take(n);
		n->work->jit.has_list = true;
	}
	return read_next(n);
}

static int memory_opened(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;

	if (r < 0)
		return r == -ESRCH || r == -EACCES || r == -EPERM ? -ENOENT : r;
	m->fd = sp_take_fd(&n->work->opened.fd);
	m->at = 0;
	return read_next(n);
}

/* --- where they are --- */
static void descriptor_came(void *work, int r, uint64_t distance)
{
	struct sp_naming_work *w = work;

	w->distance = distance;
	sp_naming_came(w, r);
}

static int file_opened(struct sp_naming *n, int r);
static int file_asked(struct sp_naming *n, int r);

static int ask_next(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_jit_question *m = &w->jit;
	struct sp_open_request q = {.pid = (pid_t)m->process.pid};

	while (m->at < m->n_files && is_without(n, &m->files[m->at].file))
		m->at++;
	if (m->at < m->n_files && m->n_lists < SP_JIT_LISTS) {
		q.start = m->files[m->at].start;
		q.end = m->files[m->at].end;
		sp_naming_then(n, file_opened);
		return sp_naming_asked(n, sp_workers_open(n->workers, &q, sp_naming_opened, w));
	}
	if (!m->n_lists)
		return -ENOENT;
	sp_naming_then(n, memory_opened);
	return open_proc(n, "mem");
}

static int file_opened(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	if (r < 0)
		return file_asked(n, r);
	w->jit.fd = sp_take_fd(&w->opened.fd);
	sp_naming_then(n, file_asked);
	return sp_naming_asked(
	    n, sp_workers_jit_descriptor(n->workers, w->jit.fd, w->jit.files[w->jit.at].offset, descriptor_came, w));
}

static int file_asked(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;
	const struct sp_jit_mapped *file = &m->files[m->at++];

	sp_error_clear();
	sp_cleanup_close(&m->fd);
	m->fd = -1;
	if (r < 0)
		note_without(n, &file->file);
	else
		m->lists[m->n_lists++] = file->start + n->work->distance;
	return ask_next(n);
}

static int maps_opened(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;
	SP_FCLOSE FILE *f = r < 0 ? NULL : fdopen(n->work->opened.fd, "r");

	if (!f)
		return -ENOENT;
	(void)sp_take_fd(&n->work->opened.fd); /* it is the stream's */
	m->files = calloc(MAX_FILES, sizeof(*m->files));
	m->n_files = m->files ? read_mapped(f, m->files) : 0;
	return ask_next(n);
}

int sp_jit_by_objects(struct sp_naming *n)
{
	if (has_gone(&n->work->jit.process))
		return -ENOENT;
	sp_naming_then(n, maps_opened);
	return open_proc(n, "maps");
}
