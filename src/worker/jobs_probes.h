/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_probes.h: requests to workers about where a file may be probed: functions (probe/point.h), marks (probe/usdt.h).
 *
 * A breakpoint in a wrong place kills whoever runs it, in every process that maps the file. So the parser that is asked
 * is a new one, which has read no other file and can have been taken over by none but this. Of its answer is checked
 * that all places lie in the file and belong together as those headers say; that code is there it alone can tell. Who
 * makes a file may so be wrong about places in that file.
 * Queueing and descriptors are as in worker.h; what is asked is copied. The callback may take what a result has, and
 * leave {0}; what it leaves is freed. NULL on failure, negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_WORKER_JOBS_PROBES_H
#define SP_WORKER_JOBS_PROBES_H

#include "probe/point.h"
#include "probe/usdt.h"
#include "worker/worker.h"

/* Of an answer, more is -EFBIG; and more functions than any file has. */
enum { SP_PROBES_MAX_BYTES = 64 << 20, SP_PROBES_MAX_FUNCTIONS = 64 << 20 };

/* Without left_out. */
int sp_workers_points(struct sp_workers *w, int fd, const struct sp_probe_what *what,
		      void (*done)(void *arg, int r, struct sp_probe_set *set), void *arg);
/* Those whose name, and provider (NULL: any), match these globs. */
int sp_workers_marks(struct sp_workers *w, int fd, const char *provider, const char *name,
		     void (*done)(void *arg, int r, struct sp_usdts *marks), void *arg);

/*
 * Waits until all that was asked about files to probe is answered, a minute at most: what a worker has by then is soon
 * over, and of the rest, which is too much, that with these args is cancelled (-ECANCELED). args: an array of n
 * elements of this size, each of which was the arg of a request.
 */
void sp_workers_probes_wait(struct sp_workers *w, const void *args, size_t n, size_t size);
/* Ends the processes that have nothing to do, which else wait some seconds for more. The next request starts others. */
void sp_workers_rest(struct sp_workers *w);
/* Why such a request has failed, r < 0; the caller's. NULL: out of memory. */
char *sp_workers_probes_why(int r);

#endif
