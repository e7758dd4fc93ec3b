/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_agent_file.c: any bytes as the agent's configuration file.
 *
 * What is refused has a reason that begins with the file's name; what is taken lies within the options' ranges, and all
 * its strings end.
 */
#include "base/error.h"
#include "cmd/agent/agent_options.h"
#include "require.h"
#include <errno.h>
#include <string.h>

static void check(const struct sp_agent_config *c)
{
	require(c->frequency_hz <= 10000 && c->n_sources <= SP_AGENT_MAX_SOURCES && c->n_exclude <= SP_AGENT_MAX_GLOBS);
	for (size_t i = 0; i < c->n_sources; i++)
		require(c->sources[i].recipe && c->sources[i].frequency_hz <= 10000);
	for (size_t i = 0; i < c->n_exclude; i++)
		require(strlen(c->exclude[i]) > 0);
	require(!c->store || c->store[0] == '/');
	require(!c->socket || !*c->socket || (c->socket[0] == '/' && strlen(c->socket) < 108));
	for (size_t i = 0; i < SP_N_RESOLUTIONS; i++)
		require(!c->retain_s[i] || c->retain_s[i] >= 3600);
	require(c->max_cpu_ppm <= 1000000 && c->max_clients <= 1024 && c->max_queries <= 64);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_agent_args args = {0};
	int r;

	if (size > SP_AGENT_FILE_MAX)
		return 0;
	r = sp_agent_file_parse("FILE", (const char *)data, size, &args);
	require(r == 0 || r == -EINVAL);
	if (r == 0)
		check(&args.config);
	else
		require(strncmp(sp_error_text(r), "FILE:", 5) == 0);
	sp_error_clear();
	sp_agent_args_done(&args);
	return 0;
}
