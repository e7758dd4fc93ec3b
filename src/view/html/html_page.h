/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_page.h: the HTML page around a block of data: one file that needs nothing else.
 *
 * The page (web/report.html, its style and its script) is the same whatever the data: its security policy allows that
 * one script and that one style by their hashes, and nothing else, no address at all. What is put into it: the title,
 * which is encoded here; what a reader without scripts sees, markup that the caller encodes; and the data, JSON without
 * a single `<` (base/encode.h writes none), which stands in a script element that is never run. See html_data.h.
 * The stream's error flag is the result. Reentrant.
 */
#ifndef SP_VIEW_HTML_HTML_PAGE_H
#define SP_VIEW_HTML_HTML_PAGE_H

#include <stdio.h>

struct sp_html_page {
	const char *title; /* any bytes */
	int (*put_static)(FILE *out, void *arg);
	int (*put_data)(FILE *out, void *arg);
	void *arg;
};

/* 0, or the first negative errno that a callback returned. */
int sp_html_page_write(const struct sp_html_page *page, FILE *out);

#endif
