/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener.h: the list of listeners to windows and events (struct sp_agent_listener). Private to src/agent.
 *
 * The agent owns it; it is filled before the agent starts. window_queue.c calls the listeners. Cannot fail. One thread.
 */
#ifndef SP_AGENT_LISTENER_H
#define SP_AGENT_LISTENER_H

#include "agent/agent.h"

struct sp_listeners {
	struct sp_agent_listener all[SP_AGENT_MAX_LISTENERS];
	size_t n;
};

#endif
