/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote_write.h: sends the metrics to Prometheus remote write receivers, for machines that cannot be scraped.
 *
 * Each target gets all metrics at its interval; a process posts them (post.h). Messages that cannot be sent are queued,
 * at most SP_REMOTE_BYTES per target; then the oldest are dropped and counted. Retries wait 1 s, then twice as long up
 * to a minute. Messages that the target refuses (4xx) are dropped and counted. The first failure and the first success
 * after it are logged; sp_remotes_write() writes metrics about each target. The owner polls sp_remotes_fd() for
 * reading, and calls sp_remotes_dispatch() then and after sp_remotes_timeout_ms(). Strings of the configuration belong
 * to the caller, and must be valid until the next sp_remotes_configure(). 0 or a negative errno. One thread. Source:
 * the remote write specification 1.0.
 */
#ifndef SP_AGENT_EXPORT_REMOTE_WRITE_H
#define SP_AGENT_EXPORT_REMOTE_WRITE_H

#include "agent/config.h"
#include "agent/export/metrics.h"

struct sp_remotes;

#define SP_REMOTE_BYTES (2U << 20)

int sp_remotes_new(const struct sp_agent_config *c, struct sp_metrics *m, struct sp_remotes **ret_remotes);
void sp_remotes_free(struct sp_remotes *r); /* drops the queues */
/* Targets with the same URL keep their queue. */
int sp_remotes_configure(struct sp_remotes *r, const struct sp_agent_config *c);

int sp_remotes_fd(const struct sp_remotes *r);
int sp_remotes_timeout_ms(void *remotes); /* -1 = none */
void sp_remotes_dispatch(void *remotes);

/* For sp_metrics_add(). */
void sp_remotes_write(void *remotes, struct sp_expo *x);

/* A target's name: its URL without user and query. */
void sp_remote_name(const char *url, char *ret_name, size_t size);

#endif
