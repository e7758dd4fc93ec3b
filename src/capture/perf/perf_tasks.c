/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf/perf_tasks.h"
#include "capture/perf/perf_space.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bucket_of(uint32_t number)
{
	return number & (SP_TASKS_BUCKETS - 1);
}

struct sp_task_process *sp_tasks_process(const struct sp_tasks *t, uint32_t pid)
{
	struct sp_task_process *p = t->processes[bucket_of(pid)];

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

struct sp_task_thread *sp_tasks_thread(const struct sp_tasks *t, uint32_t tid)
{
	struct sp_task_thread *thread = t->threads[bucket_of(tid)];

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

static struct sp_task_process *process_new(struct sp_tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct sp_task_process *p = calloc(1, sizeof(*p)), **bucket = &t->processes[bucket_of(pid)];

	if (!p)
		return NULL;
	p->space = sp_space_new();
	if (!p->space) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->start_ns = time_ns;
	p->next = *bucket;
	*bucket = p;
	return p;
}

static void process_free(struct sp_tasks *t, struct sp_task_process *p)
{
	struct sp_task_process **at = &t->processes[bucket_of(p->pid)];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	sp_space_put(p->space);
	free(p);
}

static void thread_free(struct sp_tasks *t, struct sp_task_thread *thread)
{
	struct sp_task_thread **at = &t->threads[bucket_of(thread->tid)];

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	t->n_threads--;
	if (!--thread->process->n_threads)
		process_free(t, thread->process);
	free(thread);
}

/* Removes all threads of a process whose number is used again: no record told of their end. */
static void process_forget(struct sp_tasks *t, uint32_t pid)
{
	size_t i;

	for (i = 0; i < SP_TASKS_BUCKETS; i++) {
		struct sp_task_thread *thread = t->threads[i], *next;

		for (; thread; thread = next) {
			next = thread->next;
			if (thread->process->pid == pid)
				thread_free(t, thread);
		}
	}
}

void sp_tasks_done(struct sp_tasks *t)
{
	size_t i;

	for (i = 0; i < SP_TASKS_BUCKETS; i++)
		while (t->threads[i])
			thread_free(t, t->threads[i]);
}

struct sp_task_thread *sp_tasks_add(struct sp_tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct sp_task_thread *thread = sp_tasks_thread(t, tid);
	struct sp_task_process *p;

	if (thread && thread->process->pid == pid)
		return thread;
	if (thread)
		thread_free(t, thread);
	if (t->n_threads >= SP_TASKS_MAX) {
		t->n_refused++;
		return NULL;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	p = sp_tasks_process(t, pid);
	if (!p)
		p = process_new(t, pid, time_ns);
	if (!p) {
		free(thread);
		return NULL;
	}
	*thread = (struct sp_task_thread){.tid = tid, .process = p, .next = t->threads[bucket_of(tid)]};
	memcpy(thread->comm, p->comm, sizeof(thread->comm));
	t->threads[bucket_of(tid)] = thread;
	t->n_threads++;
	p->n_threads++;
	return thread;
}

/* Gives a child what it has in common with its parent. The mappings are shared until one of the two changes them. */
static void inherit(struct sp_task_process *child, const struct sp_task_process *parent)
{
	sp_space_put(child->space);
	child->space = sp_space_get(parent->space);
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	child->exe_object = parent->exe_object;
	child->n_losses = parent->n_losses;
	child->uid = parent->uid;
	child->cgroup = parent->cgroup;
	/* in a pid namespace of its own the child's number differs, and has to be looked up */
	child->is_read = parent->is_read && parent->ns_pid == parent->pid;
	child->ns_pid = child->pid;
}

int sp_tasks_fork(struct sp_tasks *t, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid, uint64_t time_ns)
{
	const struct sp_task_thread *by;
	struct sp_task_thread *thread;
	uint64_t n_refused = t->n_refused;

	if (pid != ppid && sp_tasks_process(t, pid))
		process_forget(t, pid);
	thread = sp_tasks_add(t, pid, tid, time_ns);
	if (!thread)
		return t->n_refused != n_refused ? 0 : -ENOMEM;
	by = sp_tasks_thread(t, ptid);
	if (!by)
		return 0;
	memcpy(thread->comm, by->comm, sizeof(thread->comm));
	if (pid != ppid && by->process->pid == ppid) {
		inherit(thread->process, by->process);
		memcpy(thread->process->comm, by->comm, sizeof(by->comm));
	}
	return 0;
}

static int program_begin(struct sp_task_process *p)
{
	p->exec_id++;
	p->record = 0;
	p->exe_object = 0;
	return sp_space_clear(&p->space);
}

int sp_tasks_comm(struct sp_tasks *t, uint32_t pid, uint32_t tid, const char *comm, bool is_exec, uint64_t time_ns)
{
	uint64_t n_refused = t->n_refused;
	struct sp_task_thread *thread = sp_tasks_add(t, pid, tid, time_ns);
	struct sp_task_process *p;

	if (!thread)
		return t->n_refused != n_refused ? 0 : -ENOMEM;
	p = thread->process;
	snprintf(thread->comm, sizeof(thread->comm), "%s", comm);
	if (pid == tid)
		snprintf(p->comm, sizeof(p->comm), "%s", comm);
	return is_exec ? program_begin(p) : 0;
}

void sp_tasks_exit(struct sp_tasks *t, uint32_t pid, uint32_t tid)
{
	struct sp_task_thread *thread = sp_tasks_thread(t, tid);

	if (thread && thread->process->pid == pid)
		thread_free(t, thread);
}
