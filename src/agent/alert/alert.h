/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alert.h: evaluates the alert rules, window by window.
 *
 * The windows of a rule's `over` are summed, by sampled time. An alert, one per library (function, process, cgroup)
 * that the rule matches, fires when its value was beyond the threshold for all of `for`, and is resolved when it is a
 * tenth back (rules.h). Each change is notified once, also over restarts: firing alerts are written to a file and
 * restored. Time that was not sampled neither fires nor resolves; after a gap longer than `over` the sums begin at
 * zero. With fewer than SP_ALERT_SAMPLES samples a share counts as 0. An upgrade's alert fires by its event, and is
 * resolved after a day. At most SP_ALERT_MAX alerts are watched; more are not, and counted. Strings of the
 * configuration belong to the caller, and must be valid until the next sp_alerts_configure(). 0 or -ENOMEM. One thread.
 */
#ifndef SP_AGENT_ALERT_ALERT_H
#define SP_AGENT_ALERT_ALERT_H

#include "agent/alert/notification.h"
#include "agent/config.h"

struct sp_alerts;
struct sp_profile;

enum { SP_ALERT_MAX = 1024, SP_ALERT_SLOTS = 60, SP_ALERT_SAMPLES = 20, SP_ALERT_UPGRADE_S = 86400 };

/* Called for each change. is_repeat: it was notified before this process started; n is about that alert. */
struct sp_alerts_owner {
	const char *page; /* its address; "" or NULL: none is served */
	void *arg;
	void (*notify)(void *arg, const struct sp_alert_config *c, const struct sp_notification *n, bool is_repeat);
};

int sp_alerts_new(const struct sp_agent_config *c, const struct sp_alerts_owner *owner, struct sp_alerts **ret_alerts);
void sp_alerts_free(struct sp_alerts *a);
/* After a reload. A rule with the same name, text and labels goes on; firing alerts of others are resolved. */
int sp_alerts_configure(struct sp_alerts *a, const struct sp_agent_config *c);

/* Notifies of all firing alerts as repeats, because targets may have changed. */
void sp_alerts_announce(struct sp_alerts *a);

void sp_alerts_window(struct sp_alerts *a, const struct sp_profile *p, const struct sp_store_window *w);
/* For events "change" (upgrade.h). */
void sp_alerts_event(struct sp_alerts *a, const struct sp_store_event *e, uint64_t now_ns);

/*
 * Writes the firing alerts, each from a line "firing" to a line "ready", with a notification between; and restores one,
 * before the first window. -ENOENT: its rule is gone.
 */
void sp_alerts_write(const struct sp_alerts *a, FILE *out);
int sp_alerts_restore(struct sp_alerts *a, const struct sp_notification *n);

struct sp_alerts_stats {
	uint64_t n_rules, n_firing, n_watched; /* now */
	uint64_t n_fired, n_resolved;          /* since the start */
	uint64_t n_unwatched; /* windows in which something could not be watched: SP_ALERT_MAX, or no memory */
};
void sp_alerts_stats(const struct sp_alerts *a, struct sp_alerts_stats *ret_stats);
/* Firing alerts of the rule with this number. */
size_t sp_alerts_firing(const struct sp_alerts *a, size_t rule);

#endif
