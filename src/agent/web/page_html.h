/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_html.h: the agent's page, as it is in this program: HTML of one piece, that asks its own server only.
 *
 * Made of web/page.html and the html view's own modules when the program is built (tools/make-page). The policy is for
 * the header Content-Security-Policy (the page has it too, but for what only a header can say: frame-ancestors); it
 * allows the page's one script and style by their hashes, and to ask the page's own address. The address's fragment may
 * bring a token (#token=...), which the page takes out of it and sends with what it asks, as Authorization: Bearer.
 * Constant.
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
