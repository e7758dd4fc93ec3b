/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c: by one link for all places. The system call is made here, since libbpf learned of such links later than
 * Debian 12 has it.
 */
#include "probe/attach.h"
#include "base/aside.h"
#include "base/error.h"
#include "base/mem.h"
#include "probe/attach_priv.h"
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CLOSERS = 32, /* threads */
	UPROBE_MULTI = 48,
	UPROBE_SESSION = 57,
	CALL_OF_NOP5 = 336,
	OF_RETURN = 1,
	NOT_SUPPORTED = 524 /* the kernel's own ENOTSUPP */
};

struct link_create { /* the beginning of union bpf_attr */
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, multi_flags, pid, pad;
};

static int link_make(const struct link_create *what)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, what, sizeof(*what));

	return fd < 0 ? -errno : fd;
}

/* --- what the kernel has --- */
static int empty_program(unsigned attach_type)
{
	/* return 0 */
	const struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_KPROBE,
			       .insns = (uintptr_t)code,
			       .insn_cnt = SP_COUNT(code),
			       .license = (uintptr_t) "GPL",
			       .expected_attach_type = attach_type};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/* A link on a directory is refused for what it is by kernels that have links, else for being unknown. */
static bool knows(unsigned attach_type)
{
	const uint64_t offset = 0;
	SP_CLOSE int program = empty_program(attach_type);
	SP_CLOSE int fd = program < 0 ? program
				      : link_make(&(struct link_create){.program = (uint32_t)program,
									.attach_type = attach_type,
									.path = (uintptr_t) "/",
									.offsets = (uintptr_t)&offset,
									.n = 1});

	return fd == -EBADF;
}

static bool has_links, has_sessions;

static void ask(void)
{
	has_links = knows(UPROBE_MULTI);
	has_sessions = has_links && knows(UPROBE_SESSION);
}

bool sp_probe_has(enum sp_probe_kind kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, ask);
	return kind == SP_PROBE_SESSION ? has_sessions : has_links;
}

unsigned sp_probe_attach_type(enum sp_probe_kind kind)
{
	return !sp_probe_has(kind) ? 0 : kind == SP_PROBE_SESSION ? UPROBE_SESSION : UPROBE_MULTI;
}

/* The system call that such a nop becomes is refused to anybody else, as this one. */
bool sp_probe_nop5_is_fast(void)
{
	return syscall(CALL_OF_NOP5) < 0 && errno == ENXIO;
}

/* --- links --- */
static int link_attach(const struct sp_probe_want *w, const struct sp_probe_at *at, struct sp_probe_link *link)
{
	int fd, r = sp_grow(&link->fds, &link->fds_capacity, link->n_fds + 1, sizeof(*link->fds));

	if (r < 0)
		return r;
	fd = link_make(&(struct link_create){.program = (uint32_t)w->program->fd,
					     .attach_type = sp_probe_attach_type(w->program->kind),
					     .path = (uintptr_t)w->path,
					     .offsets = (uintptr_t)at->offsets,
					     .semaphores = (uintptr_t)at->semaphores,
					     .cookies = (uintptr_t)at->cookies,
					     .n = (uint32_t)at->n,
					     .multi_flags = w->program->kind == SP_PROBE_RETURN ? OF_RETURN : 0,
					     .pid = (uint32_t)w->pid});
	if (fd < 0)
		return fd;
	link->fds[link->n_fds++] = fd;
	return 0;
}

/* --- either way --- */
static struct sp_probe_at part(const struct sp_probe_at *at, size_t from, size_t n)
{
	return (struct sp_probe_at){.offsets = at->offsets + from,
				    .cookies = at->cookies ? at->cookies + from : NULL,
				    .semaphores = at->semaphores ? at->semaphores + from : NULL,
				    .n = n};
}

/* One bad place has the kernel refuse all: then each half is tried. */
static int attach_some(const struct sp_probe_want *w, const struct sp_probe_at *at, size_t from, size_t n,
		       struct sp_probe_link *link)
{
	struct sp_probe_at some = part(at, from, n);
	int r = sp_probe_has(SP_PROBE_ENTRY) ? link_attach(w, &some, link) : sp_probe_event_attach(w, &some, link);

	if (r != -NOT_SUPPORTED)
		return r;
	if (n == 1) {
		link->refused_place = link->n_refused ? link->refused_place : from;
		link->n_refused++;
		return 0;
	}
	r = attach_some(w, at, from, n / 2, link);
	return r < 0 ? r : attach_some(w, at, from + n / 2, n - n / 2, link);
}

/* Where there are no links: an event of tracefs has one cookie for all its places. */
static int attach_by_cookie(struct sp_probe_want *w, const struct sp_probe_at *at, struct sp_probe_link *link)
{
	SP_FREE uint64_t *offsets = calloc(at->n, sizeof(*offsets)), *semaphores = calloc(at->n, sizeof(*semaphores));
	SP_FREE bool *is_done = calloc(at->n, sizeof(*is_done));
	int r = offsets && semaphores && is_done ? 0 : -ENOMEM;

	for (size_t i = 0; i < at->n && r >= 0; i++) {
		struct sp_probe_at some = {.offsets = offsets, .semaphores = at->semaphores ? semaphores : NULL};

		if (is_done[i])
			continue;
		for (size_t k = i; k < at->n; k++) {
			if (is_done[k] || at->cookies[k] != at->cookies[i])
				continue;
			offsets[some.n] = at->offsets[k];
			semaphores[some.n++] = at->semaphores ? at->semaphores[k] : 0;
			is_done[k] = true;
		}
		w->cookie = &at->cookies[i];
		r = attach_some(w, &some, 0, some.n, link);
	}
	return r;
}

static int words(int r, const struct sp_probe_want *w)
{
	if (r == -ESRCH)
		return sp_fail_said(-ESRCH, "there is no process %d", (int)w->pid);
	return sp_fail(r, "attach probes");
}

int sp_probe_attach(const struct sp_probe_program *program, int file, const struct sp_probe_at *at, pid_t pid,
		    struct sp_probe_link *ret_link)
{
	struct sp_probe_want w = {.program = program, .pid = pid};
	struct sp_probe_link link = {.kind = program->kind};
	int r = 0;

	if (program->kind == SP_PROBE_SESSION && !sp_probe_has(SP_PROBE_SESSION))
		return sp_fail_said(-EOPNOTSUPP, "this kernel has no probes of whole calls");
	snprintf(w.path, sizeof(w.path), "/proc/self/fd/%d", file);
	if (at->n)
		r = at->cookies && !sp_probe_has(SP_PROBE_ENTRY) ? attach_by_cookie(&w, at, &link)
								 : attach_some(&w, at, 0, at->n, &link);
	if (r < 0) {
		sp_probe_detach(&link);
		return words(r, &w);
	}
	*ret_link = link;
	return 0;
}

void sp_probe_detach(struct sp_probe_link *link)
{
	for (size_t i = 0; i < link->n_fds; i++)
		close(link->fds[i]);
	for (size_t i = 0; i < link->n_events; i++)
		sp_probe_event_remove(link->events[i]);
	free(link->fds);
	free(link->events);
	*link = (struct sp_probe_link){.n_fds = 0};
}

struct closing {
	int *fds;
	size_t n, next;
};

static void *fds_close(void *arg)
{
	struct closing *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n)
		close(c->fds[i]);
	return NULL;
}

/* The kernel waits for all at the same time, if they are closed at the same time. */
static void all_close(struct closing *c)
{
	struct sp_aside threads[CLOSERS - 1] = {{.is_begun = false}};
	size_t n = SP_MIN(SP_MAX(c->n, 1) - 1, SP_COUNT(threads));

	for (size_t i = 0; i < n; i++)
		sp_aside_begin(&threads[i], fds_close, c);
	fds_close(c);
	for (size_t i = 0; i < n; i++)
		sp_aside_wait(&threads[i]);
}

void sp_probe_detach_some(struct sp_probe_link *const *links, size_t n)
{
	struct closing c = {.n = 0};
	SP_FREE int *fds = NULL;
	size_t n_fds = 0;

	for (size_t i = 0; i < n; i++)
		n_fds += links[i]->n_fds;
	c.fds = fds = calloc(n_fds + 1, sizeof(*fds));
	for (size_t i = 0; i < n && fds; i++)
		while (links[i]->n_fds)
			fds[c.n++] = links[i]->fds[--links[i]->n_fds];
	all_close(&c);
	for (size_t i = 0; i < n; i++)
		sp_probe_detach(links[i]);
}
