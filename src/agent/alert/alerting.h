/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alerting.h: the agent's alerts: rules (alert.h), deliveries (deliver.h), and the file that keeps both over restarts.
 *
 * The file is STORE/alerts: firing alerts, and notifications that wait for a command or webhook. It is replaced by
 * rename when either changes. A damaged file is logged and ignored. If a rule is gone at the start, its firing alerts
 * are only logged as resolved; a reload notifies. Each change of an alert makes a line in the log and an event "alert"
 * in the store. Strings of the configuration belong to the caller, and must be valid until the next
 * sp_alerting_configure(). 0 or a negative errno. One thread.
 */
#ifndef SP_AGENT_ALERT_ALERTING_H
#define SP_AGENT_ALERT_ALERTING_H

#include "agent/agent.h"
#include "agent/alert/alert.h"
#include "agent/alert/deliver.h"

struct sp_alerting;

/* Reads the file. agent: gets the events; NULL = none. page: its address, to which alerts lead; "" = none. */
int sp_alerting_new(const struct sp_agent_config *c, struct sp_agent *agent, const char *page,
		    struct sp_alerting **ret_alerting);
void sp_alerting_free(struct sp_alerting *a); /* writes the file */
int sp_alerting_configure(struct sp_alerting *a, const struct sp_agent_config *c);

/* For sp_agent_listen() and sp_agent_watch(). */
struct sp_agent_listener sp_alerting_listener(struct sp_alerting *a);
struct sp_agent_watch sp_alerting_watch(struct sp_alerting *a);

/* For sp_metrics_add(): the families soprof_alert*. */
struct sp_expo;
void sp_alerting_write(void *alerting, struct sp_expo *x);

#endif
