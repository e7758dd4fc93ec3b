/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_sender.h: has the agent's windows sent to Pyroscope and by OTLP (push.h), where these are configured.
 *
 * A process does it for each, once in each interval of the resolution, at most once a minute: this program, executed
 * again, which reads the agent's own store and has nothing else of the agent; less often, but at least each five
 * minutes, where that takes more than 0.2 % of a CPU. main() calls sp_push_child_main() first, which does
 * not return if the program was executed for that. Headers and addresses come to it on standard input. A failure is
 * logged once, and tried again after 10 s, then twice as long up to five minutes; so is that profiles are
 * refused, which are not tried again. Hosts send at different moments of the interval. The owner polls sp_pushes_fd()
 * for reading, and calls sp_pushes_dispatch() then and after sp_pushes_timeout_ms(). Strings of the configuration
 * belong to the caller, and must be valid until the next sp_pushes_configure(). 0 or a negative errno. One thread.
 */
#ifndef SP_AGENT_EXPORT_PUSH_SENDER_H
#define SP_AGENT_EXPORT_PUSH_SENDER_H

#include "agent/export/metrics.h"
#include "agent/export/push.h"

struct sp_pushes;

int sp_pushes_new(const struct sp_agent_config *c, struct sp_pushes **ret_pushes);
void sp_pushes_free(struct sp_pushes *p);
void sp_pushes_configure(struct sp_pushes *p, const struct sp_agent_config *c);

int sp_pushes_fd(const struct sp_pushes *p);
int sp_pushes_timeout_ms(void *pushes); /* -1 = none */
void sp_pushes_dispatch(void *pushes);

/* For sp_metrics_add(); and lines for the agent's status. Nothing of what is not configured. */
void sp_pushes_write(void *pushes, struct sp_expo *x);
void sp_pushes_status(const struct sp_pushes *p, FILE *out);

#define SP_PUSH_CHILD_ARGUMENT "--push-send"
enum { SP_PUSH_CHILD_FAILED = 3 }; /* exit code; its reason is the second line of its output */
void sp_push_child_main(int argc, char **argv);

#endif
