/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener.h: those who are told of windows and events (agent.h has what they may count on). Private to src/agent.
 *
 * The list belongs to the agent, and is made before it starts; window_queue.c tells of windows, and of events as they
 * are added. Telling cannot fail. One thread.
 */
#ifndef SP_AGENT_LISTENER_H
#define SP_AGENT_LISTENER_H

#include "agent/agent.h"

struct sp_listeners {
	struct sp_agent_listener all[SP_AGENT_MAX_LISTENERS];
	size_t n;
};

#endif
