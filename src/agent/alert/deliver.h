/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h: delivers notifications of alerts to commands, webhooks and Alertmanagers.
 *
 * A command or webhook gets each notification once, in order for each target. A failed attempt is repeated with growing
 * pauses for SP_DELIVER_KEEP_S. At most SP_DELIVER_MAX wait; beyond that the oldest is dropped. Alertmanagers forget
 * alerts that are not repeated, so they get the state: every SP_DELIVER_REPEAT_S all firing alerts, and resolved ones
 * until they have accepted them. Programs deliver (program.h, post.h), SP_DELIVER_CHILDREN at once, each with a
 * deadline, so nothing blocks: the owner polls sp_deliver_fd() for reading, and calls sp_deliver_run() then and after
 * sp_deliver_timeout_ms(). Notifications and targets are copied. Drops are logged and counted. 0 or a negative errno.
 * One thread.
 */
#ifndef SP_AGENT_ALERT_DELIVER_H
#define SP_AGENT_ALERT_DELIVER_H

#include "agent/alert/notification.h"
#include "agent/config.h"

struct sp_deliver;

enum {
	SP_DELIVER_MAX = 256,
	SP_DELIVER_CHILDREN = 4,
	SP_DELIVER_KEEP_S = 3600,
	SP_DELIVER_REPEAT_S = 60,
	SP_DELIVER_UNTIL_S = 240, /* an Alertmanager forgets an alert after so long without repetition */
};

int sp_deliver_new(struct sp_deliver **ret_deliver);
void sp_deliver_free(struct sp_deliver *d); /* kills running deliveries; the queue is lost unless it was written */

/* is_repeat: only Alertmanagers get it; commands and webhooks had it before. */
void sp_deliver_send(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n,
		     bool is_repeat);

int sp_deliver_fd(const struct sp_deliver *d);
int sp_deliver_timeout_ms(const struct sp_deliver *d);
void sp_deliver_run(struct sp_deliver *d);
/* Whether the queue has changed since the last sp_deliver_write(). */
bool sp_deliver_is_changed(const struct sp_deliver *d);

/* Writes the queue of commands and webhooks as lines; and reads a line: 1 = used, 0 = not one of the queue's. */
void sp_deliver_write(struct sp_deliver *d, FILE *out);
int sp_deliver_read_line(struct sp_deliver *d, const struct sp_line *l);

struct sp_deliver_stats {
	uint64_t n_delivered, n_failed,
	    n_dropped; /* since the start: notifications or posts; attempts; notifications */
	uint64_t n_waiting;
};
void sp_deliver_stats(const struct sp_deliver *d, struct sp_deliver_stats *ret_stats);

#endif
