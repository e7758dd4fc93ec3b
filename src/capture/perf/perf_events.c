/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_events.c: opens an event for each thread and CPU, because only such events can both be inherited by what the
 * thread starts and have a ring buffer. All events of a CPU write into one ring. That ring belongs to an event which
 * never counts and is opened first, so that the size of a stack's copy can be chosen by the memory that this user may
 * lock.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/perf/perf.h"
#include "proc/process.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_RING_BYTES = 4 << 20,
	MAX_ALL_BYTES = 64 << 20, /* of all rings together */
	MIN_RING_BYTES = 1 << 16,
	MAX_STACK_BYTES = 60 << 10, /* a record has less than 64 KiB */
	MIN_STACK_BYTES = 8 << 10,
	ROOM_MS = 125, /* a ring has room for the samples of so much time */
	FOLLOW_HZ = 400,
	MAX_THIN = 8,
	UNKNOWN_HZ = 997,
};

static int event_open(const struct perf_event_attr *attr, pid_t pid, unsigned cpu)
{
	struct perf_event_attr a = *attr;
	int fd = (int)syscall(SYS_perf_event_open, &a, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* --- rings --- */
static int holder_open(const struct sp_perf_cpu *cpu, size_t bytes)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1,
				       .disabled = 1,
				       .watermark = 1,
				       .wakeup_watermark = (uint32_t)(bytes / 4),
				       .use_clockid = 1,
				       .clockid = CLOCK_MONOTONIC};
	int fd = event_open(&attr, 0, cpu->cpu);

	return fd < 0 ? sp_fail(fd, "open an event on CPU %u", cpu->cpu) : fd;
}

static void rings_unmap(struct sp_perf *p)
{
	size_t i;

	for (i = 0; i < p->n_cpus; i++) {
		sp_perf_ring_done(&p->cpus[i].ring);
		sp_cleanup_close(&p->cpus[i].fd);
		p->cpus[i].fd = -1;
	}
}

static int ring_make(struct sp_perf *p, struct sp_perf_cpu *cpu, size_t bytes)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	int r;

	cpu->fd = holder_open(cpu, bytes);
	if (cpu->fd < 0)
		return cpu->fd;
	r = sp_perf_ring_map(&cpu->ring, cpu->fd, bytes);
	if (r < 0)
		return r;
	return epoll_ctl(p->epoll, EPOLL_CTL_ADD, cpu->fd, &e) ? sp_fail(-errno, "watch an event") : 0;
}

static int rings_try(struct sp_perf *p, size_t bytes)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < p->n_cpus; i++)
		r = ring_make(p, &p->cpus[i], bytes);
	if (r < 0)
		rings_unmap(p);
	return r;
}

/*
 * Makes rings as large as this user's locked memory allows (perf_event_mlock_kb, RLIMIT_MEMLOCK), of one size for all
 * CPUs.
 */
static int rings_make(struct sp_perf *p, size_t *ret_bytes)
{
	size_t bytes = MAX_RING_BYTES;
	int r;

	while (bytes > MIN_RING_BYTES && bytes * p->n_cpus > MAX_ALL_BYTES)
		bytes /= 2;
	r = rings_try(p, bytes);

	while (r == -EPERM && bytes > MIN_RING_BYTES && p->n_cpus) {
		sp_error_clear();
		bytes /= 2;
		r = rings_try(p, bytes);
	}
	*ret_bytes = bytes;
	return r;
}

/* --- what is asked for --- */
static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static uint64_t rate_of(const struct perf_event_attr *attr)
{
	if (attr->freq)
		return attr->sample_freq;
	return is_clock(attr) ? 1000000000ULL / attr->sample_period : UNKNOWN_HZ;
}

/*
 * How much of a stack to ask for. The kernel reserves all of it in the ring for each sample, and copies what there is.
 * The ring should have room for an eighth of a second, but most stacks have to fit.
 */
static uint32_t stack_bytes(const struct perf_event_attr *attr, size_t ring_bytes)
{
	uint64_t n = SP_MAX(rate_of(attr) * ROOM_MS / 1000, 8);
	uint64_t least = SP_MIN(SP_MAX(ring_bytes / 64, MIN_STACK_BYTES), 2 * MIN_STACK_BYTES);
	uint64_t bytes = SP_MIN(SP_MAX(ring_bytes / n, least), MAX_STACK_BYTES);

	return (uint32_t)(bytes & ~511ULL);
}

/*
 * How many samples to ask for. A fork starts the clock of the child, and that of its parent anew, so a process that
 * runs for less than a period is never sampled. So where processes are followed, the kernel is asked for several times
 * as many samples as are wanted, and one of each so many is taken: then processes of down to a few milliseconds are
 * sampled as often as they should be.
 */
static void thin_choose(struct sp_capture *c, struct perf_event_attr *attr)
{
	uint64_t rate = rate_of(attr);

	c->perf->thin = 1;
	if (!c->o.follow || !is_clock(attr) || !rate)
		return;
	c->perf->thin = (uint32_t)SP_MIN(SP_MAX(FOLLOW_HZ / rate, 1), MAX_THIN);
	attr->sample_period /= c->perf->thin;
}

int sp_perf_attr_make(struct sp_capture *c)
{
	struct sp_perf *p = c->perf;
	struct perf_event_attr *attr = &p->attr;
	size_t ring_bytes;
	int r = c->o.recipes[0]->ground->event(c->o.recipes[0], &c->o, attr);

	if (r >= 0)
		r = rings_make(p, &ring_bytes);
	if (r < 0)
		return r;
	thin_choose(c, attr);
	c->stats.ring_bytes = p->n_cpus * ring_bytes;
	p->format = (struct sp_perf_format){.has_user = c->o.user, .has_kernel = c->o.kernel && !c->o.user_mode_only};
	attr->size = sizeof(*attr);
	attr->sample_type = SP_PERF_SAMPLE_TYPE;
	if (p->format.has_kernel)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (p->format.has_user) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = SP_PERF_REGS;
		attr->sample_stack_user = stack_bytes(attr, ring_bytes);
	}
	attr->exclude_callchain_user = 1;
	attr->exclude_kernel |= c->o.user_mode_only;
	attr->exclude_hv = 1;
	attr->disabled = 1;
	attr->enable_on_exec = c->o.follow;
	attr->inherit = c->o.filter == SP_TARGETS_TGID;
	attr->inherit_thread = attr->inherit && !c->o.follow; /* new threads, but no new processes */
	attr->sample_id_all = attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return 0;
}

/* --- opening --- */
int sp_event_refused(int r, const char *event, unsigned cpu)
{
	if (r == -ENOENT || r == -EOPNOTSUPP)
		return sp_fail_said(-EOPNOTSUPP,
				    "this machine has no event %s (no hardware counters?); use -e cpu-clock",
				    event ? event : "cpu-clock");
	if (r == -EPERM && sp_process_is_filtered())
		return sp_fail_said(
		    r, "a seccomp filter refuses perf_event_open(2): in a container its profile must allow "
		       "bpf and perf_event_open");
	return sp_fail(r, "open the event %s on CPU %u", event ? event : "cpu-clock", cpu);
}

static int open_failed(struct sp_capture *c, int r, pid_t pid, unsigned cpu)
{
	if (r == -EMFILE || r == -ENFILE)
		return sp_fail_said(r,
				    "too many threads: one descriptor is needed for each thread and CPU (ulimit -n)");
	if (pid > 0 && (r == -EACCES || r == -EPERM))
		return sp_fail_said(-EPERM,
				    "cannot sample process %d: it is another user's, or one with privileges; run it as "
				    "root, with sudo",
				    pid);
	return sp_event_refused(r, c->o.event ? c->o.event : c->o.recipes[0]->points[0].where, cpu);
}

static int open_one(struct sp_capture *c, pid_t pid, const struct sp_perf_cpu *cpu)
{
	struct sp_perf *p = c->perf;
	int fd = event_open(&p->attr, pid, cpu->cpu);
	int r;

	if (fd == -ESRCH)
		return fd;
	if (fd < 0)
		return open_failed(c, fd, pid, cpu->cpu);
	r = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->fd) ? sp_fail(-errno, "join events in one ring buffer") : 0;
	if (!r)
		r = sp_grow(&p->fds, &p->fds_capacity, p->n_fds + 1, sizeof(*p->fds));
	if (r < 0) {
		close(fd);
		return r;
	}
	p->fds[p->n_fds++] = fd;
	return 0;
}

static int open_on_all(struct sp_capture *c, pid_t pid)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < c->perf->n_cpus; i++)
		r = open_one(c, pid, &c->perf->cpus[i]);
	return r;
}

int sp_perf_open_thread(struct sp_capture *c, uint32_t tid)
{
	return open_on_all(c, (pid_t)tid);
}

int sp_perf_open_all(struct sp_capture *c)
{
	return open_on_all(c, -1);
}

void sp_perf_switch(struct sp_capture *c, bool on)
{
	size_t i;

	for (i = 0; i < c->perf->n_fds; i++)
		ioctl(c->perf->fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void sp_perf_events_done(struct sp_perf *p)
{
	size_t i;

	for (i = 0; i < p->n_fds; i++)
		close(p->fds[i]);
	rings_unmap(p);
	free(p->fds);
}
