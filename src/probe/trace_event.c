/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_event.c: by an event of tracefs, to which one place after the other is added, and one descriptor.
 *
 * The event's name has its maker's number and time of birth, so that what a killed one has left is known.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "probe/attach_priv.h"
#include "proc/process.h"
#include "worker/broker.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GROUP "soprof"
enum { MAX_LIST = 64 << 20, MAX_LINE = 160, CHUNK = 4000 /* the kernel takes a page at a time */ };

/* Tracefs where it is mounted; else without a place, which takes CAP_SYS_ADMIN, and stays open. */
static char where[64];

static void unmounted_open(void)
{
	SP_CLOSE int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fd >= 0)
		snprintf(where, sizeof(where), "/proc/self/fd/%d", fd);
}

static void root_find(void)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[64];

	for (size_t i = 0; i < SP_COUNT(roots) && !*where; i++) {
		snprintf(path, sizeof(path), "%s/uprobe_events", roots[i]);
		if (!access(path, F_OK))
			snprintf(where, sizeof(where), "%s", roots[i]);
	}
	if (!*where)
		unmounted_open();
}

/* NULL: this process cannot have it. */
static const char *root(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, root_find);
	return *where ? where : NULL;
}

static int list_open(void)
{
	char path[sizeof(where) + 32];
	int fd;

	if (!root())
		return sp_fail_said(-EOPNOTSUPP, "this kernel has no probes of libraries, or tracefs is not mounted");
	snprintf(path, sizeof(path), "%s/uprobe_events", root());
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC); /* without O_APPEND it would remove everybody's */
	return fd < 0 ? sp_fail(-errno, "open %s", path) : fd;
}

static int command(const char *text)
{
	SP_CLOSE int fd = list_open();
	size_t n = strlen(text);

	if (fd < 0)
		return fd;
	return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

/* --- making one --- */
static char *name_make(void)
{
	static unsigned number;
	char *name;
	int n = asprintf(&name, "p%d_%" PRIx64 "_%u", (int)getpid(), sp_process_start_ns((uint32_t)getpid()),
			 __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));

	return n < 0 ? NULL : name;
}

static int place_print(char *line, size_t size, const struct sp_probe_want *w, const struct sp_probe_at *at, size_t i,
		       const char *name)
{
	char semaphore[32] = "";

	if (at->semaphores && at->semaphores[i])
		snprintf(semaphore, sizeof(semaphore), "(0x%" PRIx64 ")", at->semaphores[i]);
	return snprintf(line, size, "%c:" GROUP "/%s %s:0x%" PRIx64 "%s\n",
			w->program->kind == SP_PROBE_RETURN ? 'r' : 'p', name, w->path, at->offsets[i], semaphore);
}

static int places_add(const struct sp_probe_want *w, const struct sp_probe_at *at, const char *name)
{
	char text[CHUNK + MAX_LINE];
	size_t used = 0;
	int r = 0;

	for (size_t i = 0; i < at->n && r >= 0; i++) {
		used += (size_t)place_print(text + used, MAX_LINE, w, at, i, name);
		if (used < CHUNK && i + 1 < at->n)
			continue;
		r = command(text);
		used = 0;
	}
	return r;
}

static int event_id(const char *name, uint64_t *ret_id)
{
	SP_FREE char *path = NULL, *text = NULL;
	int r;

	if (asprintf(&path, "%s/events/" GROUP "/%s/id", root(), name) < 0)
		return -ENOMEM;
	r = sp_text_read(path, 64, &text, NULL);
	if (r < 0)
		return r;
	*ret_id = strtoull(text, NULL, 10);
	return 0;
}

static int perf_open(struct perf_event_attr *attr, const struct sp_probe_want *w)
{
	int fd;

	if (w->program->broker)
		return w->pid ? sp_broker_event_of(w->program->broker, attr, w->pid)
			      : sp_broker_event(w->program->broker, attr, 0);
	fd = (int)syscall(SYS_perf_event_open, attr, w->pid ? w->pid : -1, w->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opened on one CPU, or for one process, it runs the program wherever the event comes. */
static int event_open(uint64_t id, const struct sp_probe_want *w)
{
	struct perf_event_attr attr = {
	    .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = id, .sample_period = 1};
	SP_CLOSE int fd = perf_open(&attr, w);

	if (fd < 0)
		return fd;
	if (w->cookie) { /* the link holds the event */
		LIBBPF_OPTS(bpf_link_create_opts, with, .perf_event.bpf_cookie = *w->cookie);
		return bpf_link_create(w->program->fd, fd, BPF_PERF_EVENT, &with);
	}
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, w->program->fd) < 0 ? -errno : sp_take_fd(&fd);
}

void sp_probe_event_remove(char *event)
{
	char text[128];

	snprintf(text, sizeof(text), "-:" GROUP "/%s", event);
	for (unsigned i = 0; root() && command(text) == -EBUSY && i < 100;
	     i++) /* a descriptor is closed, but not done with */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	free(event);
}

static int event_make(const struct sp_probe_want *w, const struct sp_probe_at *at, const char *name)
{
	uint64_t id;
	int r = places_add(w, at, name);

	if (r >= 0)
		r = event_id(name, &id);
	return r < 0 ? r : event_open(id, w);
}

int sp_probe_event_attach(const struct sp_probe_want *w, const struct sp_probe_at *at, struct sp_probe_link *link)
{
	char *name = name_make();
	int fd, r = name ? 0 : -ENOMEM;

	if (!r)
		r = sp_grow(&link->fds, &link->fds_capacity, link->n_fds + 1, sizeof(*link->fds));
	if (r >= 0)
		r = sp_grow(&link->events, &link->events_capacity, link->n_events + 1, sizeof(*link->events));
	if (r < 0) {
		free(name);
		return r;
	}
	fd = event_make(w, at, name);
	if (fd < 0) {
		sp_probe_event_remove(name);
		return fd;
	}
	link->fds[link->n_fds++] = fd;
	link->events[link->n_events++] = name;
	return 0;
}

/* --- what the dead have left --- */
/* "p:soprof/p4711_5f3a_0 PATH:0x1234": whether its maker lives, or the line is nobody's of ours. */
static bool is_needed(const char *line, char *ret_event, size_t size)
{
	unsigned pid, number;
	uint64_t began;
	char end;

	if (sscanf(line, "%*[pr]:" GROUP "/p%u_%" SCNx64 "_%u%c", &pid, &began, &number, &end) != 4 || end != ' ')
		return true;
	snprintf(ret_event, size, "p%u_%" PRIx64 "_%u", pid, began, number);
	return sp_process_start_ns(pid) == began;
}

/* What is in use by somebody whom we do not see (in another pid namespace) the kernel keeps. */
static size_t leftovers_remove(char *list)
{
	char event[64], last[64] = "", text[96];
	size_t n = 0;

	for (char *save = NULL, *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (is_needed(line, event, sizeof(event)) || !strcmp(event, last))
			continue;
		snprintf(last, sizeof(last), "%s", event);
		snprintf(text, sizeof(text), "-:" GROUP "/%s", event);
		n += !command(text);
	}
	return n;
}

int sp_probe_clean(size_t *ret_n)
{
	SP_FREE char *list = NULL;
	char path[sizeof(where) + 32];
	int r;

	*ret_n = 0;
	if (!root())
		return 0;
	snprintf(path, sizeof(path), "%s/uprobe_events", root());
	r = sp_text_read(path, MAX_LIST, &list, NULL);
	if (r < 0)
		return r;
	*ret_n = leftovers_remove(list);
	sp_error_clear();
	return 0;
}
