/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver_priv.h: the structs of deliver.h. Private to src/agent.
 *
 * deliver.c has the queue of commands and webhooks, and the processes; deliver_manager.c the Alertmanagers;
 * deliver_target.c targets. struct sp_deliver owns everything. One thread. Errors as in deliver.h.
 */
#ifndef SP_AGENT_ALERT_DELIVER_PRIV_H
#define SP_AGENT_ALERT_DELIVER_PRIV_H

#include "agent/alert/deliver.h"
#include "agent/exec/post.h"

enum {
	SP_DELIVER_MANAGER_ALERTS = 2048,
	SP_DELIVER_MANAGERS = 16,
	SP_DELIVER_FIRST_PAUSE_S = 5,
	SP_DELIVER_LAST_PAUSE_S = 300,
	SP_DELIVER_POST_MS = 10000,
	SP_DELIVER_COMMAND_MS = 30000
};

/* A command with its arguments, or a URL. */
struct sp_alert_target {
	char *command[SP_ALERT_ARGS + 1]; /* [0] NULL: it is a URL */
	char *url, *authorization_file, *ca_file;
};
int sp_alert_target_init(struct sp_alert_target *p, const char *const *command, const char *url,
			 const struct sp_alert_targets *to);
void sp_alert_target_done(struct sp_alert_target *p);
bool sp_alert_target_equals(const struct sp_alert_target *a, const struct sp_alert_target *b);
const char *
sp_alert_target_name(const struct sp_alert_target *p); /* for the log: a URL without parts that may be secret */
void sp_alert_target_write(const struct sp_alert_target *p, FILE *out);
int sp_alert_target_read_line(struct sp_alert_target *p,
			      const struct sp_line *l); /* 1: used, 0: not a line of a target */

struct sp_delivery { /* a notification for a command or a webhook */
	struct sp_alert_target target;
	struct sp_notification notification;
	uint64_t queued_ns; /* wall clock */
	uint64_t next_ns;   /* CLOCK_MONOTONIC: not before */
	unsigned n_tries;
	int child; /* the process that delivers it; -1 = none */
};
struct sp_manager_alert { /* the last notification of an alert, for Alertmanagers */
	struct sp_notification notification;
	struct sp_alert_target targets[SP_ALERT_MANAGERS];
	size_t n_targets;
	unsigned unsent;    /* a bit for each target: has not accepted yet that it is resolved */
	unsigned in_flight; /* a bit for each target: is being posted so now */
	uint64_t ended_ns;  /* CLOCK_MONOTONIC */
};
struct sp_manager {
	struct sp_alert_target target;
	uint64_t next_ns; /* CLOCK_MONOTONIC: next post */
	unsigned n_tries; /* failed ones in a row */
	int child;
};

struct sp_deliver {
	int epoll, self;
	struct sp_program children[SP_DELIVER_CHILDREN];
	struct sp_delivery *waiting; /* in order */
	size_t n_waiting, waiting_capacity;
	struct sp_manager_alert *manager_alerts;
	size_t n_manager_alerts, manager_alerts_capacity;
	struct sp_manager managers[SP_DELIVER_MANAGERS];
	size_t n_managers;
	struct sp_delivery reading; /* by sp_deliver_read_line(): the one that is not complete yet */
	bool is_reading;
	uint64_t first_pause_ns, repeat_ns; /* constant but for tests */
	bool is_changed;
	struct sp_deliver_stats stats;
};

uint64_t sp_deliver_pause_ns(const struct sp_deliver *d, unsigned n_tries, uint64_t last_s);
int sp_deliver_find_child(const struct sp_deliver *d); /* a free one, or -1 */
void sp_deliver_watch(struct sp_deliver *d, int child);

/* deliver_manager.c */
void sp_managers_update(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n);
void sp_managers_run(struct sp_deliver *d, uint64_t now_ns);
uint64_t sp_managers_next_ns(const struct sp_deliver *d); /* UINT64_MAX = never */
void sp_managers_finish(struct sp_deliver *d, int child, int status);
void sp_managers_done(struct sp_deliver *d);

#endif
