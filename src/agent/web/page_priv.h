/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_priv.h: struct sp_page. page.c has the routes, page_tls.c the web configuration and passwords.
 *
 * A request that a process answers has a slot in waiting[] until its answer is handed over or its client hangs up. The
 * page owns everything. One thread.
 */
#ifndef SP_AGENT_WEB_PAGE_PRIV_H
#define SP_AGENT_WEB_PAGE_PRIV_H

#include "agent/request.h"
#include "agent/web/page.h"
#include "http/web_config.h"
#include <sys/types.h>

/* Requests that a process answers; of these so many of wait=1, which last for minutes, and of one client. */
enum { SP_PAGE_WAITING = 32, SP_PAGE_TIMED = SP_PAGE_WAITING / 2, SP_PAGE_OF_CLIENT = SP_PAGE_WAITING * 3 / 4 };

/* A request in progress: with wait=1 it waits until at_ns, then it is submitted to the server. */
struct sp_page_waiting {
	struct sp_page *page;
	struct sp_http_request *request; /* NULL = the slot is free */
	struct sp_client *client;
	int output;
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0 = submitted */
	uint64_t from_ns, to_ns;
	bool is_profile, is_timed; /* timed: of wait=1 */
};

struct sp_page {
	struct sp_page_owner owner;
	struct sp_http *http;
	struct sp_web_config *web; /* NULL = none */
	/* The password that a process compares. */
	struct sp_client *verifying;
	int verify_output;
	bool is_unpaid_told;
	char token[SP_TOKEN_TEXT];
	struct sp_page_waiting waiting[SP_PAGE_WAITING];
	char etag[32], policy[1024];
	char *fleet;      /* the page, where it is a fleet's; NULL: it is sp_web_page's */
	const char *html; /* either */
	size_t n_html;
	char *small; /* as gzip */
	size_t n_small;
};

/* Reads the first line of an answer into text; returns its length, or a negative errno. */
ssize_t sp_page_head(int fd, char text[SP_LINE_MAX], struct sp_line *ret_head);
/* The part of the configuration that a reload changes, too. */
void sp_page_http_config(struct sp_page *p, const struct sp_agent_config *c, struct sp_http_config *ret_config);
void sp_page_verify_end(struct sp_page *p);
/* Logs, once, that somebody's handshakes are refused. */
void sp_page_tell_unpaid(struct sp_page *p);

#endif
