/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend.h: where a session's samples come from. Private to src/capture.
 *
 * bpf.c: the kernel half unwinds and counts; its messages and counts are drained. perf.c: perf_event_open copies
 * registers and stacks; the user half keeps track of the address spaces and unwinds. Both give files to files.c and
 * processes, stacks and samples to drain.c and pending.c in the same form, so the same profile comes out. A backend is
 * constant; its state is in struct sp_capture. Functions return 0 or a negative errno with sp_error_text().
 */
#ifndef SP_CAPTURE_BACKEND_H
#define SP_CAPTURE_BACKEND_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stdint.h>

struct sp_capture;

enum { SP_POLL_WATCH = 2 /* what sampling waits for has appeared */ };
struct sp_backend {
	int (*open)(struct sp_capture *c); /* makes c->tables and c->shared, too */
	int (*target_add)(struct sp_capture *c, uint32_t number, enum sp_target state);
	int (*attach)(struct sp_capture *c);  /* sampling begins */
	void (*detach)(struct sp_capture *c); /* ends sampling; what was sampled is still to be read */
	/* Counts threads that wait already, in one recipe, or in all (-1); or NULL. */
	int (*blocked)(struct sp_capture *c, uint64_t since_ns, int recipe);
	/* Counts threads that still wait, where these are stamped only, in one recipe, or in all (-1); or NULL. */
	int (*stamped)(struct sp_capture *c, int recipe);
	int (*seek)(struct sp_capture *c);                      /* announces the files that are mapped now */
	int (*read)(struct sp_capture *c);                      /* takes in the records that have come */
	int (*flush)(struct sp_capture *c);                     /* counts open episodes up to now; or NULL */
	int (*swap_counts)(struct sp_capture *c, unsigned odd); /* after its records were read */
	int (*poll_fd)(const struct sp_capture *c, unsigned i); /* readable when there are records; -1: none */
	/* A file could not be opened: it is to be announced again when it is met again. */
	void (*forget)(struct sp_capture *c, uint32_t file_id);
	/* The path by which it was mapped, or NULL: not known. */
	const char *(*path)(const struct sp_capture *c, uint32_t file_id);
	void (*stats)(struct sp_capture *c, bool with_memory); /* without memory it costs next to nothing */
	/* Only for sessions that last (lasting.h); NULL in a backend that has none. */
	int (*rate)(struct sp_capture *c, uint64_t rate_millihertz); /* sets the rate */
	int (*pause)(struct sp_capture *c, bool is_paused);          /* true: stops taking samples; false: resumes */
	int (*send_again)(struct sp_capture *c);                     /* forgets which stacks and processes were sent */
	void (*done)(struct sp_capture *c);                          /* frees all, also after a failed open */
};

/* blocked.c: opens the episodes of threads that wait already; since_ns: when the sampling began; recipe: of one,
 * or of all (-1). */
int sp_blocked_begin(struct sp_capture *c, uint64_t since_ns, int recipe);
/* Counts the waits of one recipe that go on, of threads that were stamped; none is stamped any more. */
int sp_blocked_end(struct sp_capture *c, unsigned recipe);

extern const struct sp_backend sp_backend_bpf, sp_backend_perf;

#endif
