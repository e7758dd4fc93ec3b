/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_tls.c: TLS and users of the page; passwords are compared by a process. */
#include "agent/log.h"
#include "agent/socket/server.h"
#include "agent/web/page_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- passwords --- */
static void finish_verify(void *arg, int r)
{
	struct sp_page *p = arg;
	struct sp_line head = {.first = ""};
	char text[SP_LINE_MAX];
	uint64_t match = 0;
	int fd = sp_take_fd(&p->verify_output);

	p->verifying = NULL;
	if (r == 0 && sp_page_head(fd, text, &head) > 0 && !strcmp(head.first, "ok"))
		sp_line_number(&head, "match", &match);
	else
		sp_log(SP_LOG_WARNING, "a password could not be looked at: %s",
		       sp_line_word(&head, "text") ? sp_line_word(&head, "text") : sp_error_text(r < 0 ? r : -EBADMSG));
	sp_error_clear();
	close(fd);
	sp_http_verified(p->http, match == 1);
}

/* The line has a password, so it must not stay in freed memory. */
static int submit_request(struct sp_page *p, const struct sp_request *q)
{
	char line[2048] = "";
	FILE *out = fmemopen(line, sizeof(line) - 1, "w");
	struct sp_server_own_request own = {.line = line, .output = p->verify_output, .done = finish_verify, .arg = p};
	int r = -ENOMEM;

	if (out) {
		sp_request_write(q, out);
		r = fclose(out) ? -ENOMEM : 0;
	}
	line[strcspn(line, "\n")] = '\0';
	if (r == 0)
		r = sp_server_submit(p->owner.server, &own, &p->verifying);
	explicit_bzero(line, sizeof(line));
	return r;
}

static int start_verify(void *arg, const char *hash, const char *password)
{
	struct sp_request q = {.what = SP_ASK_PASSWORD, .hash = hash, .password = password};
	struct sp_page *p = arg;
	int r;

	p->verify_output = memfd_create("soprof-password", MFD_CLOEXEC);
	if (p->verify_output < 0)
		return -errno;
	r = submit_request(p, &q);
	if (r < 0)
		close(sp_take_fd(&p->verify_output));
	return r;
}

void sp_page_verify_end(struct sp_page *p)
{
	if (p->verifying)
		sp_server_cancel(p->owner.server, p->verifying);
	p->verifying = NULL;
	sp_cleanup_close(&p->verify_output);
}

/* --- handshakes --- */
void sp_page_tell_unpaid(struct sp_page *p)
{
	const char *who = p->is_unpaid_told ? NULL : sp_http_unpaid(p->http);

	if (!who)
		return;
	p->is_unpaid_told = true;
	sp_log(SP_LOG_WARNING,
	       "%s begins more TLS handshakes than his share of a CPU pays for: those above it are refused", who);
}

/* --- configuration --- */
int sp_page_web_read(const struct sp_agent_config *c, struct sp_web_config **ret_web)
{
	struct sp_web_config *web = NULL;
	int r = c->web_config && c->n_listen ? sp_web_config_read(c->web_config, &web) : 0;

	if (r == 0 && web)
		r = sp_http_web_check(web);
	if (r < 0) {
		sp_web_config_free(web);
		return r;
	}
	*ret_web = web;
	return 0;
}

void sp_page_http_config(struct sp_page *p, const struct sp_agent_config *c, struct sp_http_config *ret_config)
{
	*ret_config = (struct sp_http_config){.n_listen = c->n_listen,
					      .n_hosts = c->n_hosts,
					      .max_connections = c->max_clients,
					      .token = p->token,
					      .web = p->web,
					      .verify = start_verify,
					      .arg = p};
	memcpy(ret_config->listen, c->listen, sizeof(c->listen));
	memcpy(ret_config->hosts, c->hosts, sizeof(c->hosts));
}

void sp_page_configure(struct sp_page *p, const struct sp_agent_config *c, struct sp_web_config *web)
{
	struct sp_web_config *old = p->web;
	struct sp_http_config config;
	int r;

	p->web = web;
	sp_page_http_config(p, c, &config);
	r = sp_http_configure(p->http, &config);
	if (r < 0) { /* the old one is still in use */
		sp_log(SP_LOG_ERROR, "the web configuration is not taken over: %s", sp_error_text(r));
		sp_error_clear();
		p->web = old;
		old = web;
	}
	sp_web_config_free(old);
}
