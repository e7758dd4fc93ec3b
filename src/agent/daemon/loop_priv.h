/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop_priv.h: struct sp_agent, and the functions that its files share. Private to src/agent.
 *
 * loop.c is the event loop and ends windows; watches.c calls what takes part in the loop; gaps.c makes events of time
 * that was not sampled; usage.c measures the agent itself and adjusts the rate. struct sp_agent owns everything until
 * sp_agent_free(); one thread. Functions without a result cannot fail: errors are logged and counted, or the work waits
 * (window_queue.h).
 */
#ifndef SP_AGENT_DAEMON_LOOP_PRIV_H
#define SP_AGENT_DAEMON_LOOP_PRIV_H

#include "agent/agent.h"
#include "agent/daemon/clock.h"
#include "agent/daemon/limits.h"
#include "agent/daemon/pace.h"
#include "agent/daemon/parse_budget.h"
#include "agent/daemon/sampler.h"
#include "agent/daemon/user_budget.h"
#include "worker/worker.h"

enum { SP_MAX_CPUS = 4096 };

struct sp_time_span { /* a state that is reported when it is over */
	bool is_on;
	uint64_t from_ns; /* wall clock */
};

struct sp_agent {
	struct sp_sampler_env env;
	struct sp_agent_config config; /* strings are the caller's */
	struct sp_sampler samplers[SP_AGENT_MAX_SOURCES];
	size_t n_samplers;
	struct sp_agent_watch watches[SP_AGENT_MAX_WATCHES];
	size_t n_watches;
	int epoll, window_timer, step_timer; /* timerfds: the window's end, by CLOCK_BOOTTIME; set of the wall clock */
	bool is_stopping, is_alone;          /* told to; its broker was killed */
	uint64_t close_by_ns;                /* CLOCK_MONOTONIC: for sp_store_close_by() */
	int failure;                         /* that ended the loop */
	bool is_flushing;                    /* windows that have ended are on their way to the store */
	int flush_result;
	struct sp_clock window_began, last_clock;  /* start of the window; last reading of the clocks */
	uint64_t suspended_ns;                     /* within this window */
	uint64_t window_ns, window_end_boot_ns;    /* its wanted length, and when it is to end */
	unsigned n_failed_windows, n_failed_steps; /* windows that failed in a row; steps that failed in this window */
	struct sp_limits limits;
	struct sp_parse_budget parse_budget;
	struct sp_pace pace;
	struct sp_user_budget user_budget;
	struct sp_workers_stats workers_seen;
	bool is_parsing_put_off; /* parsing is put off, and the log says so */
	uint64_t checked_ns;     /* CLOCK_MONOTONIC: the limits, */
	uint64_t measured_ns;    /* CPU time and memory */
	uint64_t answers_ns;     /* CPU time of processes that answered */
	struct sp_time_span cpu_away[SP_MAX_CPUS];
	struct sp_time_span starved; /* too few samples come */
	struct sp_agent_status status;
};

/* loop.c */
int sp_loop_watch_fd(struct sp_agent *a, int fd); /* polled for reading */

/* watches.c */
struct epoll_event;
void sp_watches_serve(struct sp_agent *a, const struct epoll_event *events, int n);
int sp_watches_timeout_ms(const struct sp_agent *a, int ms); /* ms, or sooner */
void sp_watches_serve_nobody(struct sp_agent *a);

/* gaps.c */
void sp_gap_check_start(struct sp_agent *a); /* since the store's last window */
void sp_gap_check_clocks(struct sp_agent *a, const struct sp_clock *now, const struct sp_clock_change *change);
void sp_gap_check_late(struct sp_agent *a, const struct sp_clock *now);
void sp_gap_check_samples(struct sp_agent *a, const struct sp_clock *now); /* after all samplers' windows */
void sp_gap_cpu_changed(void *agent, unsigned cpu, bool is_online);
void sp_gap_end(struct sp_agent *a); /* reports CPUs that are still offline */
void sp_loop_add_event(struct sp_agent *a, uint64_t from_ns, uint64_t to_ns, const char *kind, const char *subject,
		       const char *data, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* usage.c: measures once a minute, and adjusts the rate. */
void sp_own_usage_check(struct sp_agent *a, const struct sp_clock *now);
/* From here on CPU time counts against the limit. */
void sp_own_usage_start(struct sp_agent *a, const struct sp_clock *now);
/* Whether a user's file with so many samples may be parsed now, which is then expected to cost as so many bytes do. */
bool sp_own_usage_may_parse(void *agent, uint32_t uid, uint64_t n_samples, uint64_t bytes);
/* What users may have of the workers; its arg is the agent. */
extern const struct sp_capture_users sp_own_usage_users;
void sp_own_usage_limit(struct sp_agent *a, uint64_t max_cpu_ppm);
void sp_own_usage_report_refused(struct sp_agent *a);

#endif
