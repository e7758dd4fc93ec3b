/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_tasks.h: the processes and threads that are sampled, as the records of perf_event_open tell of them.
 *
 * A model, to which fork, exec, comm, mmap and exit records are applied in the order of their time. A process has its
 * mappings (perf_space.h), shared with its parent until one of the two changes them; a thread has its name. A process
 * ends with its last thread. A pid that is used again is another process. At most SP_TASKS_MAX threads; those beyond
 * are not followed, and counted. No I/O: what no record tells (what runs already, what was lost) the caller fills in.
 * Everything here belongs to struct sp_tasks; pointers are valid until the process ends. Errors: -ENOMEM. Not
 * thread-safe.
 */
#ifndef SP_CAPTURE_PERF_PERF_TASKS_H
#define SP_CAPTURE_PERF_PERF_TASKS_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_TASKS_MAX = 1 << 18, SP_TASKS_BUCKETS = 1 << 12 };

struct sp_space;

struct sp_task_process {
	struct sp_task_process *next;
	uint32_t pid, exec_id;
	uint64_t start_ns; /* by the records' clock; only to tell processes of one number apart */
	uint32_t n_threads;
	char comm[SP_COMM_LEN]; /* the leader's */
	struct sp_space *space;
	uint32_t exe_object; /* 0 = not known: the first file that a new program maps */
	/* Filled in by the caller: */
	uint32_t record;   /* id of its process record; 0 = not announced since its last exec */
	uint32_t n_losses; /* struct sp_perf's n_losses when the mappings were known to be right */
	bool is_read;      /* uid, ns_pid and cgroup are known */
	uint32_t uid, ns_pid;
	uint64_t cgroup;
};

struct sp_task_thread {
	struct sp_task_thread *next;
	uint32_t tid;
	struct sp_task_process *process;
	char comm[SP_COMM_LEN];
};

struct sp_tasks {
	struct sp_task_process *processes[SP_TASKS_BUCKETS];
	struct sp_task_thread *threads[SP_TASKS_BUCKETS];
	size_t n_threads;
	uint64_t n_refused; /* beyond SP_TASKS_MAX */
};

void sp_tasks_done(struct sp_tasks *t);
struct sp_task_process *sp_tasks_process(const struct sp_tasks *t, uint32_t pid); /* NULL = not known */
struct sp_task_thread *sp_tasks_thread(const struct sp_tasks *t, uint32_t tid);
/* Makes the thread, and its process if that is new. NULL: out of memory, or too many threads. */
struct sp_task_thread *sp_tasks_add(struct sp_tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* 0 or -ENOMEM; threads beyond the limit are only counted. */
int sp_tasks_fork(struct sp_tasks *t, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid, uint64_t time_ns);
int sp_tasks_comm(struct sp_tasks *t, uint32_t pid, uint32_t tid, const char *comm, bool is_exec, uint64_t time_ns);
void sp_tasks_exit(struct sp_tasks *t, uint32_t pid, uint32_t tid);

#endif
