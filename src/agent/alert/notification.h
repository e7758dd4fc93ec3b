/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notification.h: a notification: that an alert fires, or that it is resolved; and its forms for receivers.
 *
 * It owns its text, so that it can wait for delivery and be written to a file while rules change and the agent
 * restarts. Labels: alertname, instance (the machine's name), what the alert is about, and those of the rule; a value
 * has at most SP_NOTIFICATION_VALUE bytes, cut between characters. Names of libraries and processes are untrusted, so
 * each form encodes them. soprof-alerts(5) describes the forms. 0 or a negative errno; -EBADMSG for invalid lines. One
 * thread.
 */
#ifndef SP_AGENT_ALERT_NOTIFICATION_H
#define SP_AGENT_ALERT_NOTIFICATION_H

#include "agent/config.h"
#include "agent/request.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SP_NOTIFICATION_LABELS = SP_ALERT_LABELS + 8, SP_NOTIFICATION_VALUE = 250, SP_NOTIFICATION_SUMMARY = 512 };

struct sp_json;

struct sp_notification {
	bool is_over;
	char *name, *rule;
	char *label_names[SP_NOTIFICATION_LABELS], *label_values[SP_NOTIFICATION_LABELS];
	size_t n_labels;
	double value, threshold;
	uint64_t starts_ns, ends_ns; /* wall clock; ends_ns 0 = fires */
	char *summary;
	char *url; /* of the page, at the rule's range; NULL: no page is served */
};

size_t sp_notification_cut(const char *text, size_t len); /* how many bytes of it a label's value may have */
int sp_notification_init(struct sp_notification *n, const struct sp_alert_config *c);
int sp_notification_label(struct sp_notification *n, const char *name,
			  const char *value); /* ignores "", and a name that is there */
int sp_notification_summary(struct sp_notification *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* page: its address, with the slash at the end; over_ns: the time that the rule looks at. */
int sp_notification_link(struct sp_notification *n, const char *page, uint64_t over_ns);
int sp_notification_copy(const struct sp_notification *from, struct sp_notification *ret_notification);
void sp_notification_done(struct sp_notification *n);
bool sp_notification_is_same_alert(const struct sp_notification *a,
				   const struct sp_notification *b); /* whether all labels are equal */

/* One JSON object for a webhook, and for the standard input of a command. */
void sp_notification_json(const struct sp_notification *n, FILE *out);
/* One object of Alertmanager's /api/v2/alerts; until_ns: when it forgets the alert unless it is repeated. */
void sp_notification_alertmanager(const struct sp_notification *n, uint64_t until_ns, struct sp_json *j);
/* SOPROF_ALERT_* and some of our own environment; ends with NULL. */
char **sp_notification_environment(const struct sp_notification *n);
void sp_notification_environment_free(char **environment);

/* Writes lines of words (request.h); and reads a line: 1 = used, 0 = not one of a notification. */
void sp_notification_write(const struct sp_notification *n, FILE *out);
int sp_notification_read_line(struct sp_notification *n, const struct sp_line *l);

#endif
