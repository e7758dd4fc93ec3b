/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts_export.c: see counts.h. JSON: one function a line, with its callers; CSV: one line for each of those.
 * Keys and columns may be added, never changed: soprof-calls(1) says what they are.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "profile/calls.h"
#include "view/calls/counts.h"
#include "view/priv.h"

#include <inttypes.h>

bool sp_counts_wanted(const struct sp_profile *p, const struct sp_view_options *o)
{
	int calls = sp_calls_table_value(p);

	return o->by == SP_TOTAL_BY_FUNCTION && calls >= 0 && (uint32_t)calls == o->value;
}

/* --- JSON --- */
/* Caller or callee; null if not known. */
static void put_who(const struct sp_profile *p, uint32_t func, uint32_t file, struct sp_json *j)
{
	const struct sp_file *f = sp_profile_file(p, file);

	sp_json_string(j, "function", func ? sp_profile_string(p, sp_profile_func(p, func)->name) : NULL);
	if (file)
		sp_json_string(j, "library", sp_profile_string(p, f->name));
	if (file && f->build_id_len)
		sp_json_hex(j, "build_id", f->build_id, f->build_id_len);
}

static void put_times(const struct sp_callee *c, struct sp_json *j)
{
	double ns, low, high;

	sp_json_ints(j, {"self_ns", c->self_ns}, {"total_ns", c->total_ns}, {"outside_ns", c->outside_ns},
		     {"outside_samples", c->n_outside_samples});
	if (!sp_callee_time(c, &ns, &low, &high))
		return;
	sp_json_format(j, "ns_a_call", "%.3f", ns);
	sp_json_format(j, "ns_a_call_low", "%.3f", low);
	sp_json_format(j, "ns_a_call_high", "%.3f", high);
}

/* Ranges: from, below, calls. */
static void put_latency(const struct sp_callee *c, struct sp_json *j)
{
	sp_json_bool(j, "timed", !c->untimed);
	sp_json_ints(j, {"timed_calls", c->n_timed}, {"timed_ns", c->timed_ns});
	if (c->n_timed) {
		sp_json_format(j, "p50_ns", "%.0f", sp_callee_quantile(c, 0.5));
		sp_json_format(j, "p99_ns", "%.0f", sp_callee_quantile(c, 0.99));
		sp_json_format(j, "max_ns", "%.0f", sp_callee_quantile(c, 1));
	}
	sp_json_array(j, "latency");
	for (size_t i = 0; i < c->n_ranges; i++)
		sp_json_format(j, NULL, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", c->ranges[i].low_ns,
			       c->ranges[i].high_ns, c->ranges[i].n);
	sp_json_end(j);
}

static void counts_export_put_function(const struct sp_profile *p, const struct sp_calls_table *t,
				       const struct sp_callee *c, struct sp_json *j)
{
	const struct sp_func *func = sp_profile_func(p, c->func);

	sp_json_object(sp_json_line(j), NULL);
	put_who(p, c->func, c->file, j);
	sp_json_string(j, "linkage_name", sp_profile_string(p, func->linkage_name));
	sp_json_uint(j, "offset", func->start);
	sp_json_bool(j, "address_taken", c->address_taken);
	sp_json_ints(j, {"calls", c->n_calls}, {"outside_calls", c->n_outside});
	if (t->has_times)
		put_times(c, j);
	if (t->has_latency)
		put_latency(c, j);
	sp_json_array(j, "callers");
	for (size_t i = 0; i < c->n_callers; i++) {
		sp_json_object(j, NULL);
		put_who(p, c->callers[i].func, c->callers[i].file, j);
		sp_json_bool(j, "outside", c->callers[i].is_outside);
		sp_json_int(j, "calls", c->callers[i].n_calls);
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_json_end(j);
}

int sp_counts_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct sp_json j = {.out = out};
	struct sp_calls_table t;
	int64_t left_out = 0;
	int r = sp_calls_table_new(p, &t);
	size_t n, i;

	if (r < 0)
		return r;
	n = o->limit ? SP_MIN(o->limit, t.n_rows) : t.n_rows;
	sp_json_object(&j, NULL);
	sp_json_string(&j, "format", "soprof-calls");
	sp_json_int(&j, "version", 1);
	sp_json_int(sp_json_line(&j), "calls", t.n_calls);
	if (t.has_times)
		sp_json_ints(&j, {"time_ns", t.time_ns}, {"samples", t.n_samples});
	sp_json_array(sp_json_line(&j), "functions");
	for (i = 0; i < n; i++)
		counts_export_put_function(p, &t, &t.rows[i], &j);
	for (; i < t.n_rows; i++)
		left_out += t.rows[i].n_calls;
	sp_json_end(&j);
	sp_json_object(sp_json_line(&j), "left_out");
	sp_json_ints(&j, {"functions", (int64_t)(t.n_rows - n)}, {"calls", left_out});
	sp_json_done(&j);
	sp_calls_table_done(&t);
	return 0;
}

/* --- CSV --- */
static void put_hex(FILE *out, const struct sp_file *f)
{
	for (int i = 0; i < f->build_id_len; i++)
		fprintf(out, "%02x", f->build_id[i]);
}

static void counts_export_put_cell(FILE *out, const char *s)
{
	sp_encode(out, SP_ENCODE_CSV, s);
	fputc(',', out);
}

static void put_place(const struct sp_profile *p, uint32_t func, uint32_t file, FILE *out)
{
	const struct sp_file *f = sp_profile_file(p, file);

	counts_export_put_cell(out, func ? sp_profile_string(p, sp_profile_func(p, func)->name) : "");
	counts_export_put_cell(out, file ? sp_profile_string(p, f->name) : "");
	put_hex(out, f);
	fputc(',', out);
}

static void counts_export_put_line(const struct sp_profile *p, const struct sp_callee *c,
				   const struct sp_callee_caller *by, const struct sp_calls_table *t, FILE *out)
{
	double ns, low, high;

	put_place(p, c->func, c->file, out);
	put_place(p, by->func, by->file, out);
	fprintf(out, "%" PRId64 ",%s", by->n_calls, c->address_taken ? "yes" : "no");
	if (t->has_times && sp_callee_time(c, &ns, &low, &high))
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%.3f,%.3f,%.3f", c->self_ns, c->total_ns, ns, low, high);
	else if (t->has_times)
		fprintf(out, ",%" PRId64 ",%" PRId64 ",,,", c->self_ns, c->total_ns);
	if (t->has_latency && c->n_timed)
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%.0f,%.0f,%.0f", c->n_timed, c->timed_ns,
			sp_callee_quantile(c, 0.5), sp_callee_quantile(c, 0.99), sp_callee_quantile(c, 1));
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
			counts_export_put_line(p, &t.rows[i], &t.rows[i].callers[k], &t, out);
	sp_calls_table_done(&t);
	return 0;
}
