/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliver.h: notes of alerts on their way: to a command, a webhook, Alertmanagers.
 *
 * Commands and webhooks are told each note once, in order for each target: what is not taken is tried again, with
 * longer and longer pauses, for SP_DELIVER_KEEP_S; at most SP_DELIVER_MAX wait, the oldest is dropped. An Alertmanager
 * is told what there is: all that fires, every SP_DELIVER_REPEAT_S, and what is over until it has taken that; it
 * forgets what nobody repeats. All of it happens in processes that are executed (program.h, post.h),
 * SP_DELIVER_CHILDREN at once, each with a deadline, so that the caller never waits: he polls sp_deliver_fd() for
 * reading, and calls sp_deliver_turn() then and when sp_deliver_timeout_ms() is over. Notes and targets are copied.
 * What is dropped is logged and counted. 0 or a negative errno. One thread.
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
	SP_DELIVER_UNTIL_S = 240, /* an Alertmanager keeps an alert for so long that nobody repeats */
};

int sp_deliver_new(struct sp_deliver **ret_deliver);
void sp_deliver_free(struct sp_deliver *d); /* ends what is on its way; what waits is lost if it was not written */

/* is_repeat: commands and webhooks know already; Alertmanagers are told again, at these targets. */
void sp_deliver_tell(struct sp_deliver *d, const struct sp_alert_targets *to, const struct sp_notification *n,
		     bool is_repeat);

int sp_deliver_fd(const struct sp_deliver *d);
int sp_deliver_timeout_ms(const struct sp_deliver *d);
void sp_deliver_turn(struct sp_deliver *d);
/* Whether something has changed since the last sp_deliver_write(). */
bool sp_deliver_is_changed(const struct sp_deliver *d);

/* What waits for commands and webhooks, as lines; and back, a line at a time: 0: it is none of ours. */
void sp_deliver_write(struct sp_deliver *d, FILE *out);
int sp_deliver_take(struct sp_deliver *d, const struct sp_line *l);

struct sp_deliver_stats {
	uint64_t n_delivered, n_failed, n_dropped; /* since the start: notes or posts; attempts; notes never told */
	uint64_t n_waiting;
};
void sp_deliver_stats(const struct sp_deliver *d, struct sp_deliver_stats *ret_stats);

#endif
