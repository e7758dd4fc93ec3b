/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alert.h: which alerts fire, window by window, by the rules of the configuration.
 *
 * Windows of a rule's `over` are taken together, by the time that was sampled in them; the rule's alert of a library (a
 * function, a process, a cgroup) fires when the threshold is passed for all of `for`, and is over when the value is a
 * tenth back from the threshold (rules.h). Each is told once, over restarts, too: what fires is written down and read
 * back. Time that was not sampled is no evidence: nothing fires and nothing ends by it; after more of it than `over`,
 * evaluation begins anew. Fewer than SP_ALERT_SAMPLES samples say nothing of a share: it counts as 0 then. An upgrade's
 * alert fires by the event, and is over after a day. At most SP_ALERT_MAX things are watched at once: what is new
 * beyond them is not, and counted. The configuration's strings are the caller's, and stay until sp_alerts_configure().
 * 0 or -ENOMEM. One thread.
 */
#ifndef SP_AGENT_ALERT_ALERT_H
#define SP_AGENT_ALERT_ALERT_H

#include "agent/alert/notification.h"
#include "agent/config.h"

struct sp_alerts;
struct sp_profile;

enum { SP_ALERT_MAX = 1024, SP_ALERT_SLOTS = 60, SP_ALERT_SAMPLES = 20, SP_ALERT_UPGRADE_S = 86400 };

/* Who is told. is_repeat: it was told before this process began; the note is only who it is about. */
struct sp_alerts_owner {
	void *arg;
	void (*tell)(void *arg, const struct sp_alert_config *c, const struct sp_notification *note, bool is_repeat);
};

int sp_alerts_new(const struct sp_agent_config *c, const struct sp_alerts_owner *owner, struct sp_alerts **ret_alerts);
void sp_alerts_free(struct sp_alerts *a);
/* After a reload: rules that have their name, text and labels still go on; what fires of others is over. */
int sp_alerts_configure(struct sp_alerts *a, const struct sp_agent_config *c);

/* Tells anew who fires (is_repeat): where it is to be told may have changed. */
void sp_alerts_announce(struct sp_alerts *a);

void sp_alerts_window(struct sp_alerts *a, const struct sp_profile *p, const struct sp_store_window *w);
/* An event "change" (upgrade.h). */
void sp_alerts_event(struct sp_alerts *a, const struct sp_store_event *e, uint64_t now_ns);

/* What fires, as lines from "firing" to "ready", notes (notification.h) between; and one of them back, before the first
 * window: -ENOENT: no such rule any more.
 */
void sp_alerts_write(const struct sp_alerts *a, FILE *out);
int sp_alerts_restore(struct sp_alerts *a, const struct sp_notification *n);

struct sp_alerts_stats {
	uint64_t n_rules, n_firing, n_watched; /* now */
	uint64_t n_fired, n_resolved;          /* since the start */
	uint64_t n_unwatched;                  /* windows in which something had no room; or no memory */
};
void sp_alerts_stats(const struct sp_alerts *a, struct sp_alerts_stats *ret_stats);
/* How many of the rule with this number fire. */
size_t sp_alerts_firing(const struct sp_alerts *a, size_t rule);

#endif
