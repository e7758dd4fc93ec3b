/* SPDX-License-Identifier: GPL-2.0-or-later */
/* push_post.c: a request of push.h by libcurl, and what its answer means. */
#include "agent/export/push_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "http/curl.h"
#include "view/interchange/otlp.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 10000, MAX_ANSWER = 4096 };

static const char *const paths[SP_N_RECEIVERS] = {
    [SP_RECEIVER_PYROSCOPE] = "/ingest", [SP_RECEIVER_OTLP] = "/v1development/profiles"};

struct sp_push_client {
	const struct sp_push *p;
	struct sp_curl l;
	CURL *curl;
	struct sp_curl_wait wait;
	char answer[MAX_ANSWER + 1]; /* its beginning */
	size_t n_answer;
	char error[CURL_ERROR_SIZE];
	uint64_t later_s;
};

int sp_push_url_check(const char *url)
{
	const char *host = !strncmp(url, "http://", 7) ? url + 7 : !strncmp(url, "https://", 8) ? url + 8 : NULL;

	if (!host || !*host || strchr("/:", *host) || strpbrk(host, "?#"))
		return sp_fail_said(-EINVAL, "'%s' is not http[s]://HOST[:PORT][/PATH]", url);
	if (memchr(host, '@', strcspn(host, "/")))
		return sp_fail_said(-EINVAL, "no user belongs into an address, where others see it: headers-file");
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return sp_fail_said(-EINVAL, "the address has a space or a control character in it");
	return 0;
}

int sp_push_open(const struct sp_push *p, struct sp_push_client **ret_client)
{
	struct sp_push_client *c = calloc(1, sizeof(*c));
	int r = c ? sp_curl_load(&c->l) : -ENOMEM;

	if (r == 0) {
		c->p = p;
		c->wait = (struct sp_curl_wait){.tell = p->slow, .server = p->url};
		c->curl = c->l.init();
		r = c->curl ? 0 : -ENOMEM;
	}
	if (r < 0)
		sp_push_close(c);
	else
		*ret_client = c;
	return r;
}

void sp_push_close(struct sp_push_client *c)
{
	if (!c)
		return;
	if (c->curl)
		c->l.cleanup(c->curl);
	free(c);
}

uint64_t sp_push_later_s(const struct sp_push_client *c)
{
	return c->later_s;
}

/* --- what is sent --- */
static int header_add(struct sp_push_client *c, struct curl_slist **headers, const char *name, const char *value)
{
	SP_FREE char *text = NULL;
	struct curl_slist *list;

	if (asprintf(&text, "%s%s%s", name, *name ? ": " : "", value) < 0)
		return -ENOMEM;
	list = c->l.append(*headers, text);
	explicit_bzero(text, strlen(text));
	*headers = list ? list : *headers;
	return list ? 0 : -ENOMEM;
}

static int headers_make(struct sp_push_client *c, const struct sp_push_message *m, struct curl_slist **headers)
{
	int r = header_add(c, headers, "Content-Type", m->type);

	if (r == 0 && m->coding)
		r = header_add(c, headers, "Content-Encoding", m->coding);
	for (size_t i = 0; r == 0 && i < c->p->n_headers; i++)
		r = header_add(c, headers, "", c->p->headers[i]);
	if (r == 0)
		r = header_add(c, headers, "", "Expect:"); /* saves a round trip before the body */
	return r;
}

static size_t answer_save(char *bytes, size_t size, size_t n, void *client)
{
	struct sp_push_client *c = client;
	size_t n_saved = SP_MIN(size * n, MAX_ANSWER - c->n_answer);

	memcpy(c->answer + c->n_answer, bytes, n_saved);
	c->n_answer += n_saved;
	return size * n;
}

static int options_set(struct sp_push_client *c, const char *url, const struct sp_push_message *m,
		       struct curl_slist *headers)
{
	const struct sp_curl *l = &c->l;
	int bad = 0, r = sp_curl_begin(l, c->curl, c->p->ca_file, c->error);

	if (r == 0)
		r = sp_curl_wait(l, c->curl, &c->wait);
	bad |= l->setopt(c->curl, CURLOPT_URL, url);
	bad |= l->setopt(c->curl, CURLOPT_POST, 1L);
	bad |= l->setopt(c->curl, CURLOPT_POSTFIELDS, m->body);
	bad |= l->setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)m->n_body);
	bad |= l->setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	bad |= l->setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	bad |= l->setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)c->p->timeout_ms);
	bad |= l->setopt(c->curl, CURLOPT_WRITEFUNCTION, answer_save);
	bad |= l->setopt(c->curl, CURLOPT_WRITEDATA, c);
	return r < 0 ? r : bad ? -ENOMEM : 0;
}

/* --- what is answered --- */
/* Of OTLP an answer may say that a profile was not taken, and why. */
static int answer_take(struct sp_push_client *c, char why[SP_PUSH_WHY])
{
	uint64_t n_rejected = 0;

	if (c->p->kind != SP_RECEIVER_OTLP ||
	    sp_otlp_answer_read(c->answer, c->n_answer, &n_rejected, why, SP_PUSH_WHY) < 0 || !n_rejected)
		return 0;
	if (!*why)
		snprintf(why, SP_PUSH_WHY, "rejected without a reason");
	return 1;
}

/* 400, 413, 422: this profile is wrong; all others are about the server, or who asks, and may pass. */
static int answer_judge(struct sp_push_client *c, CURLcode code, char why[SP_PUSH_WHY])
{
	long status = 0;

	*why = '\0';
	if (code != CURLE_OK)
		return sp_fail_said(-EIO, "%s", *c->error ? c->error : c->l.strerror(code));
	c->l.getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	c->later_s = sp_curl_later_s(&c->l, c->curl);
	if (status >= 200 && status < 300)
		return answer_take(c, why);
	c->answer[c->n_answer] = '\0';
	c->answer[strcspn(c->answer, "\r\n")] = '\0';
	snprintf(why, SP_PUSH_WHY, "HTTP %ld%s%.*s", status, *c->answer ? ": " : "", SP_PUSH_WHY - 32, c->answer);
	return status == 400 || status == 413 || status == 422 ? 1 : sp_fail_said(-EIO, "%s", why);
}

int sp_push_post(struct sp_push_client *c, const struct sp_push_message *m, char why[SP_PUSH_WHY])
{
	size_t n = strlen(c->p->url);
	struct curl_slist *headers = NULL;
	SP_FREE char *url = NULL;
	int r;

	while (n && c->p->url[n - 1] == '/')
		n--;
	if (asprintf(&url, "%.*s%s%s", (int)n, c->p->url, paths[c->p->kind], m->query) < 0)
		return -ENOMEM;
	c->n_answer = 0;
	*c->error = '\0';
	r = headers_make(c, m, &headers);
	if (r == 0)
		r = options_set(c, url, m, headers);
	if (r == 0)
		r = answer_judge(c, c->l.perform(c->curl), why);
	c->l.setopt(c->curl, CURLOPT_HTTPHEADER, NULL);
	c->l.free_list(headers);
	return r;
}
