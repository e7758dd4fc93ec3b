/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_callers.c: names for the code that called. A file is opened as soon as it has called for the first time,
 * while the process is there; workers open, identify and name it, wherever it lies.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/calls/machine_rows.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMING_MS = 60000 };
static const char no_file[] = "[no file]";

struct file_key {
	uint64_t ino, dev;
};

int sp_machine_callers_new(struct sp_machine_callers *c, struct sp_workers *w)
{
	int r = sp_intern_new_bare(&c->file_keys);

	c->workers = w;
	if (r >= 0)
		r = sp_intern_new_bare(&c->site_keys);
	if (r >= 0)
		r = sp_intern_new(&c->texts);
	return r;
}

void sp_machine_callers_done(struct sp_machine_callers *c)
{
	for (uint32_t i = 0; c->file_keys && i < sp_intern_count(c->file_keys); i++) {
		sp_cleanup_close(&c->files[i].fd);
		free(c->files[i].name);
	}
	free(c->files);
	free(c->sites);
	sp_intern_free(c->file_keys);
	sp_intern_free(c->site_keys);
	sp_intern_free(c->texts);
}

/* --- files --- */
static int64_t file_number(struct sp_machine_callers *c, uint64_t ino, uint32_t dev, bool *ret_is_new)
{
	const struct file_key key = {ino, dev};
	int64_t n = sp_intern_add_to(c->file_keys, &key, sizeof(key), &c->files, &c->files_capacity, sizeof(*c->files),
				     ret_is_new);

	if (n >= 0 && *ret_is_new)
		c->files[n].fd = -1;
	return n;
}

/* What a worker answers belongs to a file, by its number: the array may move meanwhile. */
struct job {
	struct sp_machine_callers *callers;
	uint32_t file;
};

static void identified(void *arg, struct sp_identify_result *id)
{
	struct job *job = arg;
	struct sp_machine_file *f = &job->callers->files[job->file];

	if (id->r >= 0)
		sp_hex(id->build_id, SP_MIN(id->build_id_len, sizeof(f->build_id) / 2), f->build_id);
	if (id->r >= 0 && id->soname) {
		free(f->name);
		f->name = sp_take_ptr(id->soname);
	}
	free(id->soname);
	free(job);
}

static void opened(void *arg, struct sp_open_result *result)
{
	struct job *job = arg;
	struct sp_machine_callers *c = job->callers;
	struct sp_machine_file *f = &c->files[job->file];

	if (result->r < 0) {
		c->n_unopened += result->r != -ENOEXEC;
		free(job);
		return;
	}
	f->fd = result->fd;
	if (result->path && *sp_path_last(result->path)) {
		free(f->name);
		f->name = strdup(sp_path_last(result->path));
	}
	free(result->path);
	if (sp_workers_identify(c->workers, f->fd, identified, job) < 0)
		free(job);
}

void sp_machine_callers_file(void *arg, const struct sp_probed_file *file)
{
	struct sp_machine_callers *c = arg;
	struct sp_open_request q = {
	    .pid = (pid_t)file->tgid, .start = file->start, .end = file->end, .key.ino = file->ino};
	struct job *job;
	bool is_new;
	int64_t number = file_number(c, file->ino, file->dev, &is_new);

	if (number < 0 || !is_new)
		return;
	c->files[number].name = strndup(file->name, sizeof(file->name));
	snprintf(q.name, sizeof(q.name), "%.*s", (int)sizeof(file->name) - 1, file->name);
	job = malloc(sizeof(*job));
	if (!job)
		return;
	*job = (struct job){c, (uint32_t)number};
	q.key.dev = file->dev;
	q.key.generation = SP_OPEN_ANY_GENERATION;
	if (sp_workers_open(c->workers, &q, opened, job) < 0)
		free(job);
}

/* --- sites --- */
int64_t sp_machine_site(struct sp_machine_callers *c, const struct sp_probed_place *place)
{
	struct {
		uint64_t offset;
		uint32_t file, unused;
	} key = {.offset = place->ino ? place->offset : 0};
	bool is_new = false;
	int64_t file = place->ino ? file_number(c, place->ino, place->dev, &is_new) : 0, site;

	if (file < 0)
		return file;
	key.file = place->ino ? (uint32_t)file + 1 : 0;
	site = sp_intern_add_to(c->site_keys, &key, sizeof(key), &c->sites, &c->sites_capacity, sizeof(*c->sites),
				&is_new);
	if (site >= 0 && is_new)
		c->sites[site] =
		    (struct sp_machine_site){.offset = place->offset, .file = key.file, .caller = UINT32_MAX};
	return site;
}

/* "NAME\0LIBRARY\0BUILD ID": one number for all sites of a function. */
static int caller_set(struct sp_machine_callers *c, struct sp_machine_site *site, const char *name, const char *library)
{
	const char *build_id = c->tells_builds && site->file ? c->files[site->file - 1].build_id : "";
	SP_FREE char *text = NULL;
	int len = asprintf(&text, "%s%c%s%c%s", name, 0, library, 0, build_id);
	int64_t number = len < 0 ? -ENOMEM : sp_intern_add(c->texts, text, (size_t)len + 1);

	if (number < 0)
		return (int)number;
	site->caller = (uint32_t)number;
	return 0;
}

static int site_name(struct sp_machine_callers *c, struct sp_machine_site *site, const struct sp_name *name)
{
	const struct sp_machine_file *f = site->file ? &c->files[site->file - 1] : NULL;
	const char *library = f && f->name ? f->name : "";
	SP_FREE char *text = NULL;

	if (!f)
		return caller_set(c, site, no_file, "");
	if (name && name->name)
		return caller_set(c, site, name->name, library);
	if (asprintf(&text, "%s+0x%" PRIx64, library,
		     name && name->size ? (name->vaddr ? name->vaddr : name->start) : site->offset) < 0)
		return -ENOMEM;
	return caller_set(c, site, text, library);
}

struct question {
	struct sp_machine_callers *callers;
	uint32_t *sites; /* by rising offset */
	size_t n;
	int r;
};

static void named(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct question *q = arg;
	struct sp_machine_callers *c = q->callers;

	(void)warning;
	for (size_t i = 0; i < q->n && q->r >= 0; i++)
		q->r = site_name(c, &c->sites[q->sites[i]], r >= 0 && i < n ? &names[i] : NULL);
	if (names)
		sp_names_done(names, n);
	free(names);
	sp_error_clear();
}

static int compare_sites(const void *a, const void *b, void *sites)
{
	const struct sp_machine_site *all = sites, *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sites of one file, by rising offset. */
static int file_ask(struct sp_machine_callers *c, struct question *q, const uint32_t *sites, size_t n)
{
	uint32_t file = c->sites[*sites].file;
	SP_FREE uint64_t *offsets = calloc(n, sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	*q = (struct question){.callers = c, .sites = (uint32_t *)sites, .n = n};
	for (size_t i = 0; i < n; i++)
		offsets[i] = c->sites[sites[i]].offset;
	if (!file || c->files[file - 1].fd < 0) {
		named(q, -ENOENT, NULL, 0, NULL);
		return q->r;
	}
	return sp_workers_names(c->workers, c->files[file - 1].fd, -1, offsets, n, named, q);
}

static int unnamed_collect(struct sp_machine_callers *c, uint32_t **ret_sites, size_t *ret_n)
{
	uint32_t n = sp_intern_count(c->site_keys), *sites = calloc(n + 1, sizeof(*sites));
	size_t n_sites = 0;

	if (!sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (c->sites[i].caller == UINT32_MAX)
			sites[n_sites++] = i;
	qsort_r(sites, n_sites, sizeof(*sites), compare_sites, c->sites);
	*ret_sites = sites;
	*ret_n = n_sites;
	return 0;
}

int sp_machine_callers_name(struct sp_machine_callers *c)
{
	SP_FREE uint32_t *sites = NULL;
	SP_FREE struct question *questions = NULL;
	size_t n = 0, n_questions = 0, end;
	int r = sp_workers_wait(c->workers, NAMING_MS); /* files that are being opened */

	if (r == -ETIMEDOUT)
		sp_error_clear();
	r = unnamed_collect(c, &sites, &n);
	questions = r < 0 ? NULL : calloc(n + 1, sizeof(*questions));
	if (r >= 0 && !questions)
		r = -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i = end) {
		for (end = i + 1; end < n && c->sites[sites[end]].file == c->sites[sites[i]].file;)
			end++;
		r = file_ask(c, &questions[n_questions++], sites + i, end - i);
	}
	while (sp_workers_outstanding(c->workers)) /* they have deadlines of their own */
		if (sp_workers_wait(c->workers, NAMING_MS) < 0)
			sp_error_clear();
	for (size_t i = 0; i < n_questions && r >= 0; i++)
		r = questions[i].r;
	return r;
}

void sp_machine_caller(const struct sp_machine_callers *c, uint32_t number, const char **ret_name,
		       const char **ret_library)
{
	const char *text = sp_intern_get(c->texts, number, NULL);

	*ret_name = text;
	*ret_library = text + strlen(text) + 1;
}
