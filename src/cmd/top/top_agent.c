/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_agent.c: samples from the running agent: of all processes, or of the user's own, as the agent allows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/socket/ask.h"
#include "base/parse.h"
#include "base/time.h"
#include "cmd/top/top_source.h"
#include "profile/profile.h"

enum { TIMEOUT_MS = 5000, STATUS_S = 60 };

struct source {
	struct sp_top_wants wants;
	struct sp_ask ask;
	uint64_t rate_millihertz, n_cpus, asked_ns;
};

static size_t no_fds(void *source, int ret_fds[SP_TOP_MAX_FDS])
{
	(void)source;
	(void)ret_fds;
	return 0;
}

static uint64_t never(void *source)
{
	(void)source;
	return UINT64_MAX;
}

static int nothing(void *source)
{
	(void)source;
	return 0;
}

static int status_word(void *arg, const char *name, const char *value)
{
	struct source *s = arg;

	if (!strcmp(name, "rate_mhz"))
		sp_parse_number(value, 1, UINT32_MAX, &s->rate_millihertz);
	else if (!strcmp(name, "cpus"))
		sp_parse_number(value, 1, UINT16_MAX, &s->n_cpus);
	return 0;
}

/* The agent changes its rate when it would take too much; it tells so itself. */
static int status_ask(struct source *s)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int r;

	if (s->asked_ns && now - s->asked_ns < STATUS_S * SP_NS_PER_S)
		return 0;
	r = sp_ask_status(&s->ask, status_word, s);
	if (r >= 0)
		s->asked_ns = now;
	return r;
}

static int take(void *source, struct sp_profile **ret_profile, struct sp_top_info *ret_info)
{
	struct source *s = source;
	uint64_t now = sp_time_ns(CLOCK_REALTIME);
	uint64_t from = now - s->wants.span_ns; /* a window is of the time that it begins in: from a full one on */
	struct sp_store_query q = {
	    .from_ns = from - from % SP_AGENT_WINDOW_NS, .to_ns = now, .all_users = true, .resolution = SP_RES_10S};
	struct sp_store_answer answer = {0};
	int r = status_ask(s);

	if (r >= 0)
		r = sp_ask_query(&s->ask, &q, ret_profile, &answer);
	if (r < 0)
		return r;
	*ret_info = (struct sp_top_info){
	    .time = {.duration_ns = answer.covered_ns, .n_lost = answer.n_lost},
	    .rate_millihertz = s->rate_millihertz,
	    .n_cpus = s->n_cpus,
	    .is_agent = true,
	    .own_only = s->ask.own_only,
	};
	return 1;
}

int sp_top_agent_open(const struct sp_top_wants *w, struct sp_top_source *ret_source)
{
	struct source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->wants = *w;
	s->ask = (struct sp_ask){.socket = w->socket, .timeout_ms = TIMEOUT_MS};
	r = status_ask(s);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret_source = (struct sp_top_source){
	    .fds = no_fds, .next_ns = never, .step = nothing, .take = take, .close = free, .source = s};
	return 0;
}
