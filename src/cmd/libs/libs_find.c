/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs_find.c: asks workers what each mapped file is.
 *
 * An opener opens the file through a process that maps it, and a parser reads build id and soname. If the kernel calls
 * the file deleted, the file now at its path is examined, too. If the name only begins with the soname
 * ("libz.so.1.2.13", "libz.so.1.bak"), so is the file that the soname leads to beside it, since the next process gets
 * that one: for a renamed file the kernel shows only the new path. At most WINDOW files are asked about at a time,
 * because each takes descriptors.
 */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "cmd/libs/libs.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 32, MAX_TRIES = 64, WAIT_MS = 60000 };

struct finder {
	struct sp_libs *l;
	uint32_t *uses, *first;  /* indices of uses, by file; where a file's begin */
	struct sp_intern *known; /* files that were answered: dev, ino, ctime */
	uint32_t *known_file;    /* by number in known */
	size_t known_capacity, next;
	int failure;
};

struct job {
	struct finder *f;
	uint32_t file, n_tries;
	bool now, by_soname;
};

struct identity_key {
	uint64_t dev, ino, ctime_ns;
};

/* --- steps, from the last to the first --- */
static void begin(struct finder *f);

static void finish(struct job *job)
{
	struct finder *f = job->f;

	free(job);
	begin(f);
}

static void fail(struct job *job, int r)
{
	struct finder *f = job->f;

	free(job);
	if (!f->failure)
		f->failure = r;
}

static struct sp_libs_file *file_of(const struct job *job)
{
	return &job->f->l->files[job->file];
}

static void opened(void *arg, struct sp_open_result *o);

static const struct sp_mapped_use *use_of(const struct job *job)
{
	const struct finder *f = job->f;

	return &f->l->mapped->uses[f->uses[f->first[job->file] + job->n_tries]];
}

static void libs_find_ask(struct job *job)
{
	struct finder *f = job->f;
	const struct sp_mapped *m = f->l->mapped;
	const struct sp_mapped_use *use = use_of(job);
	struct sp_open_request q = {.pid = (pid_t)m->processes[use->process].pid,
				    .start = use->start,
				    .end = use->end,
				    .key = {.dev = m->files[job->file].dev},
				    .now = job->now};
	int r = sp_workers_open(f->l->sampling.workers, &q, opened, job);

	if (r < 0)
		fail(job, r);
}

/* The process or the mapping has gone: another that has the file may still be there. */
static bool ask_another(struct job *job)
{
	if (job->n_tries + 1 >= MAX_TRIES || job->n_tries + 1 >= job->f->l->mapped->files[job->file].n_uses)
		return false;
	job->n_tries++;
	libs_find_ask(job);
	return true;
}

static void ask_now(struct job *job)
{
	file_of(job)->state = SP_LIBS_DELETED; /* until we hear better */
	job->now = true;
	libs_find_ask(job);
}

/* What stands behind the soname in the file's name; NULL: the name is not made of it. */
static const char *behind_soname(const struct sp_libs_file *file)
{
	const char *slash = file->path ? strrchr(file->path, '/') : NULL;
	size_t n = file->soname ? strlen(file->soname) : 0;

	if (!slash || !n || strchr(file->soname, '/') || strncmp(slash + 1, file->soname, n) != 0)
		return NULL;
	return slash[1 + n] ? slash + 1 + n : NULL;
}

/* "libz.so.1.2.13" of libz.so.1: it may have been opened by this name. */
static bool is_version(const char *behind)
{
	return behind[strspn(behind, ".0123456789")] == 0;
}

static void ask_soname(struct job *job)
{
	struct finder *f = job->f;
	const struct sp_libs_file *file = file_of(job);
	SP_FREE char *path = strndup(file->path, (size_t)(behind_soname(file) - file->path));
	struct sp_open_path q = {.path = path, .pid = (pid_t)f->l->mapped->processes[use_of(job)->process].pid};
	int r;

	job->now = job->by_soname = true;
	r = path ? sp_workers_open_path(f->l->sampling.workers, &q, opened, job) : -ENOMEM;
	if (r < 0)
		fail(job, r);
}

static void remember(struct job *job)
{
	struct finder *f = job->f;
	const struct sp_libs_file *file = file_of(job);
	struct identity_key key = {file->dev, file->ino, file->ctime_ns};
	int64_t number = sp_intern_add_to(f->known, &key, sizeof(key), &f->known_file, &f->known_capacity,
					  sizeof(*f->known_file), NULL);

	if (number >= 0)
		f->known_file[number] = job->file;
}

static bool recall(struct job *job)
{
	struct finder *f = job->f;
	struct sp_libs_file *file = file_of(job);
	struct identity_key key = {file->dev, file->ino, file->ctime_ns};
	int64_t number = sp_intern_find(f->known, &key, sizeof(key));

	if (number < 0)
		return false;
	const struct sp_libs_file *same = &f->l->files[f->known_file[number]];
	file->is_elf = same->is_elf;
	file->build_id_len = same->build_id_len;
	memcpy(file->build_id, same->build_id, sizeof(file->build_id));
	file->soname = same->soname ? strdup(same->soname) : NULL;
	file->package = same->package;
	file->version = same->version;
	return true;
}

static void go_on(struct job *job)
{
	if (file_of(job)->state != SP_LIBS_CURRENT)
		ask_now(job);
	else if (behind_soname(file_of(job)))
		ask_soname(job);
	else
		finish(job);
}

static void identified(void *arg, struct sp_identify_result *id)
{
	struct job *job = arg;
	struct sp_libs_file *file = file_of(job);
	size_t len = SP_MIN(id->build_id_len, sizeof(file->build_id));

	if (id->r < 0) {
		file->why = id->r == -ENOEXEC ? NULL : strdup(sp_error_text(id->r));
		file->is_elf = id->r != -ENOEXEC;
		sp_error_clear();
	} else {
		file->is_elf = true;
		memcpy(file->build_id, id->build_id, len);
		file->build_id_len = (uint8_t)len;
		file->soname = id->soname;
		id->soname = NULL;
		if (id->package.name[0]) {
			file->package = sp_libs_keep(job->f->l, id->package.name);
			file->version = sp_libs_keep(job->f->l, id->package.version);
		}
		remember(job);
	}
	free(id->soname);
	go_on(job);
}

/* Two copies with equal build ids under the two names are no upgrade. */
static void soname_identified(struct sp_libs_file *file, const struct sp_identify_result *id)
{
	bool is_same =
	    file->disk_id_len == file->build_id_len && !memcmp(file->disk_id, file->build_id, file->build_id_len);
	char *path;

	if (id->r < 0 || (is_same && is_version(behind_soname(file)))) {
		file->has_disk = false;
		file->disk_id_len = 0;
		file->since_ns = 0;
		return;
	}
	path = strndup(file->path, (size_t)(behind_soname(file) - file->path));
	if (path) {
		free(file->path);
		file->path = path;
	}
	file->state = SP_LIBS_REPLACED;
}

static void now_identified(void *arg, struct sp_identify_result *id)
{
	struct job *job = arg;
	struct sp_libs_file *file = file_of(job);
	size_t len = SP_MIN(id->build_id_len, sizeof(file->disk_id));

	if (id->r >= 0) {
		memcpy(file->disk_id, id->build_id, len);
		file->disk_id_len = (uint8_t)len;
		if (id->package.name[0])
			file->disk_version = sp_libs_keep(job->f->l, id->package.version);
	} else {
		sp_error_clear();
	}
	if (job->by_soname)
		soname_identified(file, id);
	free(id->soname);
	finish(job);
}

/*
 * Unlinking a file and putting one in its place change the times of both. Where the old one still has a name (below an
 * overlay, a hard link) only the new one's time says something, or that of the directory.
 */
static void now_opened(struct job *job, const struct sp_open_result *o)
{
	struct sp_libs_file *file = file_of(job);

	if (o->r == -EALREADY) {
		file->state = SP_LIBS_CURRENT;
		file->since_ns = 0;
	} else if (o->r == 0 || o->r == -ENOEXEC) {
		file->state = SP_LIBS_REPLACED;
		file->has_disk = true;
		file->since_ns = SP_MAX(file->since_ns, o->state.ctime_ns);
		free(file->path);
		file->path = strdup(o->path);
	} else if (o->r == -ENOENT) {
		file->since_ns = file->since_ns ? file->since_ns : o->state.ctime_ns;
	} else if (o->r != -ESRCH) {
		file->state = SP_LIBS_REPLACED; /* something is there that may not be opened */
	}
}

/* True: something else is there, and remains to be identified. A file's own time changes when it is renamed. */
static bool soname_opened(struct job *job, const struct sp_open_result *o)
{
	struct sp_libs_file *file = file_of(job);

	if (o->r == -ENOENT && !is_version(behind_soname(file))) {
		file->state = SP_LIBS_MOVED;
		file->since_ns = file->ctime_ns;
	}
	if (o->r < 0 || (o->state.dev == file->dev && o->state.ino == file->ino))
		return false;
	file->has_disk = true;
	file->since_ns = o->state.ctime_ns;
	return true;
}

static void take_opened(struct job *job, const struct sp_open_result *o)
{
	struct sp_libs_file *file = file_of(job);

	file->is_open = true;
	file->path = strdup(o->path);
	file->dev = o->state.dev;
	file->ino = o->state.ino;
	file->ctime_ns = o->state.ctime_ns;
	file->is_ours = o->is_ours;
	file->state = o->deleted ? SP_LIBS_DELETED : SP_LIBS_CURRENT;
	file->unlinked_ns = o->deleted && !o->nlink ? o->state.ctime_ns : 0;
	file->since_ns = file->unlinked_ns;
}

static void open_failed(struct job *job, int r)
{
	static const char suffix[] = " (deleted)";
	const char *path = job->f->l->mapped->files[job->file].path;
	size_t len = strlen(path);
	struct sp_libs_file *file = file_of(job);

	if (r == -ESRCH || r == -ENOENT) { /* the process that mapped it has ended: no error, and no library any more */
		file->is_gone = true;
		sp_error_clear();
		finish(job);
		return;
	}
	file->why = strdup(sp_error_text(r));
	file->is_elf = true; /* for all we know */
	if (len > strlen(suffix) && strcmp(path + len - strlen(suffix), suffix) == 0) {
		file->state = SP_LIBS_DELETED;
		file->path = strndup(path, len - strlen(suffix));
	}
	sp_error_clear();
	go_on(job);
}

static void identify(struct job *job, int fd)
{
	int r = sp_workers_identify(job->f->l->sampling.workers, fd, job->now ? now_identified : identified, job);

	if (r < 0)
		fail(job, r);
}

/* What is mapped. */
static void libs_find_take(struct job *job, struct sp_open_result *o)
{
	if (o->r < 0 && o->r != -ENOEXEC) {
		open_failed(job, o->r);
		return;
	}
	take_opened(job, o);
	sp_error_clear();
	if (o->r < 0 || recall(job)) /* no ELF file: no library */
		go_on(job);
	else
		identify(job, o->fd);
}

/* What is there now. */
static void take_now(struct job *job, struct sp_open_result *o)
{
	bool is_other = o->r == 0;

	if (job->by_soname)
		is_other = soname_opened(job, o);
	else
		now_opened(job, o);
	sp_error_clear();
	if (is_other)
		identify(job, o->fd);
	else
		finish(job);
}

static void opened(void *arg, struct sp_open_result *o)
{
	struct job *job = arg;
	bool has_gone = (o->r == -ESRCH && !job->by_soname) || (o->r == -ENOENT && !job->now);

	if (has_gone && ask_another(job)) {
		sp_error_clear();
		return;
	}
	if (job->now)
		take_now(job, o);
	else
		libs_find_take(job, o);
	sp_cleanup_close(&o->fd);
	free(o->path);
}

static void begin(struct finder *f)
{
	struct job *job;

	if (f->failure || f->next >= f->l->mapped->n_files)
		return;
	job = calloc(1, sizeof(*job));
	if (!job) {
		f->failure = -ENOMEM;
		return;
	}
	job->f = f;
	job->file = (uint32_t)f->next++;
	libs_find_ask(job);
}

/* --- all files --- */
static int index_uses(struct finder *f)
{
	const struct sp_mapped *m = f->l->mapped;
	SP_FREE uint32_t *next = calloc(m->n_files + 1, sizeof(*next));

	f->first = calloc(m->n_files + 1, sizeof(*f->first));
	f->uses = calloc(m->n_uses + 1, sizeof(*f->uses));
	if (!next || !f->first || !f->uses)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_files; i++)
		f->first[i + 1] = f->first[i] + m->files[i].n_uses;
	for (size_t i = 0; i < m->n_uses; i++) {
		uint32_t file = m->uses[i].file;
		f->uses[f->first[file] + next[file]++] = (uint32_t)i;
	}
	return 0;
}

static int find_all(struct finder *f)
{
	int r = index_uses(f);

	if (r >= 0)
		r = sp_intern_new(&f->known);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < WINDOW; i++)
		begin(f);
	do
		r = sp_workers_wait(f->l->sampling.workers, WAIT_MS);
	while (r == -ETIMEDOUT);
	return r < 0 ? r : f->failure;
}

static void count_failures(struct sp_libs *l)
{
	for (size_t i = 0; i < l->mapped->n_files; i++) {
		l->n_not_open += l->files[i].why != NULL;
		if (l->files[i].why && !l->why_not_open)
			l->why_not_open = l->files[i].why;
	}
}

int sp_libs_find(struct sp_libs *l)
{
	struct finder f = {.l = l};
	int r;

	l->files = calloc(l->mapped->n_files + 1, sizeof(*l->files));
	if (!l->files)
		return -ENOMEM;
	r = find_all(&f);
	sp_intern_free(f.known);
	free(f.known_file);
	free(f.uses);
	free(f.first);
	count_failures(l);
	return r;
}

void sp_libs_files_done(struct sp_libs *l)
{
	for (size_t i = 0; l->files && i < l->mapped->n_files; i++) {
		free(l->files[i].path);
		free(l->files[i].soname);
		free(l->files[i].why);
	}
	free(l->files);
}
