/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf/perf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/backend.h"
#include "proc/process.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* A record gets its time before it is written. One that is older than this has been written, and can be read. */
enum { LATE_NS = 2000000 };

/* --- opening --- */
static int cpus_init(struct sp_capture *c)
{
	struct sp_perf *p = c->perf;
	size_t i;

	p->cpus = calloc(SP_MAX(c->o.n_cpus, 1), sizeof(*p->cpus));
	if (!p->cpus)
		return -ENOMEM;
	p->n_cpus = c->o.n_cpus;
	for (i = 0; i < p->n_cpus; i++) {
		p->cpus[i].cpu = c->o.cpus[i];
		p->cpus[i].fd = -1;
	}
	return 0;
}

static int perf_open(struct sp_capture *c)
{
	struct sp_perf *p = c->perf = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->clock_to_boot_ns = sp_time_ns(CLOCK_BOOTTIME) - sp_time_ns(CLOCK_MONOTONIC);
	c->shared.slicing = &p->slicing;
	c->shared.drain = &p->drain;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0)
		return sp_fail(-errno, "make an epoll");
	r = sp_numbers_init(&p->inodes);
	if (!r)
		r = cpus_init(c);
	if (!r)
		r = sp_perf_attr_make(c);
	return r ? r : sp_tables_new(NULL, -1, sp_capture_budget(c), &c->tables);
}

static void perf_done(struct sp_capture *c)
{
	struct sp_perf *p = c->perf;

	if (!p)
		return;
	if (p->cpus)
		sp_perf_events_done(p);
	if (p->epoll >= 0)
		close(p->epoll);
	sp_tasks_done(&p->tasks);
	sp_perf_files_done(p);
	free(p->cpus);
	free(p);
	c->perf = NULL;
}

/* --- targets --- */
/* Adds the command. Its events begin to count at its exec, from which records also tell what it maps. */
static int command_add(struct sp_capture *c, uint32_t pid)
{
	struct sp_task_thread *thread = sp_tasks_add(&c->perf->tasks, pid, pid, 0);

	if (!thread)
		return -ENOMEM;
	thread->process->start_ns = sp_time_ns(CLOCK_BOOTTIME);
	sp_perf_proc_describe(thread->process);
	return sp_perf_open_thread(c, pid);
}

static int thread_add(struct sp_capture *c, uint32_t pid, uint32_t tid)
{
	struct sp_task_thread *thread = sp_tasks_add(&c->perf->tasks, pid, tid, 0);

	if (!thread)
		return sp_fail(-ENOMEM, "keep thread %u", tid);
	sp_perf_proc_comm(tid, thread->comm);
	return 0;
}

static int threads_add(struct sp_capture *c, uint32_t pid)
{
	SP_FREE uint32_t *tids = NULL;
	size_t n = 0, i;
	int r = sp_perf_proc_threads(pid, &tids, &n);

	for (i = 0; r >= 0 && i < n; i++) {
		r = thread_add(c, pid, tids[i]);
		if (r >= 0)
			r = sp_perf_open_thread(c, tids[i]);
		if (r == -ESRCH)
			r = 0; /* a thread may end at any time */
	}
	return r;
}

static int target_begin(struct sp_capture *c, uint32_t number)
{
	uint32_t tgid = number;
	int r;

	if (c->o.filter == SP_TARGETS_TGID)
		r = threads_add(c, number);
	else {
		r = sp_process_tgid(number, &tgid);
		if (r >= 0)
			r = thread_add(c, tgid, number);
		if (r >= 0)
			r = sp_perf_open_thread(c, number);
	}
	return r == -ESRCH ? sp_fail_said(r, "process %u has ended", number) : r;
}

static int perf_target_add(struct sp_capture *c, uint32_t number, enum sp_target state)
{
	struct sp_task_process *t;
	uint32_t tgid = number;
	int r = 0;

	if (state == SP_TARGET_AFTER_EXEC)
		return command_add(c, number);
	if (c->o.filter == SP_TARGETS_TID)
		r = sp_process_tgid(number, &tgid);
	return r < 0 ? r : sp_perf_proc_add(c, tgid, &t);
}

/* Marks all mappings to be read again, now that every change of them is recorded: so none is missed. */
static int perf_attach(struct sp_capture *c)
{
	struct sp_task_process *t;
	size_t i;
	int r = c->o.filter == SP_TARGETS_ALL ? sp_perf_open_all(c) : 0;

	for (i = 0; r >= 0 && i < c->o.n_targets; i++)
		r = target_begin(c, c->o.targets[i]);
	if (r < 0)
		return r;
	if (!c->o.follow)
		sp_perf_switch(c, true);
	for (i = 0; i < SP_TASKS_BUCKETS; i++)
		for (t = c->perf->tasks.processes[i]; t && !c->o.follow; t = t->next)
			t->n_losses = c->perf->n_losses - 1;
	return 0;
}

static void perf_detach(struct sp_capture *c)
{
	sp_perf_switch(c, false);
	c->perf->is_ending = true;
}

static int perf_seek(struct sp_capture *c)
{
	struct sp_task_process *t;
	size_t i;
	int r = 0;

	for (i = 0; i < SP_TASKS_BUCKETS; i++)
		for (t = c->perf->tasks.processes[i]; t && r >= 0; t = t->next)
			r = sp_perf_announce_files(c, t);
	return SP_MIN(r, 0);
}

/* --- reading --- */
static bool is_machine(const struct sp_capture *c)
{
	return c->o.filter == SP_TARGETS_ALL;
}

/* Marks a process whose mappings are not known: the first record of it is no exec, and no fork of a known process. */
static void stranger_mark(struct sp_capture *c, const struct sp_perf_record *r, bool was_known)
{
	struct sp_task_process *t = sp_tasks_process(&c->perf->tasks, r->pid);

	if (t && !was_known && is_machine(c))
		t->n_losses = c->perf->n_losses - 1;
}

static int take_map(struct sp_capture *c, const struct sp_perf_record *r)
{
	struct sp_task_process *t = sp_tasks_process(&c->perf->tasks, r->pid);
	bool was_known = t != NULL;

	if (!r->map.is_exec)
		return 0;
	if (!t && sp_tasks_add(&c->perf->tasks, r->pid, r->tid, r->time_ns + c->perf->clock_to_boot_ns))
		t = sp_tasks_process(&c->perf->tasks, r->pid);
	if (!t)
		return 0; /* beyond the limits, and counted */
	stranger_mark(c, r, was_known);
	return sp_perf_mapping_add(c, t, &r->map);
}

static int take_comm(struct sp_capture *c, const struct sp_perf_record *r)
{
	bool is_exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
	bool was_known = sp_tasks_process(&c->perf->tasks, r->pid) != NULL;
	int error =
	    sp_tasks_comm(&c->perf->tasks, r->pid, r->tid, r->comm, is_exec, r->time_ns + c->perf->clock_to_boot_ns);
	struct sp_task_process *t = sp_tasks_process(&c->perf->tasks, r->pid);

	if (is_exec && t)
		t->n_losses = c->perf->n_losses;
	else
		stranger_mark(c, r, was_known);
	return error;
}

static int take_fork(struct sp_capture *c, const struct sp_perf_record *r)
{
	bool is_process = r->pid != r->task.ppid;
	bool was_known = sp_tasks_process(&c->perf->tasks, is_process ? r->task.ppid : r->pid) != NULL;
	int error;

	if (is_process && !c->o.follow && !is_machine(c))
		return 0; /* it is not sampled, and no record would tell of its end */
	error = sp_tasks_fork(&c->perf->tasks, r->pid, r->tid, r->task.ppid, r->task.ptid,
			      r->time_ns + c->perf->clock_to_boot_ns);
	stranger_mark(c, r, was_known);
	return error;
}

static int take_lost(struct sp_capture *c, const struct sp_perf_record *r)
{
	c->stats.n_lost_ring += r->n_lost;
	c->perf->n_losses++;
	return 0;
}

static int take_sample(struct sp_capture *c, struct sp_perf_cpu *cpu, struct sp_perf_record *r)
{
	if (++cpu->n_samples < c->perf->thin)
		return 0;
	cpu->n_samples = 0;
	r->sample.period *= c->perf->thin;
	if (!r->tid && !c->o.idle) {
		c->stats.counter[SP_N_IDLE]++;
		return 0;
	}
	return sp_perf_sample(c, r);
}

static int take(struct sp_capture *c, struct sp_perf_cpu *cpu)
{
	struct sp_perf_record *r = &cpu->record;

	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(c, cpu, r);
	case PERF_RECORD_MMAP2:
		return take_map(c, r);
	case PERF_RECORD_COMM:
		return take_comm(c, r);
	case PERF_RECORD_FORK:
		return take_fork(c, r);
	case PERF_RECORD_EXIT:
		sp_tasks_exit(&c->perf->tasks, r->pid, r->tid);
		return 0;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return take_lost(c, r);
	case PERF_RECORD_THROTTLE:
		c->stats.n_throttled++;
		return 0;
	default:
		return 0;
	}
}

/* Whether the CPU's ring has a record; it is parsed if so. */
static bool has_next(struct sp_capture *c, struct sp_perf_cpu *cpu)
{
	const void *bytes;
	size_t size;

	while (!cpu->record_bytes) {
		bytes = sp_perf_ring_next(&cpu->ring, &size);
		if (!bytes)
			return false;
		if (!sp_perf_record_parse(bytes, size, &c->perf->format, &cpu->record)) {
			cpu->record_bytes = size;
			return true;
		}
		c->stats.n_odd++;
		sp_perf_ring_skip(&cpu->ring, size);
	}
	return true;
}

static struct sp_perf_cpu *oldest(struct sp_capture *c)
{
	struct sp_perf_cpu *first = NULL;
	size_t i;

	for (i = 0; i < c->perf->n_cpus; i++) {
		struct sp_perf_cpu *cpu = &c->perf->cpus[i];

		if (has_next(c, cpu) && (!first || cpu->record.time_ns < first->record.time_ns))
			first = cpu;
	}
	return first;
}

/* Asks for the events that woke us: until then they stay readable. */
static void wake_ups_take(struct sp_perf *p)
{
	struct epoll_event events[16];

	while (epoll_wait(p->epoll, events, SP_COUNT(events), 0) == (int)SP_COUNT(events))
		;
}

/*
 * Takes records in the order of time over all rings, because a thread that moves to another CPU continues in that one's
 * ring. A record waits for the next call while another ring may still get an older one.
 */
static int perf_read(struct sp_capture *c)
{
	uint64_t until = c->perf->is_ending ? UINT64_MAX : sp_time_ns(CLOCK_MONOTONIC) - LATE_NS;
	struct sp_perf_cpu *cpu;
	size_t i;
	int r = 0;

	wake_ups_take(c->perf);
	for (i = 0; i < c->perf->n_cpus; i++)
		sp_perf_ring_look(&c->perf->cpus[i].ring);
	while (r >= 0 && (cpu = oldest(c)) != NULL && cpu->record.time_ns <= until) {
		r = take(c, cpu);
		sp_perf_ring_skip(&cpu->ring, cpu->record_bytes);
		cpu->record_bytes = 0;
	}
	return r < 0 ? sp_fail(r, "take in a sample") : 0;
}

static int perf_swap_counts(struct sp_capture *c, unsigned odd)
{
	(void)c;
	(void)odd; /* counts go into the profile at once */
	return 0;
}

static int perf_poll_fd(const struct sp_capture *c, unsigned i)
{
	return i ? -1 : c->perf->epoll;
}

static void perf_stats(struct sp_capture *c, bool with_memory)
{
	size_t i;

	(void)with_memory;
	c->stats.n_odd += c->perf->tasks.n_refused;
	for (i = 0; i < c->perf->n_cpus; i++)
		c->stats.n_odd += c->perf->cpus[i].ring.n_bad;
}

const struct sp_backend sp_backend_perf = {
    .open = perf_open,
    .target_add = perf_target_add,
    .attach = perf_attach,
    .detach = perf_detach,
    .seek = perf_seek,
    .read = perf_read,
    .swap_counts = perf_swap_counts,
    .poll_fd = perf_poll_fd,
    .forget = sp_perf_forget,
    .path = sp_perf_path,
    .stats = perf_stats,
    .done = perf_done,
};
