/* SPDX-License-Identifier: GPL-2.0-or-later */
/* push_child.c: the process that sends profiles; its secrets are headers, a line each. */
#include "agent/export/send_child.h"
#include "base/error.h"
#include <errno.h>
#include <string.h>

enum { POST_MS = 30000 };

/* A user's file: what is wrong with it is told, but not what it says. */
static int header_check(const char *line, size_t number)
{
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t n = strspn(line, letters);

	if (n && !strncmp(line + n, ": ", 2) && line[n + 2])
		return 0;
	return sp_fail_said(-EINVAL, "line %zu of the headers-file is not NAME: VALUE", number);
}

static int headers_read(const char *ret_headers[SP_PUSH_HEADERS], size_t *ret_n)
{
	char line[SP_LINE_MAX];
	int r;

	for (size_t number = 1; (r = sp_send_read_line(line, sizeof(line))) == 0; number++) {
		if (!*line || *line == '#')
			continue;
		r = header_check(line, number);
		if (r < 0)
			break;
		if (*ret_n == SP_PUSH_HEADERS)
			return sp_fail_said(-EINVAL, "the headers-file has more than %d headers", SP_PUSH_HEADERS);
		ret_headers[*ret_n] = strdup(line);
		if (!ret_headers[(*ret_n)++])
			return -ENOMEM;
	}
	explicit_bzero(line, sizeof(line));
	return r < 0 ? r : 0;
}

static int labels_split(const struct sp_send_job *job, struct sp_otlp_attribute *ret_labels)
{
	for (size_t i = 0; i < job->n_labels; i++) {
		const char *equals = strchr(job->labels[i], '=');
		if (!equals)
			return -EBADMSG;
		ret_labels[i].key = strndup(job->labels[i], (size_t)(equals - job->labels[i]));
		ret_labels[i].value = equals + 1;
		if (!ret_labels[i].key)
			return -ENOMEM;
	}
	return 0;
}

int sp_send_profiles(const struct sp_send_job *job, struct sp_send_result *ret_result)
{
	const char *headers[SP_PUSH_HEADERS];
	struct sp_otlp_attribute labels[SP_AGENT_MAX_LABELS];
	struct sp_push push = {.kind = job->to,
			       .url = job->url,
			       .ca_file = job->ca_file,
			       .store = job->store,
			       .host = job->host,
			       .headers = headers,
			       .labels = labels,
			       .n_labels = job->n_labels,
			       .sources = job->sources,
			       .n_sources = job->n_sources,
			       .resolution_s = job->resolution_s,
			       .slow = sp_send_slow};
	struct sp_push_sent sent = {0};
	uint64_t timeout_ms = POST_MS;
	int r = sp_line_number(&job->words, "timeout", &timeout_ms);

	push.timeout_ms = (unsigned)timeout_ms;
	if (r == 0)
		r = labels_split(job, labels);
	if (r == 0)
		r = headers_read(headers, &push.n_headers);
	if (r == 0)
		r = sp_push_send(&push, &sent);
	*ret_result = (struct sp_send_result){
	    .counts = {sent.n_profiles, sent.n_samples, sent.n_bytes, sent.n_refused, sent.n_left_out},
	    .later_s = sent.later_s,
	    .to_ns = sent.to_ns};
	memcpy(ret_result->why_refused, sent.why_refused, sizeof(sent.why_refused));
	return r;
}
