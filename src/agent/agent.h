/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h: sampling for ever, its windows into the store.
 *
 *   sp_agent_new()     opens the store and loads what samples          (nothing runs yet; needs the privileges)
 *   sp_agent_start()   samples from here on; this process gives up its privileges
 *   sp_agent_run()     until sp_agent_stop() is called from a watch; then the last window is stored
 *
 * Windows of ten seconds begin at multiples of it on the wall clock, and are measured by CLOCK_BOOTTIME. Time that was
 * not sampled (suspended, stopped, clock set, CPUs away) is an event "gap" in the store, never a zero. What the store
 * does not take waits in memory, bounded; then the oldest is dropped, counted, and told as an event "drop". Above its
 * limits of CPU and memory the agent halves its rate, and raises it again later: events "rate".
 * The configuration's strings are the caller's, and stay as long as the agent or until sp_agent_reload() took another.
 * Others (server, service manager) take part in the loop by watches. One thread. 0 or a negative errno with
 * sp_error_text(): -EPERM, -EACCES, -EOPNOTSUPP: the kernel or the privileges do not allow it; -EBUSY: another agent
 * has the store.
 */
#ifndef SP_AGENT_AGENT_H
#define SP_AGENT_AGENT_H

#include "agent/config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_agent;
struct sp_profile;
struct sp_store;

#define SP_AGENT_WINDOW_NS (10 * UINT64_C(1000000000))

int sp_agent_new(const struct sp_agent_config *config, struct sp_agent **ret_agent);
int sp_agent_start(struct sp_agent *a);
int sp_agent_run(struct sp_agent *a);
void sp_agent_stop(struct sp_agent *a);
/* Limits and rates of another configuration, from the next window on; sources and store stay as they are. */
int sp_agent_reload(struct sp_agent *a, const struct sp_agent_config *config);
void sp_agent_free(struct sp_agent *a);

/*
 * A descriptor that the loop polls for reading (-1: none), and a time after which `ready` is called anyway (timeout_ms
 * NULL, or -1: none). At most SP_AGENT_MAX_WATCHES. -1 from `ready` is nothing special: it cannot fail.
 */
enum { SP_AGENT_MAX_WATCHES = 16 };
struct sp_agent_watch {
	int fd;
	int (*timeout_ms)(void *arg);
	void (*ready)(void *arg);
	void *arg;
};
int sp_agent_watch(struct sp_agent *a, const struct sp_agent_watch *watch);

/*
 * Who is told of each window and event, once, from sp_agent_start() on (events of its beginning included). A window:
 * with names, when its turn for the store comes, whether the store takes it or not; the profile's rows are the window's
 * and nothing else's, but what is interned in it is of all windows since it was made. Only read: nothing of the agent
 * may be called from within, and it should take no more than some ms. Either function may be NULL. At most
 * SP_AGENT_MAX_LISTENERS.
 */
enum { SP_AGENT_MAX_LISTENERS = 8 };
struct sp_agent_listener {
	void *arg;
	void (*window)(void *arg, const struct sp_profile *p, const struct sp_store_window *w);
	void (*event)(void *arg, const struct sp_store_event *e);
};
int sp_agent_listen(struct sp_agent *a, const struct sp_agent_listener *listener);
/* An event for the store, and for all who listen. The one function that may be called from within a listener. */
void sp_agent_event(struct sp_agent *a, const struct sp_store_event *e);

struct sp_store *sp_agent_store(const struct sp_agent *a);
/*
 * The window of this source that is not in the store yet, up to now, with names. -ENOENT: no such source. The profile
 * is the agent's, to be read before anything else is called.
 */
int sp_agent_current(struct sp_agent *a, const char *source, const struct sp_profile **ret_profile,
		     struct sp_store_window *ret_window);

struct sp_agent_source_status {
	const char *name;
	uint64_t rate_mhz, wanted_mhz;         /* samples a second and CPU, in thousandths: now; configured */
	uint64_t n_samples, n_complete, n_cut; /* of user stacks: since the start */
	uint64_t n_lost;                       /* taken, and not in any window: the next two */
	uint64_t n_lost_stacks;                /* stacks of samples that are, which found no room on their way */
	uint64_t n_lost_full, n_lost_nested;   /* the table of counts was full; within another sample */
	uint64_t n_expected, n_taken;          /* ticks of all CPUs by the clock; those that came, idle ones included */
	uint64_t n_windows, n_waiting, n_dropped; /* stored; not yet; never */
	uint64_t n_renewals, n_files, n_forgotten;
	/* To keep within the limit of CPU: without names now, samples stored so; without unwind tables now, and ever.
	 */
	uint64_t n_unnamed_files, n_unnamed_frames, n_unnamed_samples, n_tables_later, n_tables_put_off;
	uint64_t paused_ns;     /* for renewals */
	uint64_t profile_bytes; /* of what is interned, and of the numbers of it */
};
struct sp_agent_status {
	uint64_t started_wall_ns, started_boot_ns;
	unsigned n_cpus;                             /* that are sampled now */
	unsigned halvings;                           /* of the rate */
	const char *why_halved;                      /* "" = not: "cpu", "memory" */
	uint64_t cpu_ns, own_ns, workers_ns, bpf_ns; /* of CPU time since the start: their sum, and whose */
	uint64_t parsers_ns;                         /* of the workers' */
	int64_t parse_left_ns;             /* of CPU time that parsing may take now (parse_budget.h); < 0: debt */
	uint64_t cpu_ppm;                  /* over the last minutes; 0 = not known yet */
	uint64_t memory_bytes, peak_bytes; /* now and most, as seen each minute: all processes, and BPF */
	uint64_t n_gaps, gap_ns, n_late;   /* gaps and their time, late windows */
	uint64_t unstored_ns;              /* up to so much the agent before had sampled when it was killed */
	uint64_t n_errors;                 /* of sampling, names, labels: told in the log */
	const char *store_error;           /* why the store takes nothing now; "" = it does */
	size_t n_sources;
	struct sp_agent_source_status sources[SP_AGENT_MAX_SOURCES];
};
void sp_agent_status(struct sp_agent *a, struct sp_agent_status *ret_status);
/* The same, with CPU time and memory as they were seen last, each minute: to look takes ms. */
void sp_agent_status_seen(struct sp_agent *a, struct sp_agent_status *ret_status);

#endif
