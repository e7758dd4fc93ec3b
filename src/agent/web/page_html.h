/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_html.h: the agent's page, built into the program: one piece of HTML that asks only its own server.
 *
 * Made of web/page.html and modules of the html view by tools/make-page. `policy` is the header Content-Security-Policy
 * (the page has it, too, but frame-ancestors works only in the header): it allows the page's one script and style by
 * their hashes, and requests to its own address. The URL's fragment may have a token (#token=...), which the page
 * removes from it and sends as Authorization: Bearer. Constant.
 */
#ifndef SP_AGENT_WEB_PAGE_HTML_H
#define SP_AGENT_WEB_PAGE_HTML_H

#include <stddef.h>

struct sp_web_page {
	const char *html;
	size_t n; /* bytes */
	const char *policy;
};
extern const struct sp_web_page sp_web_page;

#endif
