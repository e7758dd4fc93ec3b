/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h: the parts of `soprof agent`: agent.c runs it, agent_status.c shows its status.
 *
 * The running agent writes its status as words (sp_agent_status_put). `soprof agent --status` receives them over the
 * socket and prints them (sp_agent_status_show); any word may be missing. 0 or a negative errno with sp_error_text().
 * Main thread only.
 */
#ifndef SP_CMD_AGENT_AGENT_H
#define SP_CMD_AGENT_AGENT_H

#include "agent/config.h"
#include <stdbool.h>
#include <stdio.h>

struct sp_agent;
struct sp_notify;
struct sp_page;

int sp_agent_status_put(struct sp_agent *a, const struct sp_agent_config *c, FILE *out);
int sp_agent_status_show(const char *socket, FILE *out);
int sp_agent_status_json(const char *socket, FILE *out); /* the same words */
bool sp_agent_status_is_of_source(const char *name);     /* the word belongs to the source before it */
/* What is sampled, kept and answered, and what may be used: a line each, to the log. */
void sp_agent_greet(const struct sp_agent_config *c, unsigned n_cpus);
/* agent_page.c: where it is served, to the log and as words of the status. */
void sp_agent_page_greet(const struct sp_page *p);
void sp_agent_page_status(const struct sp_page *p, FILE *out);
/* One line of it, for the service manager. */
void sp_agent_status_notify(struct sp_agent *a, struct sp_notify *n);

#endif
