/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c: all files that a name means: those that are mapped now, and the one that would be loaded here. */
#include "probe/file.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/suggest.h"
#include "probe/find.h"
#include "proc/mapped.h"
#include "proc/package.h"
#include "worker/jobs_probes.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A file that is looked at. */
struct look {
	struct sp_workers *workers;
	struct sp_probe_file file;
	int r;
	char *why;                                                    /* r < 0 */
	void (*looked)(void *arg, int r, struct sp_probe_file *file); /* NULL: nobody is told, the look stays */
	void *arg;
	size_t use, n_uses; /* of mapped->uses, which are sorted by file; none: it would be loaded here */
};
struct search {
	struct sp_probe_files *files;
	struct sp_workers *workers;
	struct sp_mapped *mapped;
	struct look *looks;
	size_t n, capacity;
	struct sp_suggest near;
};

void sp_probe_file_done(struct sp_probe_file *file)
{
	sp_cleanup_close(&file->fd);
	free(file->soname);
	free(file->path);
	free(file->package);
	free(file->pids);
	*file = (struct sp_probe_file){.fd = -1};
}

void sp_probe_files_done(struct sp_probe_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		sp_probe_file_done(&files->files[i]);
	free(files->files);
	free(files->real_path);
	free(files->unread);
	*files = (struct sp_probe_files){.n = 0};
}

/* --- one file --- */
/* Overlays show one file under several devices; times and size are those of the file below. */
static bool is_same(const struct sp_probe_file *a, const struct sp_probe_file *b)
{
	if (a->ino != b->ino || a->size != b->size || a->ctime_ns != b->ctime_ns)
		return false;
	return a->dev == b->dev || a->is_overlay || b->is_overlay;
}

static int pids_add(struct sp_probe_file *file, const uint32_t *pids, size_t n)
{
	int r = sp_grow(&file->pids, &file->pids_capacity, file->n_pids + n, sizeof(*file->pids));

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		file->pids[file->n_pids++] = pids[i];
	return 0;
}

/* What an overlay shows is told as the file below it, where both are met: most processes map that, by its device. */
static void prefer_below(struct sp_probe_file *known, struct sp_probe_file *file)
{
	struct sp_probe_file other = *known;

	if (!known->is_overlay || file->is_overlay)
		return;
	*known = *file;
	*file = other;
}

int sp_probe_file_copy(const struct sp_probe_file *file, struct sp_probe_file *ret_copy)
{
	struct sp_probe_file copy = *file;
	int r = 0;

	copy.pids = NULL;
	copy.n_pids = copy.pids_capacity = 0;
	copy.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	r = copy.fd < 0 ? -errno : pids_add(&copy, file->pids, file->n_pids);
	copy.soname = strdup(file->soname);
	copy.path = strdup(file->path);
	copy.package = strdup(file->package);
	if (r >= 0 && (!copy.soname || !copy.path || !copy.package))
		r = -ENOMEM;
	if (r < 0)
		sp_probe_file_done(&copy);
	else
		*ret_copy = copy;
	return r;
}

int sp_probe_files_add(struct sp_probe_files *files, struct sp_probe_file *file)
{
	int r;

	for (size_t i = 0; i < files->n; i++)
		if (is_same(&files->files[i], file)) {
			prefer_below(&files->files[i], file);
			r = pids_add(&files->files[i], file->pids, file->n_pids);
			sp_probe_file_done(file);
			return r;
		}
	r = files->n == SP_PROBE_MAX_FILES
		? sp_fail_said(-E2BIG, "more than %d files are '%s'", SP_PROBE_MAX_FILES, files->name.text)
		: sp_grow(&files->files, &files->capacity, files->n + 1, sizeof(*files->files));
	if (r < 0) {
		sp_probe_file_done(file);
		return r;
	}
	files->files[files->n++] = *file;
	*file = (struct sp_probe_file){.fd = -1};
	return 1;
}

bool sp_probe_files_have(const struct sp_probe_files *files, const struct sp_probe_file *file)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct sp_probe_file *f = &files->files[i];

		if (f->ino == file->ino && (f->dev == file->dev || f->is_overlay))
			return true;
	}
	return false;
}

/* --- workers' answers --- */
static void look_end(struct look *l)
{
	if (!l->looked && l->r < 0)
		l->why = strdup(sp_error_text(l->r));
	if (!l->looked)
		return;
	l->looked(l->arg, l->r, &l->file);
	sp_probe_file_done(&l->file);
	free(l);
}

static void identified(void *arg, struct sp_identify_result *id)
{
	struct look *l = arg;
	char *soname = sp_take_ptr(id->soname);

	l->r = id->r;
	l->file.cpu_ns += sp_workers_called_ns(l->workers);
	l->file.build_id_len = SP_MIN(id->build_id_len, (uint32_t)sizeof(l->file.build_id));
	memcpy(l->file.build_id, id->build_id, l->file.build_id_len);
	free(l->file.soname);
	free(l->file.package);
	l->file.soname = soname ? soname : strdup("");
	l->file.package = strdup(id->r < 0 ? "" : id->package.name);
	if (!l->file.soname || !l->file.package)
		l->r = -ENOMEM;
	look_end(l);
}

static bool is_on_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static void opened(void *arg, struct sp_open_result *o)
{
	struct look *l = arg;

	l->r = o->r;
	l->file.cpu_ns += sp_workers_called_ns(l->workers);
	l->file.fd = o->fd;
	free(l->file.path);
	l->file.path = o->path;
	if (o->r < 0) {
		look_end(l);
		return;
	}
	l->file.dev = o->state.dev;
	l->file.ino = o->state.ino;
	l->file.size = o->size;
	l->file.ctime_ns = o->state.ctime_ns;
	l->file.is_deleted = o->deleted;
	l->file.is_overlay = is_on_overlay(o->fd);
	l->r = sp_workers_identify(l->workers, o->fd, identified, l);
	if (l->r < 0)
		look_end(l);
}

static int look_at(struct look *l, uint32_t pid, uint64_t start, uint64_t end)
{
	struct sp_open_request q = {.pid = (pid_t)pid, .start = start, .end = end};

	return sp_workers_open(l->workers, &q, opened, l);
}

int sp_probe_file_look(struct sp_workers *w, uint32_t pid, uint64_t start, uint64_t end,
		       void (*looked)(void *arg, int r, struct sp_probe_file *file), void *arg)
{
	struct look *l = malloc(sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	*l = (struct look){.workers = w, .file.fd = -1, .looked = looked, .arg = arg};
	r = pids_add(&l->file, &pid, 1);
	if (r >= 0)
		r = look_at(l, pid, start, end);
	if (r < 0) {
		sp_probe_file_done(&l->file);
		free(l);
	}
	return r;
}

/* --- what is mapped --- */
static int use_order(const void *a, const void *b, void *arg)
{
	const struct sp_mapped *m = arg;
	const struct sp_mapped_use *x = a, *y = b;
	const struct sp_mapped_file *f = &m->files[x->file], *g = &m->files[y->file];

	if (f->dev != g->dev)
		return f->dev < g->dev ? -1 : 1;
	if (f->ino != g->ino)
		return f->ino < g->ino ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static bool is_same_use(const struct sp_mapped *m, size_t i, size_t k)
{
	const struct sp_mapped_file *f = &m->files[m->uses[i].file], *g = &m->files[m->uses[k].file];

	return f->dev == g->dev && f->ino == g->ino;
}

static int look_add(struct search *s, size_t use, size_t n_uses)
{
	return SP_APPEND(s->looks, s->n, s->capacity,
			 (struct look){.workers = s->workers, .use = use, .n_uses = n_uses, .file.fd = -1});
}

/* A library that has its name from its soname alone, in a file that is called otherwise, is looked for in all files. */
static int mapped_choose(struct search *s)
{
	const struct sp_mapped *m = s->mapped;
	size_t n;
	int r = 0;

	for (size_t i = 0; i < m->n_uses && r >= 0; i += n) {
		bool may_be = s->files->name.by != SP_PROBE_BY_PATH;

		for (n = 0; i + n < m->n_uses && is_same_use(m, i, i + n); n++)
			may_be = may_be || sp_probe_name_may_be(&s->files->name, m->files[m->uses[i + n].file].path);
		if (may_be && *m->files[m->uses[i].file].path == '/')
			r = look_add(s, i, n);
	}
	return r;
}

static int look_begin(struct search *s, struct look *l)
{
	const struct sp_mapped_use *use = &s->mapped->uses[l->use];

	return look_at(l, s->mapped->processes[use->process].pid, use->start, use->end);
}

static int mapped_read(struct search *s)
{
	struct sp_mapped_options o = {.pids = s->files->name.pid ? &s->files->name.pid : NULL,
				      .n_pids = s->files->name.pid != 0};
	int r = sp_mapped_read(&o, &s->mapped);

	if (r < 0)
		return r;
	if (s->files->name.pid && !s->mapped->n_processes)
		return s->mapped->n_refused
			   ? sp_fail_said(-EACCES, "process %u is not ours to look into", s->files->name.pid)
			   : sp_fail_said(-ENOENT, "there is no process %u", s->files->name.pid);
	s->files->n_stuck = s->mapped->n_refused + s->mapped->n_stuck;
	qsort_r(s->mapped->uses, s->mapped->n_uses, sizeof(*s->mapped->uses), use_order, s->mapped);
	return mapped_choose(s);
}

/* --- what would be loaded --- */
static int here_look(struct search *s, const char *path)
{
	struct sp_open_path q = {.path = path};

	return sp_workers_open_path(s->workers, &q, opened, &s->looks[s->n - 1]);
}

/* *ret_path: NULL = nothing would. */
static int here_find(struct search *s, char **ret_path)
{
	const struct sp_probe_name *name = &s->files->name;

	*ret_path = NULL;
	if (name->pid || name->by == SP_PROBE_BY_BUILD_ID)
		return 0;
	*ret_path = name->by == SP_PROBE_BY_PATH ? realpath(name->text, NULL) : sp_probe_find(name->text);
	return *ret_path ? look_add(s, 0, 0) : 0;
}

/* --- which are meant --- */
static int uses_take(const struct search *s, struct look *l)
{
	int r = 0;

	for (size_t i = 0; i < l->n_uses && r >= 0; i++)
		r = pids_add(&l->file, &s->mapped->processes[s->mapped->uses[l->use + i].process].pid, 1);
	return r;
}

static int meant_take(struct search *s)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r >= 0; i++) {
		struct look *l = &s->looks[i];

		if (l->r < 0 || !sp_probe_name_is(&s->files->name, &l->file))
			continue;
		r = uses_take(s, l);
		if (r >= 0)
			r = sp_probe_files_add(s->files, &l->file);
	}
	return SP_MIN(r, 0);
}

static void unread_add(struct sp_probe_files *files, const char *path, const struct look *l)
{
	if (files->n_unread++)
		return;
	if (asprintf(&files->unread, "%s: %s", path, l->why ? l->why : strerror(-l->r)) < 0)
		files->unread = NULL;
}

/* Some could be meant, but cannot be looked at; a worker tells of what is no ELF file apart. */
static void unread_count(struct search *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct look *l = &s->looks[i];
		const char *path =
		    l->n_uses ? s->mapped->files[s->mapped->uses[l->use].file].path : s->files->name.text;

		if (l->r < 0 && l->r != -ENOEXEC && l->r != -ESRCH && l->r != -ENOENT &&
		    sp_probe_name_may_be(&s->files->name, path))
			unread_add(s->files, path, l);
	}
}

static int packages_take(struct search *s)
{
	const char **paths = calloc(s->n + 1, sizeof(*paths));
	struct sp_packages *packages = NULL;
	int r = paths ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < s->n; i++)
		paths[i] = s->looks[i].file.path ? s->looks[i].file.path : "";
	if (!r)
		r = sp_packages_find(NULL, paths, s->n, &packages);
	for (size_t i = 0; r >= 0 && i < s->n; i++) {
		struct sp_probe_file *file = &s->looks[i].file;
		const char *name = sp_packages_get(packages, i).name;

		if (s->looks[i].r < 0 || !*name)
			continue;
		free(file->package);
		file->package = strdup(name);
		r = file->package ? 0 : -ENOMEM;
	}
	sp_packages_free(packages);
	free(paths);
	return r;
}

/* --- what may have been meant --- */
/* The file that is named by its path, if it is there and cannot be looked at; or NULL. */
static const struct look *here_failed(const struct search *s)
{
	const struct look *last = s->n ? &s->looks[s->n - 1] : NULL;

	return s->files->name.by == SP_PROBE_BY_PATH && last && !last->n_uses && last->r < 0 && last->r != -ENOENT
		   ? last
		   : NULL;
}

/* What ld.so would find by the name calls itself so; NULL: it finds nothing. */
static const char *here_soname(const struct search *s)
{
	const struct look *last = s->n ? &s->looks[s->n - 1] : NULL;

	return last && !last->n_uses && last->r >= 0 && *last->file.soname ? last->file.soname : NULL;
}

static int nothing(struct search *s)
{
	const struct sp_probe_name *name = &s->files->name;
	const struct look *failed = here_failed(s);
	SP_FREE char *names = NULL;

	if (failed)
		return sp_fail_said(failed->r, "%s: %s", name->text, failed->why ? failed->why : strerror(-failed->r));
	s->near.word = sp_path_last(name->text);
	for (size_t i = 0; i < s->n; i++) {
		const struct look *l = &s->looks[i];

		if (l->r >= 0 && name->by != SP_PROBE_BY_PATH) {
			sp_suggest_offer(&s->near, *l->file.soname ? l->file.soname : sp_path_last(l->file.path));
			sp_suggest_offer(&s->near, l->file.package);
		}
	}
	if (here_soname(s)) /* libz.so is there, and is libz.so.1 */
		s->near.best = here_soname(s);
	else if (name->by == SP_PROBE_BY_PACKAGE && !name->pid) /* the last that a name is tried as */
		sp_probe_find_near(&s->near, &names);
	if (s->files->n_unread && name->by == SP_PROBE_ALL)
		return sp_fail_said(-EACCES, "no file of process %u can be read; %zu cannot be opened", name->pid,
				    s->files->n_unread);
	if (s->files->n_unread)
		return sp_fail_said(-EACCES, "no file '%s' can be read; %zu cannot, such as %s", name->text,
				    s->files->n_unread, s->files->unread ? s->files->unread : "one");
	if (s->near.best && *s->near.best)
		return sp_fail_said(-ENOENT, "there is no library or program '%s'; did you mean %s?", name->text,
				    s->near.best);
	return sp_fail_said(-ENOENT, "there is no library or program '%s': %s", name->text,
			    name->pid ? "the process does not map it"
				      : "no process maps it, and ld.so would not find it");
}

/* The beginning of a build id stands for one build alone. */
static int is_clear(const struct sp_probe_files *files)
{
	const struct sp_probe_file *first = files->files;

	for (size_t i = 1; files->name.by == SP_PROBE_BY_BUILD_ID && i < files->n; i++)
		if (memcmp(files->files[i].build_id, first->build_id, sizeof(first->build_id)) != 0)
			return sp_fail_said(-EINVAL, "the build id %s stands for %s and %s: more digits are needed",
					    files->name.text, sp_path_last(first->path),
					    sp_path_last(files->files[i].path));
	return 0;
}

static int search_run(struct search *s)
{
	SP_FREE char *path = NULL;
	int r = mapped_read(s);

	if (r >= 0)
		r = here_find(s, &path);
	for (size_t i = 0; i < s->n && r >= 0; i++) /* they stay where they are from now on */
		r = s->looks[i].n_uses ? look_begin(s, &s->looks[i]) : here_look(s, path);
	/* Those that were begun answer to us; files that are slow, or too many, are counted as unread. */
	sp_workers_probes_wait(s->workers, s->looks, s->n, sizeof(*s->looks));
	if (r < 0)
		return r;
	if (s->files->name.by == SP_PROBE_BY_PATH && path) /* without links, as mappings have it */
		s->files->name.text = s->files->real_path = sp_take_ptr(path);
	unread_count(s);
	r = meant_take(s);
	if (r >= 0 && !s->files->n && s->files->name.by == SP_PROBE_BY_NAME) {
		s->files->name.by = SP_PROBE_BY_PACKAGE;
		r = packages_take(s);
		r = r < 0 ? r : meant_take(s);
	}
	if (r >= 0 && !s->files->n)
		r = nothing(s);
	return r < 0 ? r : is_clear(s->files);
}

static void search_done(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		sp_probe_file_done(&s->looks[i].file);
	for (size_t i = 0; i < s->n; i++)
		free(s->looks[i].why);
	free(s->looks);
	sp_mapped_free(s->mapped);
}

int sp_probe_files(const char *named, struct sp_workers *w, struct sp_probe_files *ret_files)
{
	struct sp_probe_files files = {.n = 0};
	struct search s = {.files = &files, .workers = w};
	struct sp_workers *own = NULL;
	int r = sp_probe_name_parse(named, &files.name);

	if (!r && !w)
		r = sp_workers_new(&(struct sp_workers_options){0}, &own);
	if (r < 0)
		return r;
	s.workers = w ? w : own;
	r = search_run(&s);
	sp_workers_free(own); /* before what their answers go to */
	search_done(&s);
	if (r < 0)
		sp_probe_files_done(&files);
	else
		*ret_files = files;
	return r;
}
