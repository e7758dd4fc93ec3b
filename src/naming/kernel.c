/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c: the kernel's symbols, read once by a worker, kept packed in a memory file, looked up there. */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void sp_naming_kernel_drop(struct sp_naming *n)
{
	if (n->kernel)
		close(n->kernel->fd);
	free(sp_take_ptr(n->kernel));
}

static int ask(struct sp_naming *n, int table_fd, struct sp_naming_making *m)
{
	return sp_naming_making_wait(
	    n, sp_workers_kernel(n->workers, fileno(n->kallsyms), table_fd, sp_naming_table_came, m), m);
}

static int table_make(struct sp_naming *n)
{
	SP_CLOSE int table_fd = memfd_create("soprof-kernel", MFD_CLOEXEC);
	SP_FREE struct sp_name_table *t = calloc(1, sizeof(*t));
	struct sp_naming_making m = {0};
	int r = table_fd < 0 ? -errno : t ? ask(n, table_fd, &m) : -ENOMEM;

	n->kernel_ns = sp_time_ns(CLOCK_BOOTTIME);
	n->stats.n_kernel++;
	if (r < 0)
		return r;
	*t = sp_naming_table(sp_take_fd(&table_fd), &m.head);
	sp_naming_kernel_drop(n);
	n->kernel = sp_take_ptr(t);
	return 0;
}

static bool is_due(const struct sp_naming *n)
{
	return !n->kernel_ns || sp_time_ns(CLOCK_BOOTTIME) - n->kernel_ns > (uint64_t)SP_NAMING_KERNEL_S * SP_NS_PER_S;
}

static bool all_named(const struct sp_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!names[i].name)
			return false;
	return true;
}

int sp_naming_kernel(void *arg, const uint64_t *addresses, size_t n, struct sp_name *names)
{
	struct sp_naming *naming = arg;
	bool is_new = !naming->kernel && is_due(naming);
	int r = !naming->kallsyms ? sp_fail_said(-ENOENT, "/proc/kallsyms could not be opened")
		: is_new          ? table_make(naming)
				  : 0;

	if (r < 0 || !naming->kernel)
		return r < 0 ? r : sp_fail_said(-ENOENT, "the kernel's symbols could not be read");
	if (!naming->scratch && sp_name_scratch_new(&naming->scratch) < 0)
		return -ENOMEM;
	naming->kernel->scratch = naming->scratch;
	r = sp_name_table_find(naming->kernel, addresses, n, names);
	if (r < 0 || all_named(names, n) || !is_due(naming))
		return r;
	sp_names_done(names, n);
	r = table_make(naming);
	if (r < 0)
		sp_error_clear(); /* what was known is as good as it was */
	return sp_name_table_find(naming->kernel, addresses, n, names);
}
