/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h: samples for ever, and writes a window of ten seconds after the other to the store.
 *
 *   sp_agent_new()     opens the store and loads the kernel half; nothing runs yet; needs privileges
 *   sp_agent_start()   begins to sample; this process gives up its privileges
 *   sp_agent_run()     runs until a watch calls sp_agent_stop(), or it fails; watches that serve all are called no more
 *   sp_agent_finish()  stores the last window, and tells what failed
 *
 * Windows begin at multiples of ten seconds on the wall clock, and are measured by CLOCK_BOOTTIME. Time that was not
 * sampled (suspended, stopped, clock set, CPUs offline) is an event "gap" in the store, never a zero. Windows that the
 * store does not take are queued; beyond a limit the oldest is dropped and counted: an event "drop". Above its limits
 * of CPU the agent halves its sampling rate, and doubles it again later: events "rate". Strings of the
 * configuration belong to the caller, and must outlive the agent or its next sp_agent_reload(). Server, service manager
 * and others join the loop by watches. One thread. 0 or a negative errno with sp_error_text(): -EPERM,
 * -EACCES, -EOPNOTSUPP: not allowed by the kernel or the privileges; -EBUSY: another agent has the store.
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
void sp_agent_run(struct sp_agent *a);
void sp_agent_stop(struct sp_agent *a); /* again: no further effect */
int sp_agent_finish(struct sp_agent *a);
/* Takes limits and rates from the next window on; sources and store stay. */
int sp_agent_reload(struct sp_agent *a, const struct sp_agent_config *config);
void sp_agent_free(struct sp_agent *a);
/*
 * A file of the configuration (NULL: none), which sp_text_read_config() opens by the broker from sp_agent_start() on,
 * if only root may read it.
 */
int sp_agent_keep_file(struct sp_agent *a, const char *path);

/*
 * A descriptor that the loop polls for reading (-1: none), and a timeout after which `ready` is called, too (timeout_ms
 * NULL, or returning -1: none). serves_all: any user of the machine can make it ready, so the loop stops polling it
 * for moments when answers have used up their CPU time (daemon/pace.h). At most SP_AGENT_MAX_WATCHES.
 */
enum { SP_AGENT_MAX_WATCHES = 16 };
struct sp_agent_watch {
	int fd;
	int (*timeout_ms)(void *arg);
	void (*ready)(void *arg);
	void *arg;
	bool serves_all;
};
int sp_agent_watch(struct sp_agent *a, const struct sp_agent_watch *watch);

/*
 * Called for each window and event, once, from sp_agent_start() on; not for a window that is dropped before it has
 * names (no memory, a full queue). A window comes with names, just before it goes to the store, also if the store
 * refuses it. The profile's rows are this window's only; its interned strings, files and stacks are of all windows
 * since the profile was made. Listeners only read, call no other function of the agent, and return within some ms.
 * Either function may be NULL. At most SP_AGENT_MAX_LISTENERS.
 */
enum { SP_AGENT_MAX_LISTENERS = 8 };
struct sp_agent_listener {
	void *arg;
	void (*window)(void *arg, const struct sp_profile *p, const struct sp_store_window *w);
	void (*event)(void *arg, const struct sp_store_event *e);
};
int sp_agent_listen(struct sp_agent *a, const struct sp_agent_listener *listener);
/* An event for the store and all listeners. Listeners may call it, too. */
void sp_agent_event(struct sp_agent *a, const struct sp_store_event *e);

struct sp_store *sp_agent_store(const struct sp_agent *a);
/*
 * The current window of a source, up to now, with names: it comes when these are made, once, from a later turn of the
 * loop, with 0 or a negative errno. The profile is the agent's, and is to be read at once. -ENOENT: no such source.
 * -EAGAIN: names are being made already, and it will not come.
 */
struct sp_agent_asked {
	void (*came)(void *arg, int r, const struct sp_profile *p, const struct sp_store_window *w);
	void *arg;
};
int sp_agent_current(struct sp_agent *a, const char *source, const struct sp_agent_asked *asked);

struct sp_agent_source_status {
	const char *name;
	uint64_t rate_millihertz, wanted_millihertz; /* samples a second and CPU, in thousandths: now; configured */
	uint64_t n_samples, n_complete, n_cut;       /* user stacks since the start */
	uint64_t n_lost;                             /* samples that are in no window: n_lost_full + n_lost_nested */
	uint64_t n_lost_stacks;                      /* stacks that were lost, of samples that were not */
	uint64_t n_folded; /* new stacks above their user's share; who has the most; how many users have any */
	uint64_t folded_uid, n_folded_users;
	uint64_t n_cut_names, cut_names_uid; /* names above their user's share of bytes; whose the last was */
	/* Memory of deleted files that is held for their names; files let go, as that was too much; whose the last was
	 */
	uint64_t deleted_bytes, n_let_go, let_go_uid;
	uint64_t n_lost_full, n_lost_nested;      /* the table of counts was full; nested in another sample */
	uint64_t n_expected, n_taken;             /* ticks of all CPUs: by the clock; received, of idle CPUs, too */
	uint64_t n_windows, n_waiting, n_dropped; /* stored; queued; dropped */
	uint64_t n_renewals, n_files, n_forgotten;
	/*
	 * Parsing that was put off: files and frames without names now, samples stored so; files without tables now,
	 * and ever.
	 */
	uint64_t n_unnamed_files, n_unnamed_frames, n_unnamed_samples, n_tables_later, n_tables_put_off;
	uint64_t n_unfetched;   /* debug files that debuginfod did not give in time, or was not asked for since */
	uint64_t paused_ns;     /* not sampled, by renewals */
	uint64_t profile_bytes; /* strings and stacks, and their numbers */
};
struct sp_agent_status {
	uint64_t started_wall_ns, started_boot_ns;
	unsigned n_cpus;                             /* sampled now */
	unsigned halvings;                           /* of the rate */
	const char *why_halved;                      /* "cpu"; "" = not halved */
	uint64_t cpu_ns, own_ns, workers_ns, bpf_ns; /* CPU time since the start: the sum and its parts */
	uint64_t parsers_ns, service_ns;             /* part of workers_ns; answers, page, alerts */
	int64_t parse_left_ns;                       /* the parse budget (parse_budget.h); < 0: debt */
	uint64_t n_rests;                            /* of those that serve all */
	/* New files that were not looked at, since their user's share was used up; of the user with the most. */
	uint64_t n_refused_files, refused_uid, n_refused_of_uid;
	uint64_t n_late_files; /* how often one took a worker longer than it may, so that names or tables lack */
	const char *late_file; /* the last of them, and what it took; "" = none */
	uint64_t cpu_ppm;      /* of a CPU, over the last minutes; 0 = not known yet */
	uint64_t memory_bytes, peak_bytes; /* now and most, measured each minute: all processes, and BPF */
	uint64_t n_gaps, gap_ns, n_late;   /* gaps and their time; late windows */
	uint64_t unstored_ns;              /* at most: sampled, not stored by the last agent, which was killed */
	uint64_t n_errors;                 /* of sampling, names, labels; all are logged */
	const char *store_error;           /* "" = the store takes windows */
	const char *kernel_failure;        /* why the kernel's functions have no names; "" = they have */
	size_t n_sources;
	struct sp_agent_source_status sources[SP_AGENT_MAX_SOURCES];
};
/* So much CPU time was used for answers by processes that are no workers: it is the agent's, and not sampling's. */
void sp_agent_add_service(struct sp_agent *a, uint64_t cpu_ns);
void sp_agent_status(struct sp_agent *a, struct sp_agent_status *ret_status);
/* Measures at most once a second. The same without measuring, which takes ms: CPU time and memory are those of the last
 * minute. */
void sp_agent_status_last(struct sp_agent *a, struct sp_agent_status *ret_status);

#endif
