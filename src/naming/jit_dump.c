/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_dump.c: the jit dump of a process, for the code that it made. The session holds the one that the process had
 * mapped when the memory was first seen; else it is looked for among what the process has mapped now.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "naming/jit.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <unistd.h>

static int open_late(struct sp_naming *n, const struct sp_process *p)
{
	struct sp_open_request q = {.pid = (pid_t)p->pid};
	struct sp_naming_open o = {.fd = -1};
	int fd;

	snprintf(q.name, sizeof(q.name), SP_JIT_DUMP_NAME, p->ns_pid);
	fd = sp_naming_fd(n, sp_workers_open(n->workers, &q, sp_naming_opened, &o), &o);
	if (fd < 0)
		return fd == -ESRCH ? -ENOENT : fd;
	if (!o.uid || o.uid == p->uid)
		return fd;
	close(fd);
	return sp_fail_said(-EPERM, "%s: of another user", q.name);
}

int sp_jit_by_dump(const struct sp_jit_question *q, struct sp_name *names)
{
	struct sp_naming_wait w = {.naming = q->naming, .file = q->file, .names = names, .n = q->n};
	int held = sp_capture_jit_dump_fd(q->naming->capture, q->file), r;
	SP_CLOSE int late = -1;

	if (held < 0)
		held = late = open_late(q->naming, &q->process);
	if (held < 0)
		return held;
	r = sp_workers_jit_dump(q->naming->workers, held, q->since_ns, q->addresses, q->n, sp_naming_came, &w);
	return sp_naming_answer(&w, r);
}
