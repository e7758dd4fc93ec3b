/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics_answer.c: /metrics. Written into memory at once: a fraction of a millisecond for 2,000 series. gzip, which
 * scrapers ask for, costs more than that even at its fastest level.
 */
#include "agent/export/metrics.h"
#include "base/error.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "http/http.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 320 };

/* ?format=text and ?format=openmetrics are for clients that cannot set Accept. */
static int choose_form(const struct sp_http_request *q, enum sp_expo_form *ret_form)
{
	const char *query = sp_http_query(q);

	*ret_form = sp_expo_accepted(sp_http_header(q, "Accept"));
	if (!*query)
		return 0;
	if (!strcmp(query, "format=text"))
		*ret_form = SP_EXPO_TEXT;
	else if (!strcmp(query, "format=openmetrics"))
		*ret_form = SP_EXPO_OPENMETRICS;
	else
		return -EINVAL;
	return 0;
}

/* Replaces the text. On failure it is sent uncompressed. */
static bool compress_text(struct sp_expo *x)
{
	char *compressed;
	size_t n;

	if (sp_gzip(x->text, x->n, 1, &compressed, &n) < 0)
		return false;
	free(x->text);
	x->text = compressed;
	x->n = n;
	return true;
}

void sp_metrics_answer(struct sp_metrics *m, struct sp_http_request *q, const char *scheme)
{
	const char *host = sp_http_header(q, "Host");
	struct sp_http_answer a = {.status = 200};
	struct sp_expo x = {0};
	char page[PAGE];

	if (choose_form(q, &x.form) < 0) {
		sp_http_say(q, 400, "/metrics takes nothing but format=text or format=openmetrics\n");
		return;
	}
	snprintf(page, sizeof(page), "%s://%s/", scheme, host ? host : "localhost");
	x.page = page;
	if (sp_metrics_write(m, &x) < 0) {
		sp_http_say(q, 503, "There is no memory for the metrics.\n");
		sp_error_clear();
	} else {
		a.type = sp_expo_mime(x.form);
		if (sp_http_accepts(q, "gzip") && compress_text(&x))
			a.coding = "gzip";
		a.n = x.n;
		a.text = sp_take_ptr(x.text);
		sp_http_answer(q, &a);
	}
	sp_expo_done(&x);
}
