/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * user.h: the user that the agent runs as when root has begun it: SP_AGENT_USER, as in the service.
 *
 * A process of uid 0 without capabilities still owns all of root's files. So all of the agent's processes become that
 * user, before they make anything, and keep root's capabilities until they would be given up in any case. Directories
 * of store and socket that an agent of root has made are handed over (base/owner.h). Root stays root where there is
 * no such user, or where that user could not do what the agent has to: reach the store and the socket's directory,
 * write to them, read the files of certificate authorities, execute this program. Which it is sp_agent_user_words()
 * says. Files of the configuration that only root may read are opened by the broker (sp_agent_keep_file()). Before
 * there are threads.
 */
#ifndef SP_AGENT_DAEMON_USER_H
#define SP_AGENT_DAEMON_USER_H

#include "agent/config.h"

#define SP_AGENT_USER "soprof"

/* 0 or a negative errno with sp_error_text(): it is half another user, and should end. */
int sp_agent_user_become(const struct sp_agent_config *c);
/* A line for the log, from then on; "" if root has not begun it. */
const char *sp_agent_user_words(void);

#endif
