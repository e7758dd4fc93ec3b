/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver_priv.h: the parts of deliver.h among themselves, private to src/agent: deliver.c has what waits for commands
 * and webhooks, and the processes; deliver_manager.c what Alertmanagers are told; deliver_target.c what a target is.
 * All belongs to one struct sp_deliver, in one thread. Errors as in deliver.h.
 */
#ifndef SP_AGENT_ALERT_DELIVER_PRIV_H
#define SP_AGENT_ALERT_DELIVER_PRIV_H

#include "agent/alert/deliver.h"
#include "agent/exec/post.h"

enum {
	SP_DELIVER_STANDING = 2048,
	SP_DELIVER_MANAGERS = 16,
	SP_DELIVER_FIRST_PAUSE_S = 5,
	SP_DELIVER_LAST_PAUSE_S = 300,
	SP_DELIVER_POST_MS = 10000,
	SP_DELIVER_COMMAND_MS = 30000
};

/* A command with its arguments, or an address. */
struct sp_alert_target {
	char *command[SP_ALERT_ARGS + 1]; /* [0] NULL: it is the address */
	char *url, *authorization_file, *ca_file;
};
int sp_alert_target_init(struct sp_alert_target *p, const char *const *command, const char *url,
			 const struct sp_alert_targets *to);
void sp_alert_target_done(struct sp_alert_target *p);
bool sp_alert_target_is(const struct sp_alert_target *a, const struct sp_alert_target *b);
const char *
sp_alert_target_name(const struct sp_alert_target *p); /* for the log: a URL without what may be secret in it */
void sp_alert_target_write(const struct sp_alert_target *p, FILE *out);
int sp_alert_target_take(struct sp_alert_target *p, const struct sp_line *l); /* 1: taken, 0: none of a target's */

struct sp_delivery { /* a note that waits for a command or a webhook */
	struct sp_alert_target target;
	struct sp_notification note;
	uint64_t queued_ns; /* wall clock */
	uint64_t next_ns;   /* CLOCK_MONOTONIC: not before */
	unsigned n_tries;
	int child; /* that delivers it; -1 = none */
};
struct sp_standing { /* an alert as Alertmanagers know it */
	struct sp_notification note;
	struct sp_alert_target targets[SP_ALERT_MANAGERS];
	size_t n_targets;
	unsigned unsent;    /* a bit for each: it has not been told that this is over */
	unsigned in_flight; /* a bit for each: it is being told so now */
	uint64_t ended_ns;  /* CLOCK_MONOTONIC */
};
struct sp_manager {
	struct sp_alert_target target;
	uint64_t next_ns; /* CLOCK_MONOTONIC: to be told then */
	unsigned n_tries; /* that failed in a row */
	int child;
};

struct sp_deliver {
	int epoll, self;
	struct sp_program children[SP_DELIVER_CHILDREN];
	struct sp_delivery *waiting; /* in order */
	size_t n_waiting, waiting_capacity;
	struct sp_standing *standing;
	size_t n_standing, standing_capacity;
	struct sp_manager managers[SP_DELIVER_MANAGERS];
	size_t n_managers;
	struct sp_delivery taken; /* by sp_deliver_take(): what is not whole yet */
	bool has_taken;
	uint64_t first_pause_ns, repeat_ns; /* fixed but for tests */
	bool is_changed;
	struct sp_deliver_stats stats;
};

uint64_t sp_deliver_pause_ns(const struct sp_deliver *d, unsigned n_tries, uint64_t last_s);
int sp_deliver_child(const struct sp_deliver *d); /* one that is free, or -1 */
void sp_deliver_watch(struct sp_deliver *d, int child);

/* deliver_manager.c */
void sp_managers_tell(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n);
void sp_managers_turn(struct sp_deliver *d, uint64_t now_ns);
uint64_t sp_managers_next_ns(const struct sp_deliver *d); /* UINT64_MAX = never */
void sp_managers_ended(struct sp_deliver *d, int child, int status);
void sp_managers_done(struct sp_deliver *d);

#endif
