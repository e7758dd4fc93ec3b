/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * senders.h: has what is new in the agent's store sent to all receivers that are configured: a fleet's ClickHouse
 * server (fleet/send.h), Pyroscope, and one that takes OTLP (push.h).
 *
 * A process does it for each, once in each interval of the resolution, at most once a minute: this program, executed
 * again (send_child.h), which reads the agent's own store and has nothing else of the agent. Where it computes for
 * long, the day's names being many, it is less often: for a fleet it takes 0.05 % of a CPU at most, but sends at least
 * each ten minutes; for the others 0.2 %, and five minutes. Secrets and addresses come to it on standard input. A
 * failure is logged once, and tried again after 10 s, then twice as long up to five minutes, or as its answer wishes
 * (up to an hour); so is an answer that takes longer than 10 s, while it is waited for; that something is refused,
 * which is not tried again, is logged once, too. Hosts send at different moments of the interval. The owner polls
 * sp_senders_fd() for reading, and calls sp_senders_dispatch() then and after sp_senders_timeout_ms(). Strings of the
 * configuration belong to the caller, and must be valid until the next sp_senders_configure(). 0 or a negative errno.
 * One thread.
 */
#ifndef SP_AGENT_EXPORT_SENDERS_H
#define SP_AGENT_EXPORT_SENDERS_H

#include "agent/config.h"
#include "agent/export/metrics.h"

struct sp_senders;

int sp_senders_new(const struct sp_agent_config *c, struct sp_senders **ret_senders);
void sp_senders_free(struct sp_senders *s);
void sp_senders_configure(struct sp_senders *s, const struct sp_agent_config *c);

int sp_senders_fd(const struct sp_senders *s);
int sp_senders_timeout_ms(void *senders); /* -1 = none */
void sp_senders_dispatch(void *senders);

/* For sp_metrics_add(); and lines for the agent's status. Nothing of receivers that are not configured. */
void sp_senders_write(void *senders, struct sp_expo *x);
void sp_senders_status(const struct sp_senders *s, FILE *out);

/* What is counted of each receiver: words of the process and of the status. The first is what it gets. */
enum { SP_SENT_COUNTS = 5 };
extern const char *const sp_sent_words[SP_N_RECEIVERS][SP_SENT_COUNTS];

#endif
