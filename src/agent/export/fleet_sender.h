/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fleet_sender.h: has the agent's windows sent to a fleet's ClickHouse server (fleet/send.h).
 *
 * A process does it, once in each interval of the resolution, at most once a minute: this program, executed again,
 * which reads the agent's own store and has nothing else of the agent. Where it computes for long, the day's names
 * being many, it is less often, so that it takes 0.05 % of a CPU at most, but at least each ten minutes. main() calls
 * sp_fleet_child_main() first, which does not return if the program was executed for that. Password and addresses come
 * to it on standard input. A failure is logged once, and tried again after 10 s, then twice as long up to five minutes;
 * hosts send at different moments of the interval. The owner polls sp_fleet_sender_fd() for reading, and calls
 * sp_fleet_sender_dispatch() then and after sp_fleet_sender_timeout_ms(). Strings of the configuration belong to the
 * caller, and must be valid until the next sp_fleet_sender_configure(). 0 or a negative errno. One thread.
 */
#ifndef SP_AGENT_EXPORT_FLEET_SENDER_H
#define SP_AGENT_EXPORT_FLEET_SENDER_H

#include "agent/config.h"
#include "agent/export/metrics.h"

struct sp_fleet_sender;

int sp_fleet_sender_new(const struct sp_agent_config *c, struct sp_fleet_sender **ret_sender);
void sp_fleet_sender_free(struct sp_fleet_sender *s);
void sp_fleet_sender_configure(struct sp_fleet_sender *s, const struct sp_agent_config *c);

int sp_fleet_sender_fd(const struct sp_fleet_sender *s);
int sp_fleet_sender_timeout_ms(void *sender); /* -1 = none */
void sp_fleet_sender_dispatch(void *sender);

/* For sp_metrics_add(); and lines for the agent's status. Without a fleet, nothing. */
void sp_fleet_sender_write(void *sender, struct sp_expo *x);
void sp_fleet_sender_status(const struct sp_fleet_sender *s, FILE *out);

#define SP_FLEET_CHILD_ARGUMENT "--fleet-send"
enum { SP_FLEET_CHILD_FAILED = 3 }; /* exit code; its reason is the second line of its output */
void sp_fleet_child_main(int argc, char **argv);

#endif
