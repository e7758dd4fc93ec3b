/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h: what the agent counts for Prometheus and others: CPU time by library and function, and how well it
 * samples.
 *
 * Fed by windows and events as a listener (agent.h), so that sums are those of the store; others add families of their
 * own (sp_metrics_add). soprof-metrics(5) tells of each family. Bounded (series.h): max_series lines of libraries and
 * functions; what is beyond goes to library="other". Labels are of any origin (exposition.h). A window that could not
 * be counted for want of memory is told in a metric. The configuration's strings are the caller's, and stay until
 * sp_metrics_configure(). 0 or -ENOMEM. One thread.
 */
#ifndef SP_AGENT_EXPORT_METRICS_H
#define SP_AGENT_EXPORT_METRICS_H

#include "agent/agent.h"
#include "agent/export/exposition.h"

struct sp_metrics;
struct sp_agent_config;

int sp_metrics_new(const struct sp_agent_config *c, struct sp_metrics **ret_metrics);
void sp_metrics_free(struct sp_metrics *m);
/* After a reload: functions, and a larger bound; whose time it is (metrics_by) and a smaller one stay as they are. */
void sp_metrics_configure(struct sp_metrics *m, const struct sp_agent_config *c);

/* To be given to sp_agent_listen(). */
struct sp_agent_listener sp_metrics_listener(struct sp_metrics *m);

/* Asked for its families whenever the metrics are. At most SP_METRICS_MAX_OTHERS. */
enum { SP_METRICS_MAX_OTHERS = 8 };
int sp_metrics_add(struct sp_metrics *m, void (*write)(void *arg, struct sp_expo *x), void *arg);

/* All of it: form, page, at_ms and external are set by the caller, who calls sp_expo_done() in any case. */
int sp_metrics_write(struct sp_metrics *m, struct sp_expo *x);

/* metrics_answer.c: answers a request for them. format=text or format=openmetrics in its query, or what it accepts. */
struct sp_http_request;
void sp_metrics_answer(struct sp_metrics *m, struct sp_http_request *q, const char *scheme); /* "http", "https" */

/* metrics_own.c: the agent's own use, its samples, windows and store; to be added with this as arg. */
struct sp_metrics_own {
	struct sp_agent *agent;
	const struct sp_server *server; /* NULL: none */
	const struct sp_page *page;     /* NULL: none */
	const struct sp_agent_config *config;
	struct sp_store_stats store; /* as they were at looked_ns: each look opens all files */
	uint64_t looked_ns;
};
void sp_metrics_own_write(void *own, struct sp_expo *x);

#endif
