/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h: one source of the agent: its capture session, the profile of its windows, and their way to the store.
 *
 * The end of a window: samples are drained into the profile, rows of excluded processes are removed, and the rows are
 * queued (window_queue.h). A flush: new functions get names, new cgroups and packages labels, and the queue goes to the
 * store. That may take seconds, in which the loop goes on, calls sp_sampler_work() each time it comes round, and more
 * windows may end. Renewal: when the profile or the open files exceed their budget, or few file ids are left, the end
 * of a window closes the profile, too, and the flush puts a fresh one in its place. It is put off while something waits
 * for an unwind table or the store, but not at twice the budget or with 1/8 of the ids left: then windows that the
 * store has not taken are dropped. The sampler owns everything but struct sp_sampler_env. Failed names and labels are
 * logged and counted; functions return 0 or a negative errno of sampling itself. One thread.
 */
#ifndef SP_AGENT_DAEMON_SAMPLER_H
#define SP_AGENT_DAEMON_SAMPLER_H

#include "agent/agent.h"
#include "agent/daemon/clock.h"
#include "agent/daemon/unnamed.h"
#include "agent/daemon/window_queue.h"
#include "agent/listener.h"
#include "agent/upgrade/upgrade.h"
#include "capture/capture.h"
#include "capture/users.h"
#include "naming/enrich.h"
#include "naming/naming.h"
#include "symbol/symbol.h"
#include <stdio.h>

struct sp_broker;
struct sp_recipe;
struct sp_workers;

/* Shared by all samplers. */
struct sp_sampler_env {
	const struct sp_agent_config *config;
	struct sp_broker *broker;
	struct sp_workers *workers;
	FILE *kallsyms; /* opened before privileges were dropped; NULL = failed */
	struct sp_store *store;
	struct sp_listeners listeners;
	struct sp_event_queue events;
	struct sp_upgrades upgrades;
	struct sp_enrich_pace cgroups_pace;
	unsigned *cpus;
	size_t n_cpus;     /* at the start */
	unsigned n_online; /* of them, now */
	size_t max_files;  /* open files of a sampler */
	uint64_t n_errors;
	void (*cpu_changed)(void *arg, unsigned cpu, bool is_online);
	/* Whether a user's file with so many samples may be parsed now. */
	bool (*may_parse)(void *arg, uint32_t uid, uint64_t n_samples, uint64_t bytes);
	struct sp_capture_users users;
	void *arg;
	uint64_t give_up_ns;     /* CLOCK_MONOTONIC: from then on no names; 0 = never */
	uint64_t latest_wall_ns; /* latest end of a window */
	unsigned n_set_back;     /* how often the clock was set back */
};

struct sp_sampler {
	struct sp_sampler_env *env;
	const struct sp_recipe *recipe;
	char *event; /* NULL = the recipe's */
	struct sp_capture *capture;
	struct sp_profile *profile;
	struct sp_naming naming;
	struct sp_enrich_walk cgroups_walk;
	struct sp_window_queue queue;
	struct sp_clock window_began; /* of the window */
	uint64_t paused_ns;           /* not sampled within the window: the last renewal */
	uint64_t before[SP_N_COUNTERS], lost_before, unsampled_before;
	uint64_t rate_millihertz, wanted_millihertz;
	uint64_t rate_since_ns;    /* CLOCK_BOOTTIME: when the rate was set */
	double rate_millihertz_ns; /* sum of rate × time in this window before that */
	uint64_t labelled_ns;      /* CLOCK_BOOTTIME: last search for packages */
	struct sp_unnamed unnamed;
	uint64_t n_folded_logged;                    /* users whose stacks above their share were logged */
	unsigned n_cut_users_logged;                 /* the same of names */
	uint64_t n_let_go_logged, let_go_uid_logged; /* deleted files that were let go, as far as logged */
	bool is_kernel_unnamed;                      /* its functions: logged */
	uint64_t n_unnamed_counted;                  /* windows that were counted for unnamed samples */
	bool wants_renewal;                          /* memory is short */
	uint64_t names_since_ns;                     /* CLOCK_BOOTTIME: age of the profile's names */
	bool is_closed, is_last;                     /* the profile takes nothing more; and no other follows */
	bool is_naming, is_flush_wanted;
	bool is_labelling;             /* part of naming: the functions have names */
	unsigned n_rounds;             /* of naming, in this flush */
	const char *fetch_failure;     /* of naming, already logged */
	uint64_t n_seen_pushed;        /* windows that had ended when the last one began */
	struct sp_agent_asked current; /* requests that wait for the current window */
	double expected, taken;        /* ticks of the last window */
	struct sp_agent_source_status status;
};

int sp_sampler_new(struct sp_sampler_env *env, const struct sp_agent_source *source, struct sp_sampler *s);
int sp_sampler_start(struct sp_sampler *s, const struct sp_clock *now);
int sp_sampler_step(struct sp_sampler *s);
uint64_t sp_sampler_next_ns(const struct sp_sampler *s); /* CLOCK_MONOTONIC: when the next step is due */
/* Ends the window and begins the next. suspended_ns: part of its time. is_last: no window follows. */
int sp_sampler_end_window(struct sp_sampler *s, const struct sp_clock *now, uint64_t suspended_ns, bool is_last);
bool sp_sampler_is_full(const struct sp_sampler *s, const struct sp_clock *now);
/* Has names made, what is queued stored, and the profile renewed if it is closed: by sp_sampler_work(). */
void sp_sampler_flush(struct sp_sampler *s);
/* Tells `asked` the rows since the window began, once they have names. -EAGAIN: names are being searched already. */
int sp_sampler_current(struct sp_sampler *s, const struct sp_agent_asked *asked);
/* Goes on with both: as far as workers have answered. */
int sp_sampler_work(struct sp_sampler *s);
bool sp_sampler_is_working(const struct sp_sampler *s);
int sp_sampler_set_rate(struct sp_sampler *s, uint64_t wanted_millihertz, unsigned halvings);
struct sp_capture_stats sp_sampler_measure(struct sp_sampler *s); /* measures BPF run time and memory, too */
const struct sp_agent_source_status *sp_sampler_status(struct sp_sampler *s);
void sp_sampler_log_lacks(struct sp_sampler *s, const struct sp_capture_stats *stats); /* what has no names, and why */
void sp_sampler_done(struct sp_sampler *s);

#endif
