/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.c: the steps of a file: announced -> looked at (look.c) -> table from the cache, or built -> loaded.
 *
 * Each step is a request to the workers, and the next one begins in its callback.
 */
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/backend.h"
#include "capture/files/file_job.h"
#include "capture/priv.h"
#include "elf/elf.h"
#include "profile/profile.h"
#include "unwind/build.h"
#include "unwind/cache.h"
#include "worker/worker.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct sp_file_job *sp_file_job_new(struct sp_capture *c, uint32_t id)
{
	struct sp_file_job *job = calloc(1, sizeof(*job));

	if (job)
		*job = (struct sp_file_job){
		    .c = c, .id = id, .user = sp_known_of(c, id)->user, .birth = c->seen[id].birth};
	return job;
}

/* Whether the answer is of no use any more: the profile is the caller's again, or the file was forgotten. */
bool sp_file_job_is_late(const struct sp_file_job *job)
{
	return job->c->is_over || job->c->seen[job->id].birth != job->birth;
}

void sp_files_fail_once(struct sp_capture *c, int r, const char *what)
{
	if (r < 0 && !c->failure)
		c->failure = sp_fail(r, "%s", what);
}

uint32_t sp_files_number(const struct sp_capture *c, uint32_t id)
{
	return id < c->n_seen ? c->seen[id].number : 0;
}

/* --- the last step: a table, or the reason why there is none --- */
void sp_files_note(struct sp_capture *c, uint32_t id, const char *note)
{
	int64_t string = sp_profile_add_string(c->profile, note);

	sp_files_fail_once(c, string < 0 ? (int)string : 0, "note why a file has no names");
	if (string > 0)
		sp_profile_file(c->profile, c->seen[id].number)->note = (uint32_t)string;
}

/* All is known of the file that needs its bytes, but for names. */
static void table_settle(struct sp_capture *c, uint32_t id)
{
	struct sp_known_file *k = sp_known_of(c, id);

	c->seen[id].state = SP_SEEN_DONE;
	k->is_identified = true;
	if (!k->is_passing || k->fd < 0)
		return;
	close(sp_take_fd(&k->fd));
	sp_files_note(c, id, "deleted, and too large to be kept for its names");
}

void sp_files_refuse_table(struct sp_capture *c, uint32_t id)
{
	c->n_table_changes++;
	table_settle(c, id);
	sp_tables_set_code(c->tables, id, SP_TABLE_FP);
}

static void table_load(struct sp_capture *c, uint32_t id, const struct sp_blob *blob)
{
	int r;

	table_settle(c, id);
	if (!blob->n_groups) {
		sp_files_refuse_table(c, id);
		return;
	}
	r = sp_tables_load(c->tables, id, blob);
	if (r < 0) {
		sp_files_note(c, id, sp_error_text(r));
		sp_error_clear();
		sp_files_refuse_table(c, id);
		return;
	}
	c->n_table_changes++;
	c->stats.n_tables++;
	sp_regions_note(c, id, blob);
	c->seen[id].loaded = *c->shared.drain;
	sp_known_of(c, id)->n_bad_rows = blob->n_bad_rows;
	sp_known_of(c, id)->table_bytes = blob->bytes;
}

static struct sp_cache_key cache_key(const struct sp_known_file *k)
{
	return (struct sp_cache_key){.build_id = k->build_id,
				     .build_id_len = k->build_id_len,
				     .state = k->state,
				     .file_size = k->size,
				     .uid = k->uid,
				     .mode = k->mode};
}

static void blob_take(struct sp_capture *c, uint32_t id, int r, struct sp_blob *blob)
{
	const struct sp_known_file *k = sp_known_of(c, id);
	struct sp_cache_key key = cache_key(k);

	if (r < 0) {
		sp_files_note(c, id, sp_error_text(r));
		sp_error_clear();
		sp_files_refuse_table(c, id);
		return;
	}
	if (c->cache && sp_entries_changed_ns(k->fd) == k->state.ctime_ns)
		sp_cache_put(c->cache, &key, blob);
	table_load(c, id, blob);
	free(blob);
}

/* Builds first what many samples wait for and what is small, which keeps the waiting time short on the whole. */
static void build_hurry(struct sp_capture *c, uint32_t id)
{
	uint32_t n = c->seen[id].n_wanted;
	uint64_t urgency = n ? 2 + ((uint64_t)n << 16) / ((sp_known_of(c, id)->size >> 16) + 1) : 0;
	struct sp_file_job *job, *copy;

	for (job = c->building; job; job = job->next) {
		for (copy = job->waiting; copy && copy->id != id; copy = copy->next)
			;
		if (job->id == id || copy)
			sp_workers_hurry(c->workers, job, (uint32_t)SP_MIN(urgency, UINT32_MAX / 2));
	}
}

static void built(void *arg, int r, struct sp_blob *blob)
{
	struct sp_file_job *job = arg, *copy = job->waiting, **at = &job->c->building;

	while (*at && *at != job)
		at = &(*at)->next;
	if (*at)
		*at = job->next;
	if (r != -ECANCELED)
		sp_users_parsed(job->c, job->user, sp_workers_called_ns(job->c->workers));
	if (sp_file_job_is_late(job))
		free(blob);
	else
		blob_take(job->c, job->id, r, blob);
	while (copy) {
		struct sp_file_job *next = copy->next;

		if (!sp_file_job_is_late(copy))
			sp_files_table(copy->c, copy->id);
		free(copy);
		copy = next;
	}
	free(job);
}

static bool cache_load(struct sp_capture *c, uint32_t id)
{
	struct sp_cache_key key = cache_key(sp_known_of(c, id));
	SP_FREE struct sp_blob *blob = NULL;

	if (!c->cache || sp_cache_get(c->cache, &key, &blob) < 0) {
		sp_error_clear();
		return false;
	}
	table_load(c, id, blob);
	return true;
}

/* A table being built from the same file, which another announcement named (that of another container). */
static struct sp_file_job *building_of(const struct sp_capture *c, uint32_t id)
{
	struct sp_cache_key key = cache_key(sp_known_of(c, id));
	struct sp_file_job *job;

	for (job = c->cache ? c->building : NULL; job; job = job->next) {
		struct sp_cache_key other = cache_key(sp_known_of(c, job->id));

		if (sp_entries_is_same(&other, &key))
			break;
	}
	return job;
}

static int build_want(struct sp_capture *c, uint32_t id)
{
	struct sp_file_job *job = sp_file_job_new(c, id), *other = building_of(c, id), **list;
	int r = 0;

	if (!job)
		return -ENOMEM;
	if (!other)
		r = sp_workers_build(c->workers, sp_known_of(c, id)->fd, built, job);
	if (r < 0) {
		free(job);
		return r;
	}
	list = other ? &other->waiting : &c->building;
	job->next = *list;
	*list = job;
	build_hurry(c, id);
	return 0;
}

static bool needs_build(struct sp_capture *c, uint32_t id)
{
	bool is_cached = cache_load(c, id);

	if (!is_cached && sp_known_of(c, id)->fd < 0) { /* it has had a table, and was closed since */
		sp_files_refuse_table(c, id);
		return false;
	}
	return !is_cached;
}

static void build_allowed(struct sp_capture *c, uint32_t id)
{
	int r = build_want(c, id);

	if (r < 0) {
		sp_files_fail_once(c, r, "ask for an unwind table");
		sp_files_refuse_table(c, id);
	}
}

void sp_files_allowed(struct sp_capture *c, uint32_t id)
{
	if (needs_build(c, id))
		build_allowed(c, id);
}

void sp_files_table(struct sp_capture *c, uint32_t id)
{
	if (!needs_build(c, id))
		return;
	if (building_of(c, id) || sp_files_may_build(c, id)) {
		build_allowed(c, id);
	} else {
		sp_files_refuse_table(c, id);
		sp_files_put_off(c, id);
	}
}

/* --- the vDSO: our own image is that of all processes --- */
const void *sp_capture_vdso(size_t *ret_size)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	if (!eh)
		return NULL;
	/* Its section headers stand at the end of the image. */
	*ret_size = eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
	return eh;
}

static void vdso_load(struct sp_capture *c, uint32_t id)
{
	SP_FREE struct sp_blob *blob = NULL;
	struct sp_elf *e = NULL;
	size_t size = 0;
	const void *image = sp_capture_vdso(&size);
	int r = image ? sp_elf_open_bytes(image, size, &e) : -ENOENT;

	if (!r) {
		struct sp_file *file = sp_profile_file(c->profile, c->seen[id].number);
		int len = sp_elf_build_id(e, file->build_id, sizeof(file->build_id));

		file->build_id_len = (uint8_t)SP_MAX(len, 0);
		r = sp_blob_build(e, &blob);
		sp_elf_close(e);
	}
	if (r < 0) {
		sp_files_note(c, id, sp_error_text(r));
		sp_error_clear();
		sp_files_refuse_table(c, id);
		return;
	}
	table_load(c, id, blob);
}

/* --- first sight --- */
static int file_describe(struct sp_capture *c, const struct sp_message_file *r, struct sp_file *file)
{
	const char *name = r->key.dev == SP_DEV_ANON ? "[anon]" : r->key.dev == SP_DEV_VDSO ? "[vdso]" : NULL;
	int64_t string = name ? sp_profile_add_string(c->profile, name)
			      : sp_profile_add_bytes(c->profile, r->name, strnlen(r->name, sizeof(r->name)));

	if (string < 0)
		return (int)string;
	file->kind = name ? (r->key.dev == SP_DEV_ANON ? SP_FILE_ANON : SP_FILE_VDSO) : SP_FILE_ELF;
	file->name = (uint32_t)string;
	if (file->kind == SP_FILE_ANON) {
		file->process = r->key.ino < c->n_process ? c->process[r->key.ino] : 0;
		file->bias = r->key.size << SP_FRAME_ID_SHIFT;
	}
	return 0;
}

/*
 * The file's number in the profile: that of an earlier announcement of the same file under another id, if there was
 * one.
 */
static int64_t number_of(struct sp_capture *c, const struct sp_message_file *r)
{
	struct sp_file file = {.tag = c->stats.n_files + 1};
	int64_t number = sp_numbers_find(&c->file_keys, &r->key, sizeof(r->key));
	int error;

	if (number)
		return number;
	error = file_describe(c, r, &file);
	number = error < 0 ? error : sp_profile_add_file(c->profile, &file);
	if (number < 0)
		return number;
	error = sp_grow(&c->known, &c->n_known, (size_t)number + 1, sizeof(*c->known));
	if (error < 0)
		return error;
	c->known[number].fd = -1;
	c->stats.n_files++;
	error = sp_numbers_set(&c->file_keys, &r->key, sizeof(r->key), (uint32_t)number);
	return error < 0 ? error : number;
}

/* Whether all is known of it that a look would tell: it was announced again for its table. */
static bool is_known(const struct sp_capture *c, const struct sp_message_file *r)
{
	uint32_t number = sp_numbers_find(&c->file_keys, &r->key, sizeof(r->key));

	return c->o.users && number && c->known[number].fd >= 0 && c->known[number].is_identified;
}

static bool has_look(const struct sp_message_file *r)
{
	return r->key.dev < SP_DEV_OVER;
}

static void record_begin(struct sp_capture *c, const struct sp_message_file *r, bool known)
{
	if (r->key.dev == SP_DEV_ANON) {
		c->seen[r->id].state = SP_SEEN_DONE;
		sp_known_of(c, r->id)->is_identified = true;
		sp_jit_want(c, r->id, r);
	} else if (r->key.dev == SP_DEV_VDSO) {
		vdso_load(c, r->id);
	} else if (known) {
		c->seen[r->id].n_met = sp_known_of(c, r->id)->n_met;
		sp_files_table(c, r->id);
	} else {
		sp_files_look(c, r->id, r);
	}
}

int sp_files_record(struct sp_capture *c, const struct sp_message_file *r)
{
	bool known = has_look(r) && is_known(c, r), is_over;
	int64_t number;
	int error;

	if (!r->id || r->id >= SP_MAX_FILES)
		return sp_fail_said(-EBADMSG, "file number %u out of range", r->id);
	error = sp_grow(&c->seen, &c->n_seen, (size_t)r->id + 1, sizeof(*c->seen));
	if (error < 0)
		return error;
	is_over = r->key.dev == SP_DEV_OVER || (has_look(r) && !known && !sp_users_may_look(c, r->uid));
	number = is_over ? sp_users_file(c, r->uid) : number_of(c, r);
	if (number < 0)
		return (int)number;
	c->seen[r->id] = (struct sp_seen_file){
	    .key = r->key, .number = (uint32_t)number, .state = SP_SEEN_LOADING, .birth = ++c->n_births};
	c->known[number].user = r->uid;
	if (!is_over)
		record_begin(c, r, known);
	else
		sp_files_refuse_table(c, r->id);
	if (is_over && has_look(r)) /* what comes after it is to be announced again, or as the user's */
		c->backend->forget(c, r->id);
	return 0;
}

void sp_files_want(struct sp_capture *c, uint32_t id)
{
	if (id >= c->n_seen || sp_tables_state(c->tables, id) != SP_TABLE_ABSENT)
		return;
	if (c->seen[id].state != SP_SEEN_DONE) {
		uint32_t n = ++c->seen[id].n_wanted;

		if (!(n & (n - 1))) /* at powers of two, which is often enough */
			build_hurry(c, id);
		return;
	}
	/*
	 * The table was evicted. It is loaded at most once between two drains: where the tables in use do not fit in
	 * the memory allowed, they would evict one another for ever and leave no time for anything else.
	 */
	if (c->seen[id].loaded == *c->shared.drain)
		return;
	if (sp_files_is_crowded(c, id)) {
		sp_files_refuse_table(c, id);
		sp_files_crowd_out(c, id);
		return;
	}
	c->seen[id].state = SP_SEEN_LOADING;
	if (c->seen[id].key.dev == SP_DEV_VDSO)
		vdso_load(c, id);
	else
		sp_files_table(c, id);
}

int sp_capture_file_fd(const struct sp_capture *c, uint32_t profile_file)
{
	return profile_file < c->n_known && profile_file && c->known[profile_file].fd > 0 ? c->known[profile_file].fd
											  : -1;
}

int sp_capture_jit_dump_fd(const struct sp_capture *c, uint32_t profile_file)
{
	return profile_file < c->n_known && c->known[profile_file].jit_dump_fd > 0 ? c->known[profile_file].jit_dump_fd
										   : -1;
}

uint32_t sp_capture_file_user(const struct sp_capture *c, uint32_t profile_file)
{
	return profile_file < c->n_known ? c->known[profile_file].user : 0;
}

bool sp_capture_file_key(const struct sp_capture *c, uint32_t profile_file, struct sp_cache_key *ret_key)
{
	if (sp_capture_file_fd(c, profile_file) < 0)
		return false;
	*ret_key = cache_key(&c->known[profile_file]);
	return true;
}

uint64_t sp_capture_file_bad_rows(const struct sp_capture *c, uint32_t profile_file)
{
	return profile_file < c->n_known ? c->known[profile_file].n_bad_rows : 0;
}

void sp_known_file_done(struct sp_known_file *k)
{
	if (k->fd > 0)
		close(k->fd);
	if (k->jit_dump_fd > 0)
		close(k->jit_dump_fd);
	if (k->memory_fd > 0)
		close(k->memory_fd);
}

void sp_files_done(struct sp_capture *c)
{
	size_t i;

	for (i = 1; i < c->n_known; i++)
		sp_known_file_done(&c->known[i]);
	free(c->known);
	free(c->seen);
	sp_numbers_done(&c->file_keys);
}
