/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_alerts.h: the keys `alerts` and `alert-to` of the agent's configuration file, which soprof-alerts(5) explains.
 *
 * They come in any order: what an alert takes over from alert-to is settled at the file's end. A rule that is wrong is
 * told with the line and the column of the word that is, where its text stands in the file as it is (no escapes, one
 * line). Errors as in agent_file.h. What is made belongs to the configuration.
 */
#ifndef SP_CMD_AGENT_AGENT_ALERTS_H
#define SP_CMD_AGENT_AGENT_ALERTS_H

#include "cmd/agent/agent_file.h"

int sp_agent_alerts_take(struct sp_agent_file *f, void *config);
int sp_agent_alert_to_take(struct sp_agent_file *f, void *config);
void sp_agent_alerts_end(struct sp_agent_config *c);

#endif
