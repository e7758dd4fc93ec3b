/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/config.h"
#include <stdlib.h>

const char *const sp_receiver_words[SP_N_RECEIVERS] = {
    [SP_RECEIVER_FLEET] = "fleet", [SP_RECEIVER_PYROSCOPE] = "pyroscope", [SP_RECEIVER_OTLP] = "otlp"};

void sp_agent_config_done(struct sp_agent_config *c)
{
	for (size_t i = 0; i < c->n_strings; i++)
		free(c->strings[i]);
	free(c->strings);
	free(c->alerts);
	*c = (struct sp_agent_config){0};
}
