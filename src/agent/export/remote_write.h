/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remote_write.h: the metrics sent to Prometheus's remote write receivers, for machines that nobody can scrape.
 *
 * Each target gets all metrics at its interval, posted by a process (post.h) while the loop goes on. What cannot be
 * sent waits, at most SP_REMOTE_BYTES a target, the oldest goes first and is counted; it is tried again after 1 s, then
 * twice as long up to a minute. What the target refuses for itself (4xx) is dropped and counted. The first failure and
 * the first success after it are logged. Families of its own tell of each target (sp_remotes_write). The owner polls
 * sp_remotes_fd() for reading, calls sp_remotes_dispatch() then and when sp_remotes_timeout_ms() is over. Strings of
 * the configuration stay the caller's until the next sp_remotes_configure(). 0 or a negative errno. One thread.
 * Source: the remote write specification 1.0.
 */
#ifndef SP_AGENT_EXPORT_REMOTE_WRITE_H
#define SP_AGENT_EXPORT_REMOTE_WRITE_H

#include "agent/config.h"
#include "agent/export/metrics.h"

struct sp_remotes;

#define SP_REMOTE_BYTES (2U << 20)

int sp_remotes_new(const struct sp_agent_config *c, struct sp_metrics *m, struct sp_remotes **ret_remotes);
void sp_remotes_free(struct sp_remotes *r); /* what waits is dropped */
/* Targets of the same URL keep what waits for them. */
int sp_remotes_configure(struct sp_remotes *r, const struct sp_agent_config *c);

int sp_remotes_fd(const struct sp_remotes *r);
int sp_remotes_timeout_ms(void *remotes); /* -1 = nothing waits */
void sp_remotes_dispatch(void *remotes);

/* For sp_metrics_add(). */
void sp_remotes_write(void *remotes, struct sp_expo *x);

/* How a target is called: its URL without user and query. */
void sp_remote_name(const char *url, char *ret_name, size_t size);

#endif
