/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h: the agent's metrics: CPU time by library and function, quality of sampling, and families of other parts.
 *
 * Fed by windows and events as a listener (agent.h), so sums equal those of the store. What sends them on is no
 * listener: it calls sp_metrics_write() when it needs them (metrics_answer.c, remote_write.c). Others add families by
 * sp_metrics_add(). soprof-metrics(5) describes each family. At most max_series series of libraries and functions
 * (series.h, metrics_room.c); the rest is in library="other". Label values are untrusted (exposition.h). Windows that
 * could not be counted without memory are a metric, too. Strings of the configuration belong to the caller, and must be
 * valid until the next sp_metrics_configure(). 0 or -ENOMEM. One thread.
 */
#ifndef SP_AGENT_EXPORT_METRICS_H
#define SP_AGENT_EXPORT_METRICS_H

#include "agent/agent.h"
#include "agent/export/exposition.h"

struct sp_metrics;
struct sp_agent_config;

int sp_metrics_new(const struct sp_agent_config *c, struct sp_metrics **ret_metrics);
void sp_metrics_free(struct sp_metrics *m);
/* After a reload: takes functions and a larger limit; metrics_by and a smaller limit are ignored. */
void sp_metrics_configure(struct sp_metrics *m, const struct sp_agent_config *c);

/* For sp_agent_listen(). */
struct sp_agent_listener sp_metrics_listener(struct sp_metrics *m);

/* `write` is called whenever the metrics are written. At most SP_METRICS_MAX_OTHERS. */
enum { SP_METRICS_MAX_OTHERS = 8 };
int sp_metrics_add(struct sp_metrics *m, void (*write)(void *arg, struct sp_expo *x), void *arg);

/* Writes all families. The caller sets form, page, at_ms and external, and calls sp_expo_done() in any case. */
int sp_metrics_write(struct sp_metrics *m, struct sp_expo *x);

/* metrics_answer.c: answers /metrics; the form is by format=text or format=openmetrics in the query, else by Accept. */
struct sp_http_request;
void sp_metrics_answer(struct sp_metrics *m, struct sp_http_request *q, const char *scheme); /* "http", "https" */

/* metrics_own.c: the agent's own use, samples, windows and store; `own` is the arg of sp_metrics_add(). */
struct sp_metrics_own {
	struct sp_agent *agent;
	const struct sp_server *server; /* NULL: none */
	const struct sp_page *page;     /* NULL: none */
	const struct sp_agent_config *config;
	struct sp_store_stats store; /* read at stats_ns: reading opens all files */
	uint64_t stats_ns;
};
void sp_metrics_own_write(void *own, struct sp_expo *x);

#endif
