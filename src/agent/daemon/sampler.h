/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h: one source of the agent: its capture session, the profile that its windows go through, and their way to
 * the store.
 *
 * A window's end: what was sampled is drained into the profile, excluded processes are taken out, and the rows wait.
 * Settling: new functions get their names, new cgroups and packages their labels, and what waits goes to the store
 * (window_queue.h). That may take its time, in which the loop goes on (env->meanwhile), windows end, and wait, too.
 * When the profile, or the files, have grown beyond their budget, and nothing waits for a table or for the store, the
 * window's end is also the profile's: a fresh one takes its place when it is settled. Everything belongs to the sampler
 * but what struct sp_sampler_env names. Failures of names and labels cost these, are logged and counted; 0 or a
 * negative errno of sampling itself. One thread.
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
#include "naming/naming.h"
#include "symbol/symbol.h"
#include <stdio.h>

struct sp_broker;
struct sp_recipe;
struct sp_workers;

/* What samplers share. */
struct sp_sampler_env {
	const struct sp_agent_config *config;
	struct sp_broker *broker;
	struct sp_workers *workers;
	FILE *kallsyms; /* opened while addresses were shown; NULL: not */
	struct sp_store *store;
	struct sp_listeners listeners;
	struct sp_event_queue events;
	struct sp_upgrades upgrades;
	unsigned *cpus;
	size_t n_cpus;     /* that there were at the beginning */
	unsigned n_online; /* of those that are sampled, now */
	size_t max_files;  /* that may be kept open */
	uint64_t n_errors;
	void (*cpu_changed)(void *arg, unsigned cpu, bool is_online);
	void (*meanwhile)(void *arg);                     /* a turn of the loop, while names are waited for */
	bool (*may_parse)(void *arg, uint64_t n_samples); /* a file with so many of them; or it waits */
	void *arg;
	bool is_settling;
	uint64_t give_up_ns;     /* CLOCK_MONOTONIC: no names are asked for from then on; 0 = never */
	uint64_t latest_wall_ns; /* that a window ended at */
	unsigned n_set_back;     /* how often the clock was */
};

struct sp_sampler {
	struct sp_sampler_env *env;
	const struct sp_recipe *recipe;
	char *event; /* NULL = the recipe's */
	struct sp_capture *capture;
	struct sp_profile *profile;
	struct sp_naming naming;
	struct sp_namer namer;
	struct sp_window_queue queue;
	struct sp_clock began; /* of the window */
	uint64_t paused_ns;    /* of its time not sampled: the last renewal's */
	uint64_t before[SP_N_COUNTERS], lost_before, unsampled_before;
	uint64_t rate_mhz, wanted_mhz;
	uint64_t rated_ns; /* CLOCK_BOOTTIME: the rate is that since then, and in the window's time before it was ... */
	double rate_ns;    /* ... in all so much: rates by how long they were */
	uint64_t labelled_ns; /* when packages were looked for last */
	struct sp_unnamed unnamed;
	uint64_t n_looked;       /* of the windows in the queue, for samples without names */
	bool wants_renewal;      /* somebody asks for memory */
	uint64_t names_ns;       /* since when the profile has its names */
	bool is_closed, is_last; /* the profile takes nothing more; and no other comes behind it */
	double expected, taken;  /* of the window that ended last: ticks */
	struct sp_agent_source_status status;
};

int sp_sampler_new(struct sp_sampler_env *env, const struct sp_agent_source *source, struct sp_sampler *s);
int sp_sampler_start(struct sp_sampler *s, const struct sp_clock *now);
int sp_sampler_step(struct sp_sampler *s);
uint64_t sp_sampler_next_ns(const struct sp_sampler *s); /* CLOCK_MONOTONIC: when it wants its next step */
/* Ends the window and begins the next. suspended_ns: of its time. is_last: nothing comes behind it. */
int sp_sampler_window(struct sp_sampler *s, const struct sp_clock *now, uint64_t suspended_ns, bool is_last);
bool sp_sampler_is_full(const struct sp_sampler *s, const struct sp_clock *now);
/* After it: names, the store, another profile. Not from within env->meanwhile. */
int sp_sampler_settle(struct sp_sampler *s);
/* The rows so far, with names, the window going on. -EAGAIN: names are being asked for right now. */
int sp_sampler_current(struct sp_sampler *s, const struct sp_clock *now, struct sp_store_window *ret_window);
int sp_sampler_rate(struct sp_sampler *s, uint64_t wanted_mhz, unsigned halvings);
struct sp_capture_stats sp_sampler_use(struct sp_sampler *s); /* its run time and memory among them */
const struct sp_agent_source_status *sp_sampler_status(struct sp_sampler *s);
void sp_sampler_done(struct sp_sampler *s);

#endif
