/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_alerts.h: reads the keys `alerts` and `alert-to` of the agent's configuration file (soprof-alerts(5)).
 *
 * The keys may come in any order: defaults from alert-to are applied at the end of the file. Errors in a rule name the
 * line and column of the word, where the rule's text is in the file unchanged (no escapes, one line); otherwise errors
 * are as in agent_file.h. The configuration owns what is made.
 */
#ifndef SP_CMD_AGENT_AGENT_ALERTS_H
#define SP_CMD_AGENT_AGENT_ALERTS_H

#include "cmd/agent/agent_file.h"

int sp_agent_alerts_take(struct sp_yaml *y, void *config);
int sp_agent_alert_to_take(struct sp_yaml *y, void *config);
void sp_agent_alerts_end(struct sp_agent_config *c);

#endif
