/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html: the interactive report, one file for a browser: flame graph, libraries, who calls whom, search.
 *
 * html_page.h has the page, html_data.h its data. This file writes what a reader without scripts sees: the table of
 * libraries.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "view/html/html_data.h"
#include "view/html/html_page.h"
#include "view/svg/svg_text.h"
#include "view/units.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct source {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	const struct sp_totals *totals; /* of libraries */
};

static void html_put_text(FILE *out, const char *text)
{
	sp_encode(out, SP_ENCODE_XML, text);
}

static void html_put_line(FILE *out, const char *text)
{
	SP_FREE char *line = strndup(text, strcspn(text, "\n"));
	html_put_text(out, line ? line : "");
}

static int html_put_amount(FILE *out, const struct source *from, int64_t value, int64_t of)
{
	const struct sp_value_type *type = sp_profile_value_type(from->p, from->o->value);
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	const char *sign = value < 0 ? "-" : "";
	char amount[64];
	SP_FREE char *percent = sp_svg_fixed(fabs(sp_percent(value, of)), 2);
	if (!percent)
		return -ENOMEM;
	sp_unit_write(sp_profile_string(from->p, type->unit), size, amount, sizeof(amount));
	fprintf(out, "<td>%s", sign);
	html_put_text(out, amount);
	fprintf(out, "</td><td>%s%s%%</td>", sign, percent);
	return 0;
}

static void put_labels(FILE *out, const struct sp_profile *p, const struct sp_file *file)
{
	fputs("<td>", out);
	for (size_t i = 0; i < SP_MIN(file->build_id_len, (size_t)SP_BUILD_ID_MAX); i++)
		fprintf(out, "%02x", file->build_id[i]);
	fputs("</td><td>", out);
	html_put_text(out, sp_profile_string(p, file->package));
	fputs("</td></tr>\n", out);
}

static int html_put_row(FILE *out, const struct source *from, const struct sp_total *row, int64_t all)
{
	const char *name = sp_total_name(from->p, SP_TOTAL_BY_LIBRARY, row);
	fputs("<tr><td><bdi>", out);
	html_put_text(out, name[0] ? name : "[unknown]");
	fputs("</bdi></td>", out);
	int r = html_put_amount(out, from, row->self, all);
	if (r >= 0)
		r = html_put_amount(out, from, row->total, all);
	if (r < 0)
		return r;
	fprintf(out, "<td>%" PRId64 "</td>", row->n_samples);
	put_labels(out, from->p, sp_profile_file(from->p, row->none ? 0 : row->id));
	return 0;
}

static int put_table(FILE *out, const struct source *from, const struct sp_totals *totals)
{
	int r = 0;
	fputs("<table>\n<tr><th>Library</th><th>Self</th><th></th><th>Total</th><th></th><th>Samples</th>"
	      "<th>Build id</th><th>Package</th></tr>\n",
	      out);
	for (size_t i = 0; i < totals->n_rows && r >= 0; i++)
		r = html_put_row(out, from, &totals->rows[i], totals->value);
	fputs("</table>\n", out);
	return r;
}

static int put_static(FILE *out, void *arg)
{
	const struct source *from = arg;
	fputs("<h1>", out);
	html_put_text(out, from->o->title ? from->o->title : "Profile");
	fputs("</h1>\n<p>", out);
	html_put_line(out, from->o->subtitle ? from->o->subtitle : "");
	fputs("</p>\n<p>The flame graph and all else that moves need scripts, which are off in this browser. "
	      "This is what each library cost.</p>\n",
	      out);
	if (from->totals->n_rows)
		return put_table(out, from, from->totals);
	fputs("<p>There were no samples.</p>\n", out);
	return 0;
}

static int put_data(FILE *out, void *arg)
{
	const struct source *from = arg;
	struct sp_view_options o = *from->o;
	o.by = SP_TOTAL_BY_LIBRARY;
	o.totals = from->totals;
	return sp_html_data_write(from->p, &o, out);
}

static int write_html(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_totals totals = {0};
	struct source from = {.p = p, .o = o, .totals = &totals};
	struct sp_html_page page = {
	    .title = o->title ? o->title : "Profile", .put_static = put_static, .put_data = put_data, .arg = &from};
	if (o->value >= sp_profile_n_value_types(p))
		return sp_fail(-EINVAL, "value %u of a profile that has %u", o->value, sp_profile_n_value_types(p));
	int r = sp_totals_by(p, SP_TOTAL_BY_LIBRARY, o->value, &totals);
	if (r >= 0)
		r = sp_html_page_write(&page, out);
	sp_totals_done(&totals);
	return r < 0 ? sp_fail(r, "write the page") : 0;
}

const struct sp_view sp_view_html = {
    .name = "html",
    .suffix = ".html",
    .mime = "text/html; charset=utf-8",
    .summary = "interactive report, one file for a browser",
    .packages = true,
    .shows_all = true,
    .slices = true,
    .write = write_html,
};
