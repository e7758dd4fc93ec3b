/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_dump.c: the jit dump of a process, for the code that it made. The session holds the one that the process had
 * mapped when the memory was first seen; else it is looked for among what the process has mapped now.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "naming/priv.h"
#include "worker/worker.h"
#include <errno.h>

static int ask(struct sp_naming *n, int fd)
{
	struct sp_naming_work *w = n->work;

	return sp_naming_asked(
	    n, sp_workers_jit_dump(n->workers, fd, w->jit.since_ns, w->jit.addresses, w->n, sp_naming_named, w));
}

static int opened(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	if (w->opened.uid && w->opened.uid != w->jit.process.uid)
		return sp_fail_said(-EPERM, SP_JIT_DUMP_NAME ": of another user", w->jit.process.ns_pid);
	w->jit.fd = sp_take_fd(&w->opened.fd);
	return ask(n, w->jit.fd);
}

int sp_jit_by_dump(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_open_request q = {.pid = (pid_t)w->jit.process.pid};
	int held = sp_capture_jit_dump_fd(n->capture, w->file);

	if (held >= 0)
		return ask(n, held);
	snprintf(q.name, sizeof(q.name), SP_JIT_DUMP_NAME, w->jit.process.ns_pid);
	sp_naming_then(n, opened);
	return sp_naming_asked(n, sp_workers_open(n->workers, &q, sp_naming_opened, w));
}
