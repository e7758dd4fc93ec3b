/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c: the kernel's symbols: a worker reads them once into a packed table in a memory file. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "naming/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A first table that did not come is asked for again after so long, then after twice the time, and so on, up to
 * SP_NAMING_KERNEL_S: a machine that is busy starting, say, gave the parser no CPU or memory.
 */
enum { AGAIN_S = 20 };

void sp_naming_kernel_drop(struct sp_naming *n)
{
	if (n->kernel)
		close(n->kernel->fd);
	free(sp_take_ptr(n->kernel));
}

static int table_ask(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;

	w->table_fd = memfd_create("soprof-kernel", MFD_CLOEXEC);
	n->kernel_ns = sp_time_ns(CLOCK_BOOTTIME);
	n->stats.n_kernel++;
	if (w->table_fd < 0)
		return -errno;
	return sp_naming_asked(
	    n, sp_workers_kernel(n->workers, fileno(n->kallsyms), w->table_fd, sp_naming_table_came, w));
}

static int table_take(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_name_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = sp_naming_table(sp_take_fd(&w->table_fd), &w->head);
	sp_naming_kernel_drop(n);
	n->kernel = t;
	return 0;
}

static bool is_due(const struct sp_naming *n)
{
	uint64_t wait_s = n->kernel_again_s ? n->kernel_again_s : SP_NAMING_KERNEL_S;

	return !n->kernel_ns || sp_time_ns(CLOCK_BOOTTIME) - n->kernel_ns > wait_s * SP_NS_PER_S;
}

static int find(struct sp_naming *n)
{
	if (!n->kernel && n->kernel_again_s)
		return -EAGAIN;
	if (!n->kernel)
		return sp_fail_said(-ENOENT, "the kernel's symbols could not be read: %s", n->kernel_failure);
	if (!n->scratch && sp_name_scratch_new(&n->scratch) < 0)
		return -ENOMEM;
	n->kernel->scratch = n->scratch;
	return sp_name_table_find(n->kernel, n->work->offsets, n->work->n, n->work->names);
}

/*
 * What is hidden from us stays so; else the frames are put off until there is a table. A note would stay with the file
 * in the store, when it has names.
 */
static int failed_first(struct sp_naming *n, int r)
{
	snprintf(n->kernel_failure, sizeof(n->kernel_failure), "%s", sp_error_text(r));
	if (r == -EPERM || r == -ENODATA) {
		n->kernel_again_s = 0;
		return r;
	}
	n->kernel_again_s = SP_MIN(SP_MAX(2 * n->kernel_again_s, (unsigned)AGAIN_S), (unsigned)SP_NAMING_KERNEL_S);
	return -EAGAIN;
}

/* The first table. */
static int came_first(struct sp_naming *n, int r)
{
	r = r < 0 ? r : table_take(n);
	if (r < 0)
		return failed_first(n, r);
	n->kernel_again_s = 0;
	n->kernel_failure[0] = 0;
	return find(n);
}

/* A newer one; what was known is as good as it was. */
static int came_again(struct sp_naming *n, int r)
{
	if (r < 0 || table_take(n) < 0)
		sp_error_clear();
	return find(n);
}

static int find_with_table(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	int r;

	if (!n->kallsyms)
		return failed_first(n, sp_fail_said(-ENODATA, "/proc/kallsyms could not be opened"));
	if (!n->kernel && is_due(n)) {
		sp_naming_then(n, came_first);
		return table_ask(n);
	}
	r = find(n);
	if (r < 0 || sp_names_are_all(w->names, w->n) || !is_due(n))
		return r;
	sp_names_done(w->names, w->n);
	sp_naming_then(n, came_again);
	return table_ask(n);
}

/* Asks the kernel for each name, which takes a us; 1: it does not know all as its file does. */
static int ask(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	const char *text;
	int r = n->capture ? 0 : 1;

	for (size_t i = 0; i < w->n && !r; i++) {
		r = sp_capture_kernel_name(n->capture, w->offsets[i], &text) < 0
			? 1
			: sp_symbol_kernel_text(w->offsets[i], text, &w->names[i]);
	}
	return r;
}

static int find_once(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	int r = ask(n);

	if (r <= 0)
		return r;
	sp_error_clear();
	sp_names_done(w->names, w->n);
	return sp_symbol_kernel(n->kallsyms, w->offsets, w->n, w->names);
}

int sp_naming_kernel(struct sp_naming *n, int r)
{
	(void)r;
	return n->keeps_kernel ? find_with_table(n) : find_once(n);
}
