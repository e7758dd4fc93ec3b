/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_objects.c: what a process that runs on keeps of its made code for debuggers (symbol/jit_objects.h).
 *
 * Each file that the process has mapped is asked for the descriptor, once; those without one are remembered. A parser
 * reads the process's memory through a descriptor that the opener has opened, and we need no privilege for it.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/jit.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MAX_FILES = 512, MAX_LISTS = 8, MAX_WITHOUT = 4096, MAX_LINES = 65536 };

struct mapped {
	uint64_t start, end, offset;
	struct sp_naming_without file;
};

static int open_proc(struct sp_naming *n, uint32_t pid, const char *what)
{
	char path[64];
	struct sp_open_path q = {.path = path};
	struct sp_naming_open o = {.fd = -1};
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	fd = sp_naming_fd(n, sp_workers_open_path(n->workers, &q, sp_naming_opened, &o), &o);
	return fd == -ESRCH || fd == -ENOENT || fd == -EACCES || fd == -EPERM ? -ENOENT : fd;
}

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
static size_t read_mapped(FILE *f, struct mapped *files)
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
			files[n++] = (struct mapped){l.start, l.end, l.offset, {.ino = l.ino, .dev = l.dev}};
	}
	return n;
}

struct descriptor_wait {
	uint64_t distance;
	int r;
	bool done;
};

static void descriptor_came(void *arg, int r, uint64_t distance)
{
	*(struct descriptor_wait *)arg = (struct descriptor_wait){.distance = distance, .r = r, .done = true};
}

/* Where the process has its descriptor by this file; 0: it has none. */
static uint64_t descriptor_of(struct sp_naming *n, uint32_t pid, const struct mapped *m)
{
	struct sp_open_request q = {.pid = (pid_t)pid, .start = m->start, .end = m->end};
	struct sp_naming_open o = {.fd = -1};
	struct descriptor_wait w = {0};
	SP_CLOSE int fd = -1;
	int r;

	if (is_without(n, &m->file))
		return 0;
	fd = sp_naming_fd(n, sp_workers_open(n->workers, &q, sp_naming_opened, &o), &o);
	r = fd < 0 ? fd : sp_workers_jit_descriptor(n->workers, fd, m->offset, descriptor_came, &w);
	r = r < 0 ? r : sp_naming_wait(n, &w.done);
	r = r < 0 ? r : w.r;
	sp_error_clear();
	if (r < 0)
		note_without(n, &m->file);
	return r < 0 ? 0 : m->start + w.distance;
}

static size_t find_descriptors(struct sp_naming *n, uint32_t pid, uint64_t *descriptors)
{
	SP_FREE struct mapped *files = calloc(MAX_FILES, sizeof(*files));
	SP_CLOSE int fd = files ? open_proc(n, pid, "maps") : -1;
	SP_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t n_files, n_found = 0, i;

	if (!f)
		return 0;
	(void)sp_take_fd(&fd); /* it is the stream's */
	n_files = read_mapped(f, files);
	for (i = 0; i < n_files && n_found < MAX_LISTS; i++) {
		descriptors[n_found] = descriptor_of(n, pid, &files[i]);
		n_found += descriptors[n_found] != 0;
	}
	return n_found;
}

static int ask(const struct sp_jit_question *q, int memory, uint64_t descriptor, struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = q->naming, .file = q->file, .names = names, .n = q->n};
	int r = sp_workers_jit_objects(q->naming->workers, memory, descriptor, q->addresses, q->n, sp_naming_came, &w);

	return sp_naming_answer(&w, r);
}

/* Another process has its number now. */
static bool has_gone(const struct sp_process *p)
{
	uint64_t start_ns = sp_process_start_ns(p->pid), tick_ns = SP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	return !start_ns || start_ns / tick_ns + 1 < p->start_ns / tick_ns ||
	       p->start_ns / tick_ns + 1 < start_ns / tick_ns;
}

/* A program and its library may both have a descriptor, of which only one is in use. */
static int ask_lists(const struct sp_jit_question *q, int memory, const uint64_t *descriptors, size_t n,
		     struct sp_name *names)
{
	SP_FREE struct sp_name *found = calloc(q->n + 1, sizeof(*found));
	int all = -ENOENT, r;
	size_t i, k;

	if (!found)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		r = ask(q, memory, descriptors[i], found);
		if (r < 0)
			continue;
		for (k = 0; k < q->n; k++)
			if (!names[k].size) {
				names[k] = found[k];
				found[k] = (struct sp_name){0};
			}
		sp_names_done(found, q->n);
		all = 0;
	}
	return all;
}

int sp_jit_by_objects(const struct sp_jit_question *q, struct sp_name *names)
{
	uint64_t descriptors[MAX_LISTS];
	SP_CLOSE int memory = -1;
	size_t n;

	if (has_gone(&q->process))
		return -ENOENT;
	n = find_descriptors(q->naming, q->process.pid, descriptors);
	memory = n ? open_proc(q->naming, q->process.pid, "mem") : -ENOENT;
	return memory < 0 ? memory : ask_lists(q, memory, descriptors, n, names);
}
