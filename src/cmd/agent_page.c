/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_page.c: what the agent says of the page that it serves. */
#include "agent/log.h"
#include "agent/page.h"
#include "agent/request.h"
#include "cmd/agent.h"
#include <inttypes.h>

enum { TEXT = 80 };

const char *sp_agent_page_url(const struct sp_page *p, char *ret_url, size_t size)
{
	char address[TEXT];

	snprintf(ret_url, size, "http://%s/", sp_page_address(p, 0, address, sizeof(address)) ? address : "localhost");
	return ret_url;
}

void sp_agent_page_greet(const struct sp_page *p, const struct sp_agent_config *c)
{
	char address[TEXT];

	for (size_t i = 0; p && sp_page_address(p, i, address, sizeof(address)); i++)
		sp_log(SP_LOG_INFO, "serves its page at %s://%s/; soprof open tells who may see it", "http", address);
	(void)c;
}

void sp_agent_page_status(const struct sp_page *p, FILE *out)
{
	struct sp_http_stats s;
	char address[TEXT];

	for (size_t i = 0; sp_page_address(p, i, address, sizeof(address)); i++) {
		sp_line_put(out, "listen", address);
		fputc('\n', out);
	}
	sp_page_stats(p, &s);
	fprintf(out, "http_connections=%" PRIu64 "\nhttp_requests=%" PRIu64 "\nhttp_refused=%" PRIu64 "\n",
		s.n_connections, s.n_requests, s.n_refused);
	fprintf(out, "http_evicted=%" PRIu64 "\nhttp_timed_out=%" PRIu64 "\nhttp_gone=%" PRIu64 "\n", s.n_evicted,
		s.n_timed_out, s.n_gone);
}
