/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fleet_child.c: the process that sends: reads what it is told, sends, says what it sent; a part of fleet_sender.h.
 *
 * Its input is a line of words, lines of sources and labels, an empty line, and a line with the password. Its output
 * is a line of counts and, if it failed, one with the reason.
 */
#include "agent/exec/self.h"
#include "agent/export/fleet_sender.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "fleet/send.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A host that the fleet does not know yet begins with its last hour. */
#define BEGIN_NS (3600 * SP_NS_PER_S)
enum { MAX_CPU_S = 120, MAX_LISTED = SP_AGENT_FLEET_LABELS + SP_AGENT_MAX_SOURCES, HEAP_BYTES = 1 << 20 };

struct child {
	char line[SP_LINE_MAX + 2], password[SP_LINE_MAX + 2];
	struct sp_line words;
	char *listed[MAX_LISTED];
	size_t n_listed;
	const char *sources[SP_AGENT_MAX_SOURCES], *labels[SP_AGENT_FLEET_LABELS];
	struct sp_fleet_send job;
};

static int read_line(FILE *in, char *ret_line, size_t size)
{
	if (!fgets(ret_line, (int)size, in) || !strchr(ret_line, '\n'))
		return -EBADMSG;
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return 0;
}

/* "source=cpu", "label=a=b" */
static int read_listed(struct child *c, FILE *in)
{
	char line[SP_LINE_MAX];

	for (;;) {
		int r = read_line(in, line, sizeof(line));
		if (r < 0 || !*line)
			return r;
		if (c->n_listed == MAX_LISTED)
			return -EBADMSG;
		char *kept = c->listed[c->n_listed++] = strdup(line);
		if (!kept)
			return -ENOMEM;
		if (!strncmp(kept, "source=", 7) && c->job.n_sources < SP_AGENT_MAX_SOURCES)
			c->sources[c->job.n_sources++] = kept + 7;
		else if (!strncmp(kept, "label=", 6) && c->job.n_labels < SP_AGENT_FLEET_LABELS)
			c->labels[c->job.n_labels++] = kept + 6;
		else
			return -EBADMSG;
	}
}

static int read_job(struct child *c)
{
	FILE *in = fdopen(STDIN_FILENO, "r");
	int r = in ? read_line(in, c->line, sizeof(c->line)) : -EBADF;

	if (r == 0)
		r = sp_line_parse(c->line, false, &c->words);
	if (r == 0)
		r = read_listed(c, in);
	return r < 0 ? r : read_line(in, c->password, sizeof(c->password));
}

static void set_limits(const struct child *c)
{
	uint64_t bytes = 0;

	sp_line_number(&c->words, "memory", &bytes);
	sp_self_limit(MAX_CPU_S, bytes);
}

static int run_job(struct child *c, struct sp_fleet_sent *sent)
{
	struct sp_fleet_server server = {.url = sp_line_word(&c->words, "url"),
					 .database = sp_line_word(&c->words, "database"),
					 .user = sp_line_word(&c->words, "user"),
					 .ca_file = sp_line_word(&c->words, "ca"),
					 .password = c->password,
					 .timeout_ms = 60000};
	const char *store = sp_line_word(&c->words, "store"), *host = sp_line_word(&c->words, "host");
	const char *machine = sp_line_word(&c->words, "machine");
	SP_FREE char *sent_file = NULL;
	uint64_t resolution_s = 0;
	struct sp_fleet *f = NULL;
	int r = sp_line_number(&c->words, "resolution", &resolution_s);

	if (r < 0 || !server.url || !store || !host || !resolution_s)
		return -EBADMSG;
	if (asprintf(&sent_file, "%s/fleet.sent", store) < 0)
		return -ENOMEM;
	c->job.store = store;
	c->job.host = host;
	c->job.machine = machine ? machine : "";
	c->job.sources = c->sources;
	c->job.labels = c->labels;
	c->job.resolution_s = (uint32_t)resolution_s;
	c->job.begin_ns = sp_time_ns(CLOCK_REALTIME) - BEGIN_NS;
	c->job.sent_file = sent_file;
	r = sp_fleet_open(&server, &f);
	explicit_bzero(c->password, sizeof(c->password));
	if (r == 0)
		r = sp_fleet_send(f, &c->job, sent);
	sp_fleet_close(f);
	return r;
}

void sp_fleet_child_main(int argc, char **argv)
{
	static struct child c;
	struct sp_fleet_sent sent = {0};
	int r;

	if (argc != 2 || strcmp(argv[1], SP_FLEET_CHILD_ARGUMENT) != 0)
		return;
	r = read_job(&c);
	if (r == 0) {
		set_limits(&c);
		r = run_job(&c, &sent);
	}
	dprintf(STDOUT_FILENO,
		"windows=%" PRIu64 " rows=%" PRIu64 " samples=%" PRIu64 " bytes=%" PRIu64 " left_out=%" PRIu64
		" to=%" PRIu64 "\n",
		sent.n_windows, sent.n_rows, sent.n_samples, sent.n_bytes, sent.n_left_out, sent.to_ns);
	if (r < 0)
		dprintf(STDOUT_FILENO, "%s", sp_error_text(r));
	_exit(r < 0 ? SP_FLEET_CHILD_FAILED : 0);
}
