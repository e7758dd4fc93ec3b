/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_status_json.c: the words of the agent's status as one JSON object with a list of sources. */
#include "agent/socket/ask.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/agent/agent.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct status {
	struct sp_json all, sources; /* sources: what stands between the brackets of its member of all */
};

static int pair(struct sp_json *j, const char *raw, const char *value)
{
	SP_FREE char *name = sp_encoded(SP_ENCODE_JSON, raw);
	uint64_t n;

	if (!name)
		return -ENOMEM;
	if (sp_parse_number(value, 0, UINT64_MAX, &n) == 0)
		sp_json_uint(j, name, n);
	else
		sp_json_string(j, name, value);
	return 0;
}

static int take(void *arg, const char *name, const char *value)
{
	struct status *s = arg;
	bool is_first = !strcmp(name, "source"), any = s->sources.depth > 0;

	if (is_first && any)
		sp_json_end(&s->sources);
	if (is_first)
		sp_json_object(&s->sources, NULL);
	return pair(is_first || (any && sp_agent_status_is_of_source(name)) ? &s->sources : &s->all, name, value);
}

int sp_agent_status_json(const char *socket, FILE *out)
{
	struct sp_ask a = {.socket = *socket ? socket : NULL};
	SP_FREE char *sources = NULL;
	SP_FREE char *all = NULL;
	size_t n_sources, n_all;
	struct status s = {.all = {.out = open_memstream(&all, &n_all), .is_spaced = true},
			   .sources = {.out = open_memstream(&sources, &n_sources), .is_spaced = true}};
	int r = s.all.out && s.sources.out ? 0 : -ENOMEM;

	if (r == 0) {
		sp_json_object(&s.all, NULL);
		r = sp_ask_status(&a, take, &s);
	}
	if (s.sources.depth > 0)
		sp_json_end(&s.sources);
	if (s.sources.out && fclose(s.sources.out) && r >= 0)
		r = -ENOMEM;
	if (r >= 0) {
		sp_json_format(&s.all, "sources", "[%s]", sources);
		sp_json_done(&s.all);
	}
	if (s.all.out && fclose(s.all.out) && r >= 0)
		r = -ENOMEM;
	if (r >= 0)
		fwrite(all, 1, n_all, out);
	return r;
}
