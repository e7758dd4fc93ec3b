/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/config.h"
#include <stdlib.h>

void sp_agent_config_done(struct sp_agent_config *c)
{
	for (size_t i = 0; i < c->n_strings; i++)
		free(c->strings[i]);
	free(c->strings);
	free(c->alerts);
	*c = (struct sp_agent_config){0};
}
