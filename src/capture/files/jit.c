/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.c: what a process tells of its JIT code (a perf map, a jit dump). It is opened when the code is first seen, and
 * kept open, since the process may go. What does not exist yet may exist when names are asked for. Also the process's
 * memory (/proc/PID/mem), opened when it is to be read.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>

struct made_job {
	struct sp_capture *c;
	uint32_t id;
	uint64_t birth;
	uint32_t user;
	bool is_dump;
};

static const struct sp_process *process_of(const struct made_job *job)
{
	const struct sp_file *file = sp_profile_file(job->c->profile, job->c->seen[job->id].number);

	return file->process ? sp_profile_process(job->c->profile, file->process) : NULL;
}

/*
 * Not if it is open already, or if nothing waits for it: the profile is the caller's again, or the memory was
 * forgotten.
 */
static bool is_wanted(const struct made_job *job)
{
	if (job->c->is_over || job->c->seen[job->id].birth != job->birth)
		return false;
	return job->is_dump ? !sp_known_of(job->c, job->id)->jit_dump_fd : sp_known_of(job->c, job->id)->fd < 0;
}

static void opened(void *arg, struct sp_open_result *o)
{
	struct made_job *job = arg;

	sp_users_looked(job->c, job->user, o->r, sp_workers_called_ns(job->c->workers));
	if (o->r >= 0 && is_wanted(job) && (!o->uid || o->uid == process_of(job)->uid))
		*(job->is_dump ? &sp_known_of(job->c, job->id)->jit_dump_fd : &sp_known_of(job->c, job->id)->fd) =
		    sp_take_fd(&o->fd);
	sp_cleanup_close(&o->fd);
	free(o->path);
	free(job);
	sp_error_clear();
}

static int map_open(struct made_job *job, pid_t pid)
{
	char path[64];
	struct sp_open_path q = {.path = path, .pid = pid, .in_root = 1};

	snprintf(path, sizeof(path), SP_PERF_MAP_PATH, process_of(job)->ns_pid);
	return sp_workers_open_path(job->c->workers, &q, opened, job);
}

static int dump_open(struct made_job *job, pid_t pid)
{
	struct sp_open_request q = {.pid = pid};

	snprintf(q.name, sizeof(q.name), SP_JIT_DUMP_NAME, process_of(job)->ns_pid);
	return sp_workers_open(job->c->workers, &q, opened, job);
}

static void want(struct sp_capture *c, uint32_t id, pid_t pid, uint32_t user, bool is_dump)
{
	struct made_job *job = malloc(sizeof(*job));
	int r = -ENOENT;

	if (job) {
		*job =
		    (struct made_job){.c = c, .id = id, .birth = c->seen[id].birth, .user = user, .is_dump = is_dump};
		if (process_of(job) && is_wanted(job) && sp_users_may_look(c, user)) {
			r = is_dump ? dump_open(job, pid) : map_open(job, pid);
			if (r < 0)
				sp_users_looked(c, user, r, 0);
		}
	}
	if (r < 0)
		free(job);
	sp_error_clear();
}

void sp_jit_want(struct sp_capture *c, uint32_t id, const struct sp_message_file *r)
{
	want(c, id, (pid_t)r->tgid, r->uid, false);
	want(c, id, (pid_t)r->tgid, r->uid, true);
}

static void memory_opened(void *arg, struct sp_open_result *o)
{
	struct made_job *job = arg;

	if (!job->c->is_over && job->c->seen[job->id].birth == job->birth) {
		struct sp_known_file *k = sp_known_of(job->c, job->id);

		k->is_memory_asked = false;
		k->is_memory_refused = o->r < 0;
		if (o->r >= 0 && k->memory_fd <= 0)
			k->memory_fd = sp_take_fd(&o->fd);
		job->c->n_table_changes++;
	}
	sp_cleanup_close(&o->fd);
	free(o->path);
	free(job);
	sp_error_clear();
}

static int memory_open(struct sp_capture *c, uint32_t id)
{
	struct made_job *job = malloc(sizeof(*job));
	char path[64];
	struct sp_open_path q = {.path = path};
	int r = -ENOENT;

	if (job) {
		*job = (struct made_job){.c = c, .id = id, .birth = c->seen[id].birth};
		if (process_of(job) && process_of(job)->pid) {
			snprintf(path, sizeof(path), "/proc/%u/mem", process_of(job)->pid);
			r = sp_workers_open_path(c->workers, &q, memory_opened, job);
		}
	}
	if (r < 0)
		free(job);
	sp_error_clear();
	return r;
}

int sp_memory_want(struct sp_capture *c, uint32_t id)
{
	struct sp_known_file *k = sp_known_of(c, id);

	if (k->memory_fd > 0)
		return k->memory_fd;
	if (k->is_memory_refused)
		return -ENOENT;
	if (!k->is_memory_asked) {
		k->is_memory_asked = memory_open(c, id) >= 0;
		k->is_memory_refused = !k->is_memory_asked;
	}
	return k->is_memory_asked ? -EAGAIN : -ENOENT;
}
