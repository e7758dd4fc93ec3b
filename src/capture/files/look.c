/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.c: a look at a new file: it is opened and identified.
 *
 * A file that cannot be opened is forgotten by the kernel half, so that it is announced again when it is met again, at
 * most SP_MAX_OPEN_TRIES times; one whose user may not have it looked at now (users.h), however often that is.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "capture/backend.h"
#include "capture/files/file_job.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The file is no ELF file and has no name any more (shared memory, a memfd, a deleted temporary file): programs put JIT
 * code into such files to map it twice, or to share it. From now on the kernel half takes its mappings for memory
 * without a file.
 */
static void no_file_note(struct sp_capture *c, uint32_t id)
{
	sp_files_refuse_table(c, id);
	sp_tables_set_code(c->tables, id, SP_TABLE_NO_FILE);
}

static bool is_no_file(const struct sp_capture *c, uint32_t id, int r)
{
	return r == -ENOEXEC && sp_profile_file(c->profile, c->seen[id].number)->deleted;
}

/* --- who it is --- */
static void package_keep(struct sp_capture *c, struct sp_file *file, const struct sp_elf_package *package)
{
	int64_t name = sp_profile_add_string(c->profile, package->name);
	int64_t version = sp_profile_add_string(c->profile, package->version);

	if (name < 0 || version < 0)
		return; /* lose the name, not the file */
	file->package = (uint32_t)name;
	file->package_version = (uint32_t)version;
}

static void identity_keep(struct sp_capture *c, uint32_t id, const struct sp_identify_result *identity)
{
	struct sp_file *file = sp_profile_file(c->profile, c->seen[id].number);
	struct sp_known_file *k = sp_known_of(c, id);
	int64_t soname = identity->soname ? sp_profile_add_string(c->profile, identity->soname) : 0;

	k->is_identified = true;
	k->state.sample = identity->sample;
	k->image_vaddr = identity->image_vaddr;
	k->image_bytes = identity->image_bytes;
	k->build_id_len = SP_MIN(identity->build_id_len, sizeof(k->build_id));
	memcpy(k->build_id, identity->build_id, k->build_id_len);
	file->build_id_len = (uint8_t)SP_MIN(k->build_id_len, SP_BUILD_ID_MAX);
	memcpy(file->build_id, k->build_id, file->build_id_len);
	if (soname > 0)
		file->name = (uint32_t)soname;
	if (identity->package.name[0])
		package_keep(c, file, &identity->package);
}

/* --- a look: opening and identifying --- */
static struct sp_file_job *look_new(struct sp_capture *c, uint32_t id)
{
	struct sp_file_job *job = sp_file_job_new(c, id);

	if (!job || !c->o.users)
		return job;
	job->next = c->looking;
	c->looking = job;
	return job;
}

static void look_end(struct sp_file_job *job, int r)
{
	struct sp_file_job **at = &job->c->looking;

	while (*at && *at != job)
		at = &(*at)->next;
	if (*at)
		*at = job->next;
	sp_users_looked(job->c, job->user, r, job->cpu_ns);
	free(job);
}

void sp_files_cancel(struct sp_capture *c, uint32_t uid)
{
	const struct sp_file_job *job;

	for (job = c->looking; job; job = job->next)
		if (job->user == uid)
			sp_workers_cancel(c->workers, job);
}

static bool is_taken_back(const struct sp_capture *c, int r)
{
	return r == -ECANCELED && c->o.users != NULL;
}

/* It is announced again when its user may have it looked at. */
static void look_refused(struct sp_capture *c, uint32_t id)
{
	sp_files_note(c, id, "its user has used up the CPU time for new files");
	sp_error_clear();
	sp_files_refuse_table(c, id);
	c->backend->forget(c, id);
}

/* It is there, but nothing that we read. */
static void unreadable(struct sp_capture *c, uint32_t id, int r)
{
	if (is_no_file(c, id, r)) {
		no_file_note(c, id);
	} else {
		sp_files_note(c, id, sp_error_text(r));
		sp_files_refuse_table(c, id);
	}
	sp_error_clear();
}

static void identity_take(struct sp_capture *c, uint32_t id, const struct sp_identify_result *identity)
{
	if (identity->r < 0) {
		unreadable(c, id, identity->r);
	} else {
		identity_keep(c, id, identity);
		sp_files_table(c, id);
	}
}

static void identified(void *arg, struct sp_identify_result *identity)
{
	struct sp_file_job *job = arg;
	struct sp_capture *c = job->c;
	uint32_t id = job->id;
	bool late = sp_file_job_is_late(job);

	job->cpu_ns += sp_workers_called_ns(c->workers);
	look_end(job, identity->r);
	if (!late && is_taken_back(c, identity->r))
		look_refused(c, id);
	else if (!late)
		identity_take(c, id, identity);
	free(identity->soname);
}

static void identity_want(struct sp_file_job *job)
{
	struct sp_capture *c = job->c;
	uint32_t id = job->id;
	int r = sp_workers_identify(c->workers, sp_known_of(c, id)->fd, identified, job);

	if (r < 0) {
		look_end(job, r);
		sp_files_fail_once(c, r, "ask for a build id");
		sp_files_refuse_table(c, id);
	}
}

/* --- opening --- */
static void open_failed(struct sp_capture *c, uint32_t id, int r)
{
	struct sp_known_file *k = sp_known_of(c, id);

	sp_files_note(c, id, sp_error_text(r));
	sp_error_clear();
	sp_files_refuse_table(c, id);
	/* The file is announced anew, under a new id, if a process that lives longer has it mapped. */
	if (++k->n_tries < SP_MAX_OPEN_TRIES && c->backend)
		c->backend->forget(c, id);
}

static int path_keep(struct sp_capture *c, uint32_t id, const struct sp_open_result *o)
{
	struct sp_file *file = sp_profile_file(c->profile, c->seen[id].number);
	int64_t path = sp_profile_add_string(c->profile, o->path);
	/* No path means that only another hard link's is known: keep the name that the kernel half sent. */
	int64_t name = *o->path ? sp_profile_add_string(c->profile, sp_path_last(o->path)) : file->name;

	if (path < 0 || name < 0)
		return -ENOMEM;
	file->path = (uint32_t)path;
	file->name = (uint32_t)name;
	file->deleted = o->deleted;
	file->note = 0;
	return 0;
}

static void opened(void *arg, struct sp_open_result *o)
{
	struct sp_file_job *job = arg;
	struct sp_capture *c = job->c;
	uint32_t id = job->id;
	struct sp_known_file *k = sp_known_of(c, id);
	bool late = sp_file_job_is_late(job);

	job->cpu_ns += sp_workers_called_ns(c->workers);
	if (late || o->r < 0)
		look_end(job, o->r);
	if (late) {
		sp_cleanup_close(&o->fd);
		free(o->path);
		return;
	}
	if (is_taken_back(c, o->r)) {
		look_refused(c, id);
		return;
	}
	if (o->r < 0 && o->r != -ENOEXEC) {
		open_failed(c, id, o->r);
		return;
	}
	sp_files_note_deleted(c, k, o);
	if (k->fd >= 0) { /* another announcement of the file was faster, and its descriptor may be in use */
		sp_cleanup_close(&o->fd);
	} else {
		k->fd = o->fd;
		k->state = o->state;
	}
	k->uid = o->uid;
	k->mode = o->mode;
	k->size = o->size;
	if (o->path)
		sp_files_fail_once(c, path_keep(c, id, o), "keep a path");
	free(o->path);
	if (o->r < 0)
		unreadable(c, id, o->r);
	else
		identity_want(job);
}

void sp_files_look(struct sp_capture *c, uint32_t id, const struct sp_message_file *r)
{
	struct sp_open_request q = {.pid = (pid_t)r->tgid, .start = r->start, .end = r->end, .key = r->key};
	struct sp_file_job *job = look_new(c, id);
	int error;

	q.path = c->backend ? c->backend->path(c, id) : NULL;
	memcpy(q.name, r->name, sizeof(q.name));
	error = job ? sp_workers_open(c->workers, &q, opened, job) : -ENOMEM;

	if (error < 0) {
		if (job)
			look_end(job, error);
		open_failed(c, id, error);
	}
}
