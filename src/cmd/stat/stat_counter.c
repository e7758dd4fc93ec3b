/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/stat/stat_counter.h"

#include "base/error.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- opening --- */
static bool is_of_kernel(const struct sp_stat_event *e)
{
	return e->type == PERF_TYPE_SOFTWARE &&
	       (e->config == PERF_COUNT_SW_CONTEXT_SWITCHES || e->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* What happens in the kernel only, and may not be counted there, would be 0 for ever: that is a refusal. */
static bool may_count_user_only(const struct sp_stat_counter *c)
{
	return !c->user_only && !c->event->kernel_only && c->event->type != PERF_TYPE_TRACEPOINT &&
	       !is_of_kernel(c->event);
}

static int event_open(const struct sp_stat_counter *c, pid_t pid, int cpu, bool at_exec)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = c->event->type,
				       .config = c->event->config,
				       .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
				       .inherit = pid >= 0,
				       .disabled = at_exec,
				       .enable_on_exec = at_exec,
				       .exclude_kernel = c->user_only,
				       .exclude_hv = c->user_only,
				       .exclude_user = c->event->kernel_only};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int counter_open(struct sp_stat_counter *c, pid_t pid, int cpu, bool at_exec)
{
	int fd, r;

	if (c->refused)
		return 0;
	fd = event_open(c, pid, cpu, at_exec);
	if ((fd == -EACCES || fd == -EPERM) && may_count_user_only(c)) {
		c->user_only = true;
		fd = event_open(c, pid, cpu, at_exec);
	}
	if (fd == -ESRCH || fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	if (fd < 0) {
		c->refused = fd;
		return 0;
	}
	r = sp_grow(&c->fds, &c->capacity, c->n_fds + 1, sizeof(*c->fds));
	if (r < 0)
		close(fd);
	else
		c->fds[c->n_fds++] = fd;
	return r;
}

static int all_open(struct sp_stat_counters *c, pid_t pid, int cpu, bool at_exec)
{
	int r = 0;

	for (size_t i = 0; i < c->n && r >= 0; i++)
		r = counter_open(&c->counters[i], pid, cpu, at_exec);
	return r == -EMFILE || r == -ENFILE ? sp_fail(r, "open a counter for each thread and event") : r;
}

int sp_stat_count_child(struct sp_stat_counters *c, int pid)
{
	return all_open(c, pid, -1, true);
}

int sp_stat_count_cpu(struct sp_stat_counters *c, unsigned cpu)
{
	return all_open(c, -1, (int)cpu, false);
}

int sp_stat_count_thread(struct sp_stat_counters *c, uint32_t tid)
{
	int r = all_open(c, (pid_t)tid, -1, false);

	return r == -ESRCH ? sp_fail_said(r, "there is no thread %u", tid) : r;
}

/* One that a thread starts before it is counted itself, behind the place that was read, is missed, as by perf. */
int sp_stat_count_process(struct sp_stat_counters *c, uint32_t pid)
{
	char path[32];
	const struct dirent *e;
	DIR *tasks;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? sp_fail_said(-ESRCH, "there is no process %u", pid)
				       : sp_fail(-errno, "read %s", path);
	while (r >= 0 && (e = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);

		r = tid ? all_open(c, (pid_t)tid, -1, false) : 0;
		r = r == -ESRCH ? 0 : r; /* it has ended meanwhile */
	}
	closedir(tasks);
	return r;
}

/* --- reading --- */
static int counter_read(struct sp_stat_counter *c)
{
	struct sp_stat_count sum = {0}, one;

	for (size_t i = 0; i < c->n_fds; i++) {
		if (read(c->fds[i], &one, sizeof(one)) != (ssize_t)sizeof(one))
			return sp_fail(errno ? -errno : -EIO, "read the counter of %s", c->event->name);
		sum.value += one.value;
		sum.enabled_ns += one.enabled_ns;
		sum.running_ns += one.running_ns;
	}
	c->before = c->count;
	c->count = sum;
	return 0;
}

int sp_stat_counters_read(struct sp_stat_counters *c)
{
	int r = 0;

	for (size_t i = 0; i < c->n && r >= 0; i++)
		r = counter_read(&c->counters[i]);
	return r;
}

double sp_stat_value(const struct sp_stat_counter *c, bool since_before, double *ret_share)
{
	uint64_t value = c->count.value, enabled = c->count.enabled_ns, running = c->count.running_ns;

	if (since_before) {
		value -= c->before.value;
		enabled -= c->before.enabled_ns;
		running -= c->before.running_ns;
	}
	*ret_share = enabled ? (double)running / (double)enabled : 1; /* no thread has run: it is 0 */
	return running && running < enabled ? (double)value * (double)enabled / (double)running : (double)value;
}

/* --- their life --- */
int sp_stat_counters_new(const struct sp_stat_events *events, struct sp_stat_counters *ret_counters)
{
	struct sp_stat_counters c = {.counters = calloc(events->n ? events->n : 1, sizeof(*c.counters)),
				     .n = events->n};

	if (!c.counters)
		return -ENOMEM;
	for (size_t i = 0; i < c.n; i++) {
		c.counters[i].event = &events->events[i];
		c.counters[i].user_only = events->events[i].user_only;
	}
	*ret_counters = c;
	return 0;
}

void sp_stat_counters_done(struct sp_stat_counters *c)
{
	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->counters[i].n_fds; k++)
			close(c->counters[i].fds[k]);
		free(c->counters[i].fds);
	}
	free(c->counters);
	*c = (struct sp_stat_counters){0};
}
