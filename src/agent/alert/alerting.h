/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alerting.h: the agent's alerts as a whole: rules judged window by window (alert.h), notes on their way (deliver.h),
 * and the file in which both outlive the agent.
 *
 * The file is STORE/alerts: what fires, and what waits for a command or a webhook; written anew, and renamed into its
 * place, when either changes. A file that is damaged is told in the log and passed over. Of rules that are gone at a
 * start what fires is over, and told in the log alone; a reload tells all. A line in the log, and an event "alert" of
 * the store, is made of each alert that begins or ends. The configuration's strings are the caller's, and stay until
 * sp_alerting_configure(). 0 or a negative errno. One thread.
 */
#ifndef SP_AGENT_ALERT_ALERTING_H
#define SP_AGENT_ALERT_ALERTING_H

#include "agent/agent.h"
#include "agent/alert/alert.h"
#include "agent/alert/deliver.h"

struct sp_alerting;

/* Reads the file. agent: that samples, and gets the events; NULL = none are made. */
int sp_alerting_new(const struct sp_agent_config *c, struct sp_agent *agent, struct sp_alerting **ret_alerting);
void sp_alerting_free(struct sp_alerting *a); /* writes the file */
int sp_alerting_configure(struct sp_alerting *a, const struct sp_agent_config *c);

/* To be given to sp_agent_listen() and sp_agent_watch(). */
struct sp_agent_listener sp_alerting_listener(struct sp_alerting *a);
struct sp_agent_watch sp_alerting_watch(struct sp_alerting *a);

struct sp_alerting_stats {
	struct sp_alerts_stats alerts;
	struct sp_deliver_stats deliver;
};
void sp_alerting_stats(const struct sp_alerting *a, struct sp_alerting_stats *ret_stats);

/* For sp_metrics_add(): the families soprof_alert*. */
struct sp_expo;
void sp_alerting_write(void *alerting, struct sp_expo *x);

#endif
