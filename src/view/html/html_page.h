/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_page.h: the HTML page around a block of data: one file without external resources.
 *
 * The page (web/report.html with its style and script) does not depend on the data: its Content-Security-Policy
 * allows that one script and style by their hashes, and nothing else. Inserted are the title, which is encoded here;
 * a static part for readers without scripts, encoded by the caller; and the data, JSON without any `<` (base/encode.h
 * writes none), in a script element that is not executed. See html_data.h.
 * Errors of the stream are in its error flag. Reentrant.
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
