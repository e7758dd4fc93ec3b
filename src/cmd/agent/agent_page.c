/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_page.c: what the agent prints about the page that it serves. */
#include "agent/log.h"
#include "agent/request.h"
#include "agent/web/page.h"
#include "cmd/agent/agent.h"
#include <inttypes.h>

enum { TEXT = 128 };

void sp_agent_page_greet(const struct sp_page *p)
{
	char url[TEXT];

	for (size_t i = 0; p && sp_page_url(p, i, url, sizeof(url)); i++)
		sp_log(SP_LOG_INFO, "serves its page at %s, for those to whom `soprof open` tells the token", url);
}

void sp_agent_page_status(const struct sp_page *p, FILE *out)
{
	struct sp_http_stats s;
	char url[TEXT];

	for (size_t i = 0; sp_page_url(p, i, url, sizeof(url)); i++) {
		sp_line_put(out, "url", url);
		fputc('\n', out);
	}
	sp_page_stats(p, &s);
	fprintf(out, "http_connections=%" PRIu64 "\nhttp_requests=%" PRIu64 "\nhttp_refused=%" PRIu64 "\n",
		s.n_connections, s.n_requests, s.n_refused);
	fprintf(out, "http_evicted=%" PRIu64 "\nhttp_timed_out=%" PRIu64 "\nhttp_gone=%" PRIu64 "\n", s.n_evicted,
		s.n_timed_out, s.n_gone);
	fprintf(out, "http_unpaid=%" PRIu64 "\n", s.n_unpaid);
	sp_line_put(out, "http_unpaid_by", s.unpaid);
	fputc('\n', out);
}
