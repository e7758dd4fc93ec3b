/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet_child.c: the process that sends windows to a fleet's server; its secret is a line with the password. */
#include "agent/export/send_child.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/send.h"
#include <errno.h>
#include <string.h>

/* A host that the fleet does not know yet begins with its last hour. */
#define BEGIN_NS (3600 * SP_NS_PER_S)
enum { POST_MS = 60000 };

static int open_fleet(const struct sp_send_job *job, struct sp_fleet **ret_fleet)
{
	char password[SP_LINE_MAX + 2];
	struct sp_fleet_server server = {.url = job->url,
					 .database = sp_line_word(&job->words, "database"),
					 .user = sp_line_word(&job->words, "user"),
					 .ca_file = job->ca_file,
					 .password = password,
					 .timeout_ms = POST_MS,
					 .slow = sp_send_slow};
	int r = sp_send_read_line(password, sizeof(password));

	r = r > 0 ? -EBADMSG : r < 0 ? r : sp_fleet_open(&server, ret_fleet);
	explicit_bzero(password, sizeof(password));
	return r;
}

int sp_send_windows(const struct sp_send_job *job, struct sp_send_result *ret_result)
{
	const char *machine = sp_line_word(&job->words, "machine");
	struct sp_fleet_send send = {.store = job->store,
				     .host = job->host,
				     .machine = machine ? machine : "",
				     .labels = job->labels,
				     .n_labels = job->n_labels,
				     .sources = job->sources,
				     .n_sources = job->n_sources,
				     .resolution_s = job->resolution_s,
				     .begin_ns = sp_time_ns(CLOCK_REALTIME) - BEGIN_NS};
	struct sp_fleet_sent sent = {0};
	SP_FREE char *sent_file = NULL;
	struct sp_fleet *f = NULL;
	int r = open_fleet(job, &f);

	if (r == 0 && asprintf(&sent_file, "%s/fleet.sent", job->store) < 0)
		r = -ENOMEM;
	send.sent_file = sent_file;
	if (r == 0)
		r = sp_fleet_send(f, &send, &sent);
	*ret_result = (struct sp_send_result){
	    .counts = {sent.n_windows, sent.n_rows, sent.n_samples, sent.n_bytes, sent.n_left_out},
	    .later_s = f ? sp_fleet_later_s(f) : 0,
	    .to_ns = sent.to_ns};
	sp_fleet_close(f);
	return r;
}
