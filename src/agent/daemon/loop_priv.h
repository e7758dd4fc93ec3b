/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_priv.h: the agent itself: its clocks, windows, watches and limits. Private to src/agent.
 *
 * loop.c polls and ends windows; gaps.c tells what became of the time, and of CPUs, as events; self.c looks at what the
 * agent uses itself. All belongs to one struct sp_agent, which sp_agent_free() takes apart; one thread. Functions that
 * return nothing cannot fail: what they could not do is logged, counted, or waits (window_queue.h).
 */
#ifndef SP_AGENT_DAEMON_LOOP_PRIV_H
#define SP_AGENT_DAEMON_LOOP_PRIV_H

#include "agent/agent.h"
#include "agent/daemon/clock.h"
#include "agent/daemon/limits.h"
#include "agent/daemon/parse_budget.h"
#include "agent/daemon/sampler.h"
#include "worker/worker.h"

enum { SP_MAX_CPUS = 4096 };

struct sp_time_span { /* a state of things that is told when it is over */
	bool is_on;
	uint64_t from_ns; /* wall clock */
};

struct sp_agent {
	struct sp_sampler_env env;
	struct sp_agent_config config; /* its strings are the caller's */
	struct sp_sampler samplers[SP_AGENT_MAX_SOURCES];
	size_t n_samplers;
	struct sp_agent_watch watches[SP_AGENT_MAX_WATCHES];
	size_t n_watches;
	int epoll, window_timer, step_timer; /* timerfds: of CLOCK_BOOTTIME; told when the wall clock is set */
	bool is_stopping, is_serving;
	struct sp_clock began, looked;    /* of the window; the last look */
	uint64_t suspended_ns;            /* in this window */
	uint64_t window_ns, ends_boot_ns; /* how long it is to be, and when it is to end */
	unsigned n_failed, n_odd;         /* windows in a row that could not be ended; steps that failed in this one */
	struct sp_limits limits;
	struct sp_parse_budget parse_budget;
	struct sp_workers_stats workers_seen;
	bool is_short;           /* parsing is put off, which was told */
	uint64_t self_looked_ns; /* CLOCK_MONOTONIC */
	struct sp_time_span cpu_away[SP_MAX_CPUS];
	struct sp_time_span starved; /* samples stay away */
	struct sp_agent_status status;
};

/* gaps.c */
void sp_gap(struct sp_agent *a, uint64_t from_ns, uint64_t to_ns, const char *subject, const char *text);
void sp_gap_since_last(struct sp_agent *a); /* since the store's last window */
void sp_gap_clocks(struct sp_agent *a, const struct sp_clock *now, const struct sp_clock_change *change);
void sp_gap_late(struct sp_agent *a, const struct sp_clock *now);
void sp_gap_samples(struct sp_agent *a, const struct sp_clock *now); /* after the windows of all samplers */
void sp_gap_cpu(void *agent, unsigned cpu, bool is_online);
void sp_gap_end(struct sp_agent *a); /* what still lasts */
void sp_event(struct sp_agent *a, uint64_t from_ns, uint64_t to_ns, const char *kind, const char *subject,
	      const char *data, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* self.c: once a minute. */
void sp_self_look(struct sp_agent *a, const struct sp_clock *now);
/* From here on the CPU's limit is for what is used. */
void sp_self_begin(struct sp_agent *a, const struct sp_clock *now);
/* Whether a file with so many samples may be parsed now. */
bool sp_self_may_parse(void *agent, uint64_t n_samples);

#endif
