/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_export.c: the rows for scripts, numbers in full. Columns and keys may be added at the end, never changed:
 * soprof-calls(1) says what they are. What was lost is told there, too.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/calls/machine_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static struct sp_machine_sum sum_of(const struct sp_machine_shown *s, const struct sp_machine_row *row)
{
	return s->since ? sp_machine_since(row) : row->all;
}

static void put_word(const char *word, FILE *out)
{
	sp_encode(out, SP_ENCODE_CSV, word);
	fputc(',', out);
}

/* Nothing where calls are exact; no upper end where it is not known. */
static void csv_put_interval(const struct sp_machine_shown *s, const struct sp_machine_row *row, FILE *out)
{
	double low, high;

	if (s->since || !sp_machine_interval(s->rows, row, &low, &high))
		fputs(",\n", out);
	else if (isinf(high))
		fprintf(out, "%.0f,\n", low);
	else
		fprintf(out, "%.0f,%.0f\n", low, high);
}

static void csv_put_row(const struct sp_machine_shown *s, const struct sp_machine_row *row, FILE *out)
{
	const struct sp_machine_function *f = &s->rows->targets->functions[row->of];
	struct sp_machine_sum sum = sum_of(s, row);
	char user[64];
	const char *library, *who = sp_machine_who(s->rows, row, user, sizeof(user), &library);

	put_word(sp_machine_by_name(s->rows->by), out);
	put_word(row->function == UINT32_MAX ? "" : f->name, out);
	put_word(f->library, out);
	put_word(f->build_id, out);
	put_word(who, out);
	put_word(library, out);
	if (row->pid)
		fprintf(out, "%" PRIu32, row->pid);
	fprintf(out, ",%" PRIu64 ",%.6f,", sum.n_calls, s->seconds);
	if (s->args->latency)
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.0f,%.0f,", sum.times.sum_ns,
			sp_machine_least_ns(&sum), sum.times.max_ns, sp_machine_quantile(&sum, 0.5),
			sp_machine_quantile(&sum, 0.99));
	else
		fputs(",,,,,", out);
	csv_put_interval(s, row, out);
}

int sp_machine_put_csv(const struct sp_machine_shown *s, FILE *out)
{
	SP_FREE uint32_t *order = NULL;
	size_t n;
	int r = sp_machine_rows_sort(s->rows, s->since, &order, &n);

	if (r < 0)
		return r;
	if (s->has_head)
		fputs("by,function,library,build_id,who,caller_library,pid,calls,seconds,total_ns,min_ns,max_ns,p50_ns,"
		      "p99_ns,calls_low,calls_high\n",
		      out);
	for (size_t i = 0; i < n; i++)
		csv_put_row(s, &s->rows->rows[order[i]], out);
	return 0;
}

static void json_put_times(const struct sp_machine_sum *sum, struct sp_json *j)
{
	sp_json_object(j, "latency");
	sp_json_uint(j, "total_ns", sum->times.sum_ns);
	sp_json_uint(j, "min_ns", sp_machine_least_ns(sum));
	sp_json_uint(j, "max_ns", sum->times.max_ns);
	sp_json_array(j, "histogram");
	for (size_t i = 0; i < SP_PROBED_BUCKETS; i++) {
		if (!sum->times.n[i])
			continue;
		sp_json_object(j, NULL);
		sp_json_uint(j, "from_ns", i ? UINT64_C(1) << i : 0);
		sp_json_uint(j, "below_ns", UINT64_C(2) << i);
		sp_json_uint(j, "calls", sum->times.n[i]);
		sp_json_end(j);
	}
	sp_json_end(j);
	sp_json_end(j);
}

static void json_put_interval(const struct sp_machine_shown *s, const struct sp_machine_row *row, struct sp_json *j)
{
	double low, high;

	if (s->since || !sp_machine_interval(s->rows, row, &low, &high))
		return;
	sp_json_format(j, "calls_low", "%.0f", low);
	if (!isinf(high))
		sp_json_format(j, "calls_high", "%.0f", high);
}

static void json_put_row(const struct sp_machine_shown *s, const struct sp_machine_row *row, struct sp_json *j)
{
	const struct sp_machine_function *f = &s->rows->targets->functions[row->of];
	struct sp_machine_sum sum = sum_of(s, row);
	char user[64];
	const char *library, *who = sp_machine_who(s->rows, row, user, sizeof(user), &library);

	sp_json_object(sp_json_line(j), NULL);
	sp_json_word(j, "function", row->function == UINT32_MAX ? NULL : f->name);
	sp_json_word(j, "library", f->library);
	sp_json_word(j, "path", f->path);
	sp_json_word(j, "build_id", f->build_id);
	sp_json_word(j, sp_machine_by_name(s->rows->by), who);
	sp_json_word(j, "caller_library", library);
	if (row->pid)
		sp_json_uint(j, "pid", row->pid);
	sp_json_uint(j, "calls", sum.n_calls);
	json_put_interval(s, row, j);
	if (s->args->latency)
		json_put_times(&sum, j);
	sp_json_end(j);
}

int sp_machine_put_json(const struct sp_machine_shown *s, FILE *out)
{
	struct sp_json j = {.out = out};
	SP_FREE uint32_t *order = NULL;
	size_t n;
	int r = sp_machine_rows_sort(s->rows, s->since, &order, &n);

	if (r < 0)
		return r;
	sp_json_object(&j, NULL);
	sp_json_string(&j, "format", "soprof-calls");
	sp_json_int(&j, "version", 1);
	sp_json_string(&j, "by", sp_machine_by_name(s->rows->by));
	sp_json_format(&j, "seconds", "%.6f", s->seconds);
	sp_json_array(sp_json_line(&j), "rows");
	for (size_t i = 0; i < n; i++)
		json_put_row(s, &s->rows->rows[order[i]], &j);
	sp_json_end(&j);
	sp_json_object(sp_json_line(&j), "lost");
	sp_json_uint(&j, "no_room", sp_counting_lost(s->counting, SP_PROBED_N_NO_ROOM));
	sp_json_uint(&j, "no_start", sp_counting_lost(s->counting, SP_PROBED_N_NO_START));
	sp_json_uint(&j, "no_begin", sp_counting_lost(s->counting, SP_PROBED_N_NO_BEGIN));
	sp_json_uint(&j, "no_caller", sp_counting_lost(s->counting, SP_PROBED_N_UNREAD));
	sp_json_uint(&j, "unreturned", sp_machine_unreturned(s));
	sp_json_done(&j);
	return 0;
}
