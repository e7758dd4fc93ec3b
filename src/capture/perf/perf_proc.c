/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/text.h"
#include "capture/perf/perf.h"
#include "proc/cgroup.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "worker/worker.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_MAPS_BYTES = 32 << 20, MAX_STATUS_BYTES = 64 << 10, MAX_THREADS = 1 << 18 };

/* --- what is mapped --- */
static int parse_maps(struct sp_capture *c, struct sp_task_process *t, char *text)
{
	char *line, *rest = text;
	int r = 0;

	while (!r && (line = strsep(&rest, "\n")) != NULL) {
		struct sp_maps_line l;

		if (sp_maps_parse(line, &l))
			r = sp_perf_mapping_add(c, t,
						&(struct sp_perf_mmap){.addr = l.start,
								       .len = l.end - l.start,
								       .pgoff = l.offset,
								       .dev = l.dev,
								       .ino = l.ino,
								       .generation = SP_OPEN_ANY_GENERATION,
								       .is_exec = l.is_exec,
								       .path = l.path});
	}
	return r;
}

/* The program is the file that the process was started from; if that is not mapped, the first file that is. */
static void find_program(struct sp_capture *c, struct sp_task_process *t)
{
	char link[64], path[4097];
	ssize_t n;
	size_t i;

	(void)snprintf(link, sizeof(link), "/proc/%u/exe", t->pid);
	n = readlink(link, path, sizeof(path) - 1);
	for (i = 0; n > 0 && i < t->space->n; i++) {
		uint32_t object = t->space->objects[i];
		const char *seen = object ? c->perf->objects[object].path : NULL;

		path[n] = 0;
		if (seen && !strcmp(seen, path)) {
			t->exe_object = object;
			return;
		}
	}
}

int sp_perf_proc_maps(struct sp_capture *c, struct sp_task_process *t)
{
	SP_FREE char *text = NULL;
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%u/maps", t->pid);
	r = sp_text_read(path, MAX_MAPS_BYTES, &text, NULL);
	if (r < 0 || !*text) { /* it has gone, or we may not read it: what is known has to do */
		sp_error_clear();
		return r == -ENOMEM ? r : 0;
	}
	r = sp_space_clear(&t->space);
	if (!r)
		r = parse_maps(c, t, text);
	if (!r)
		find_program(c, t);
	return r;
}

/* --- who it is --- */
void sp_perf_proc_comm(uint32_t tid, char ret_comm[SP_COMM_LEN])
{
	SP_FREE char *text = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	if (sp_text_read(path, 64, &text, NULL) < 0) {
		sp_error_clear();
		return;
	}
	text[strcspn(text, "\n")] = 0;
	memset(ret_comm, 0, SP_COMM_LEN);
	memcpy(ret_comm, text, SP_MIN(strlen(text), SP_COMM_LEN - 1));
}

static uint32_t last_number(const char *text, const char *label)
{
	const char *line = strstr(text, label), *at;
	uint32_t number = 0;

	if (!line)
		return 0;
	for (at = line + strlen(label); *at && *at != '\n'; at++)
		if (at[-1] == '\t' && *at >= '0' && *at <= '9')
			number = (uint32_t)strtoul(at, NULL, 10);
	return number;
}

static uint32_t number_in_its_namespace(uint32_t pid)
{
	SP_FREE char *text = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (sp_text_read(path, MAX_STATUS_BYTES, &text, NULL) < 0) {
		sp_error_clear();
		return 0;
	}
	return last_number(text, "\nNSpid:\t");
}

static uint64_t cgroup_of(uint32_t pid)
{
	SP_FREE char *text = NULL;
	char path[64], *line;
	uint64_t id = 0;
	uint32_t level;

	(void)snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (sp_text_read(path, MAX_STATUS_BYTES, &text, NULL) == 0 && (line = strstr(text, "0::/")) != NULL) {
		line += 3;
		line[strcspn(line, "\n")] = 0;
		if (sp_cgroup_id(line, &id, &level) < 0)
			id = 0;
	}
	sp_error_clear();
	return id;
}

/*
 * A child has these from its parent, and they are not read again: that saves reading files for each of a thousand short
 * processes.
 */
void sp_perf_proc_describe(struct sp_task_process *t)
{
	struct stat st;
	char path[64];

	if (t->is_read)
		return;
	t->is_read = true;
	(void)snprintf(path, sizeof(path), "/proc/%u", t->pid);
	t->uid = stat(path, &st) ? getuid() : st.st_uid;
	t->ns_pid = number_in_its_namespace(t->pid) ?: t->pid;
	t->cgroup = cgroup_of(t->pid);
}

int sp_perf_proc_add(struct sp_capture *c, uint32_t pid, struct sp_task_process **ret_process)
{
	struct sp_task_thread *thread = sp_tasks_add(&c->perf->tasks, pid, pid, 0);
	struct sp_task_process *t;

	if (!thread)
		return sp_fail(-ENOMEM, "keep process %u", pid);
	t = thread->process;
	sp_perf_proc_comm(pid, t->comm);
	memcpy(thread->comm, t->comm, sizeof(thread->comm));
	t->start_ns = sp_process_start_ns(pid);
	t->n_losses = c->perf->n_losses;
	*ret_process = t;
	return sp_perf_proc_maps(c, t);
}

int sp_perf_proc_threads(uint32_t pid, uint32_t **ret_tids, size_t *ret_n)
{
	SP_FREE uint32_t *tids = NULL;
	size_t n = 0, capacity = 0;
	struct dirent *entry;
	char path[64];
	DIR *dir;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : sp_fail(-errno, "list the threads of process %u", pid);
	while (!r && (entry = readdir(dir)) != NULL) {
		uint64_t tid;

		if (sp_parse_number(entry->d_name, 1, INT32_MAX, &tid) < 0)
			continue;
		r = n < MAX_THREADS ? sp_grow(&tids, &capacity, n + 1, sizeof(*tids)) : -E2BIG;
		if (!r)
			tids[n++] = (uint32_t)tid;
	}
	closedir(dir);
	if (r < 0)
		return sp_fail(r, "list the threads of process %u", pid);
	*ret_tids = sp_take_ptr(tids);
	*ret_n = n;
	return 0;
}
