/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts_export.c: see counts.h. JSON: one function a line, with its callers; CSV: one line for each of those.
 * Keys and columns may be added, never changed: soprof-calls(1) says what they are.
 */
#include "base/encode.h"
#include "base/mem.h"
#include "profile/calls.h"
#include "view/calls/counts.h"
#include "view/priv.h"

#include <inttypes.h>

bool sp_counts_wanted(const struct sp_profile *p, const struct sp_view_options *o)
{
	int calls = sp_calls_table_value(p);

	return o->by == SP_BY_FUNCTION && calls >= 0 && (uint32_t)calls == o->value;
}

/* --- JSON ----------------------------------------------------------------------------------------------------------
 */
static void put_string(FILE *out, const char *key, const char *s)
{
	fprintf(out, "\"%s\":\"", key);
	sp_encode(out, SP_ENCODE_JSON, s);
	fputc('"', out);
}

static void put_hex(FILE *out, const struct sp_file *f)
{
	for (int i = 0; i < f->build_id_len; i++)
		fprintf(out, "%02x", f->build_id[i]);
}

/* Who is called, or calls: null for nobody known. */
static void put_who(const struct sp_profile *p, uint32_t func, uint32_t file, FILE *out)
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (func)
		put_string(out, "function", sp_profile_string(p, sp_profile_func(p, func)->name));
	else
		fputs("\"function\":null", out);
	if (!file)
		return;
	fputc(',', out);
	put_string(out, "library", sp_profile_string(p, f->name));
	if (f->build_id_len) {
		fputs(",\"build_id\":\"", out);
		put_hex(out, f);
		fputc('"', out);
	}
}

static void put_times(const struct sp_called *c, FILE *out)
{
	double ns, low, high;

	fprintf(out, ",\"self_ns\":%" PRId64 ",\"total_ns\":%" PRId64 ",\"outside_ns\":%" PRId64, c->self_ns,
		c->total_ns, c->outside_ns);
	fprintf(out, ",\"outside_samples\":%" PRId64, c->n_outside_samples);
	if (sp_called_time(c, &ns, &low, &high))
		fprintf(out, ",\"ns_a_call\":%.3f,\"ns_a_call_low\":%.3f,\"ns_a_call_high\":%.3f", ns, low, high);
}

/* Ranges: from, below, calls. */
static void put_latency(const struct sp_called *c, FILE *out)
{
	fprintf(out, ",\"timed\":%s,\"timed_calls\":%" PRId64 ",\"timed_ns\":%" PRId64, c->untimed ? "false" : "true",
		c->n_timed, c->timed_ns);
	if (c->n_timed)
		fprintf(out, ",\"p50_ns\":%.0f,\"p99_ns\":%.0f,\"max_ns\":%.0f", sp_called_quantile(c, 0.5),
			sp_called_quantile(c, 0.99), sp_called_quantile(c, 1));
	fputs(",\"latency\":[", out);
	for (size_t i = 0; i < c->n_ranges; i++)
		fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 "]", i ? "," : "", c->ranges[i].low_ns,
			c->ranges[i].high_ns, c->ranges[i].n);
	fputc(']', out);
}

static void put_function(const struct sp_profile *p, const struct sp_calls_table *t, const struct sp_called *c,
			 FILE *out)
{
	fputc('{', out);
	put_who(p, c->func, c->file, out);
	fputc(',', out);
	put_string(out, "linkage_name", sp_profile_string(p, sp_profile_func(p, c->func)->linkage_name));
	fprintf(out, ",\"offset\":%" PRIu64 ",\"address_taken\":%s", sp_profile_func(p, c->func)->start,
		c->address_taken ? "true" : "false");
	fprintf(out, ",\"calls\":%" PRId64 ",\"outside_calls\":%" PRId64, c->n_calls, c->n_outside);
	if (t->has_times)
		put_times(c, out);
	if (t->has_latency)
		put_latency(c, out);
	fputs(",\"callers\":[", out);
	for (size_t i = 0; i < c->n_callers; i++) {
		fputs(i ? ",{" : "{", out);
		put_who(p, c->callers[i].func, c->callers[i].file, out);
		fprintf(out, ",\"outside\":%s,\"calls\":%" PRId64 "}", c->callers[i].is_outside ? "true" : "false",
			c->callers[i].n_calls);
	}
	fputs("]}", out);
}

int sp_counts_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_calls_table t;
	int64_t left_out = 0;
	int r = sp_calls_table_new(p, &t);
	size_t n, i;

	if (r < 0)
		return r;
	n = o->limit ? SP_MIN(o->limit, t.n_rows) : t.n_rows;
	fprintf(out, "{\"format\":\"soprof-calls\",\"version\":1,\n\"calls\":%" PRId64, t.n_calls);
	if (t.has_times)
		fprintf(out, ",\"time_ns\":%" PRId64 ",\"samples\":%" PRId64, t.time_ns, t.n_samples);
	fputs(",\n\"functions\":[", out);
	for (i = 0; i < n; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_function(p, &t, &t.rows[i], out);
	}
	for (; i < t.n_rows; i++)
		left_out += t.rows[i].n_calls;
	fprintf(out, "],\n\"left_out\":{\"functions\":%zu,\"calls\":%" PRId64 "}}\n", t.n_rows - n, left_out);
	sp_calls_table_done(&t);
	return 0;
}

/* --- CSV -----------------------------------------------------------------------------------------------------------
 */
static void put_cell(FILE *out, const char *s)
{
	sp_encode(out, SP_ENCODE_CSV, s);
	fputc(',', out);
}

static void put_place(const struct sp_profile *p, uint32_t func, uint32_t file, FILE *out)
{
	const struct sp_file *f = sp_profile_file(p, file);

	put_cell(out, func ? sp_profile_string(p, sp_profile_func(p, func)->name) : "");
	put_cell(out, file ? sp_profile_string(p, f->name) : "");
	put_hex(out, f);
	fputc(',', out);
}

static void put_line(const struct sp_profile *p, const struct sp_called *c, const struct sp_called_by *by,
		     const struct sp_calls_table *t, FILE *out)
{
	double ns, low, high;

	put_place(p, c->func, c->file, out);
	put_place(p, by->func, by->file, out);
	fprintf(out, "%" PRId64 ",%s", by->n_calls, c->address_taken ? "yes" : "no");
	if (t->has_times && sp_called_time(c, &ns, &low, &high))
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%.3f,%.3f,%.3f", c->self_ns, c->total_ns, ns, low, high);
	else if (t->has_times)
		fprintf(out, ",%" PRId64 ",%" PRId64 ",,,", c->self_ns, c->total_ns);
	if (t->has_latency && c->n_timed)
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%.0f,%.0f,%.0f", c->n_timed, c->timed_ns,
			sp_called_quantile(c, 0.5), sp_called_quantile(c, 0.99), sp_called_quantile(c, 1));
	else if (t->has_latency)
		fputs(",0,0,,,", out);
	fputs("\n", out);
}

int sp_counts_put_csv(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_calls_table t;
	int r = sp_calls_table_new(p, &t);
	size_t n;

	if (r < 0)
		return r;
	n = o->limit ? SP_MIN(o->limit, t.n_rows) : t.n_rows;
	fputs("function,library,build_id,caller,caller_library,caller_build_id,calls,address_taken", out);
	fputs(t.has_times ? ",self_ns,total_ns,ns_a_call,ns_a_call_low,ns_a_call_high" : "", out);
	fputs(t.has_latency ? ",timed_calls,timed_ns,p50_ns,p99_ns,max_ns\n" : "\n", out);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < t.rows[i].n_callers; k++)
			put_line(p, &t.rows[i], &t.rows[i].callers[k], &t, out);
	sp_calls_table_done(&t);
	return 0;
}
