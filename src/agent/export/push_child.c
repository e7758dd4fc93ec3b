/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_child.c: the process that sends profiles: reads what it is told, sends, says what it sent; a part of
 * push_sender.h.
 *
 * Its input is a line of words, lines of sources and labels, an empty line, and headers, a line each. Its output is a
 * line of counts and, if it failed or something was refused, one with the reason.
 */
#include "agent/exec/self.h"
#include "agent/export/push_sender.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CPU_S = 60, POST_MS = 30000, MAX_LISTED = SP_AGENT_FLEET_LABELS + SP_AGENT_MAX_SOURCES + SP_PUSH_HEADERS };

struct child {
	char line[SP_LINE_MAX + 2];
	struct sp_line words;
	char *listed[MAX_LISTED];
	size_t n_listed;
	const char *sources[SP_AGENT_MAX_SOURCES], *headers[SP_PUSH_HEADERS];
	struct sp_otlp_attribute labels[SP_AGENT_FLEET_LABELS];
	struct sp_push job;
};

/* 1: the end. */
static int read_line(FILE *in, char *ret_line, size_t size)
{
	if (!fgets(ret_line, (int)size, in))
		return ferror(in) ? -EIO : 1;
	if (!strchr(ret_line, '\n') && !feof(in))
		return sp_fail_said(-EBADMSG, "a line of more than %zu bytes", size - 2);
	ret_line[strcspn(ret_line, "\r\n")] = '\0';
	return 0;
}

static char *line_keep(struct child *c, const char *line)
{
	char *kept = c->n_listed < MAX_LISTED ? strdup(line) : NULL;

	if (kept)
		c->listed[c->n_listed++] = kept;
	return kept;
}

/* "source=cpu", "label=a=b" */
static int read_listed(struct child *c, FILE *in)
{
	char line[SP_LINE_MAX];

	for (;;) {
		int r = read_line(in, line, sizeof(line));
		if (r != 0 || !*line)
			return r > 0 ? -EBADMSG : r;
		char *kept = line_keep(c, line), *value;
		if (!kept)
			return -ENOMEM;
		value = strchr(kept, '=');
		if (!value)
			return -EBADMSG;
		*value++ = '\0';
		if (!strcmp(kept, "source") && c->job.n_sources < SP_AGENT_MAX_SOURCES) {
			c->sources[c->job.n_sources++] = value;
			continue;
		}
		char *equals = strchr(value, '=');
		if (strcmp(kept, "label") != 0 || !equals || c->job.n_labels == SP_AGENT_FLEET_LABELS)
			return -EBADMSG;
		*equals = '\0';
		c->labels[c->job.n_labels++] = (struct sp_otlp_attribute){value, equals + 1};
	}
}

/* A user's file: what is wrong with it is told, but not what it says. */
static int header_check(const char *line, size_t number)
{
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t n = strspn(line, letters);

	if (n && !strncmp(line + n, ": ", 2) && line[n + 2])
		return 0;
	return sp_fail_said(-EINVAL, "line %zu of the headers-file is not NAME: VALUE", number);
}

static int read_headers(struct child *c, FILE *in)
{
	char line[SP_LINE_MAX];
	int r;

	for (size_t number = 1; (r = read_line(in, line, sizeof(line))) == 0; number++) {
		if (!*line || *line == '#')
			continue;
		r = header_check(line, number);
		if (r < 0)
			break;
		if (c->job.n_headers == SP_PUSH_HEADERS)
			return sp_fail_said(-EINVAL, "the headers-file has more than %d headers", SP_PUSH_HEADERS);
		c->headers[c->job.n_headers] = line_keep(c, line);
		if (!c->headers[c->job.n_headers++])
			return -ENOMEM;
	}
	explicit_bzero(line, sizeof(line));
	return r < 0 ? r : 0;
}

static int read_job(struct child *c)
{
	FILE *in = fdopen(STDIN_FILENO, "r");
	int r = in ? read_line(in, c->line, sizeof(c->line)) : -EBADF;

	if (r == 0)
		r = sp_line_parse(c->line, false, &c->words);
	if (r == 0)
		r = read_listed(c, in);
	return r == 0 ? read_headers(c, in) : r > 0 ? -EBADMSG : r;
}

static void set_limits(const struct child *c)
{
	uint64_t bytes = 0;

	sp_line_number(&c->words, "memory", &bytes);
	sp_self_limit(MAX_CPU_S, bytes);
}

static int run_job(struct child *c, struct sp_push_sent *sent)
{
	const char *kind = sp_line_word(&c->words, "kind");
	uint64_t resolution_s = 0, timeout_ms = POST_MS;
	struct sp_push *job = &c->job;
	int r = sp_line_number(&c->words, "resolution", &resolution_s);

	if (r == 0)
		r = sp_line_number(&c->words, "timeout", &timeout_ms);
	job->url = sp_line_word(&c->words, "url");
	job->ca_file = sp_line_word(&c->words, "ca");
	job->store = sp_line_word(&c->words, "store");
	job->host = sp_line_word(&c->words, "host");
	if (r < 0 || !kind || !job->url || !job->store || !job->host || !resolution_s)
		return -EBADMSG;
	job->kind = strcmp(kind, sp_push_words[SP_PUSH_OTLP]) ? SP_PUSH_PYROSCOPE : SP_PUSH_OTLP;
	job->sources = c->sources;
	job->labels = c->labels;
	job->headers = c->headers;
	job->resolution_s = (uint32_t)resolution_s;
	job->timeout_ms = (unsigned)timeout_ms;
	return sp_push_send(job, sent);
}

void sp_push_child_main(int argc, char **argv)
{
	static struct child c;
	struct sp_push_sent sent = {0};
	int r;

	if (argc != 2 || strcmp(argv[1], SP_PUSH_CHILD_ARGUMENT) != 0)
		return;
	r = read_job(&c);
	if (r == 0) {
		set_limits(&c);
		r = run_job(&c, &sent);
	}
	dprintf(STDOUT_FILENO,
		"profiles=%" PRIu64 " samples=%" PRIu64 " bytes=%" PRIu64 " refused=%" PRIu64 " left_out=%" PRIu64
		" to=%" PRIu64 "\n",
		sent.n_profiles, sent.n_samples, sent.n_bytes, sent.n_refused, sent.n_left_out, sent.to_ns);
	if (r < 0 || sent.n_refused)
		dprintf(STDOUT_FILENO, "%s", r < 0 ? sp_error_text(r) : sent.why_refused);
	_exit(r < 0 ? SP_PUSH_CHILD_FAILED : 0);
}
