/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_lines.c: told events, a line each: time, thread, event, fields. Texts are what programs say: they can neither
 * break a line nor a terminal.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/time.h"
#include "cmd/trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void head_print(struct sp_trace_run *run)
{
	if (!run->has_head)
		fprintf(run->out, "%-15s %-15s %7s %7s %s\n", "TIME", "COMM", "PID", "TID", "EVENT");
	run->has_head = true;
}

/* "filename=\"/etc/passwd\" flags=O_RDONLY" */
static void field_print(FILE *out, const struct sp_trace_column *column, const struct sp_trace_record *record)
{
	const char *quote = sp_trace_is_text(column) ? "\"" : "";
	char text[SP_TRACE_CELL];

	sp_trace_cell(column, record, text);
	fputc(' ', out);
	sp_encode(out, SP_ENCODE_TERMINAL, column->name);
	fprintf(out, "=%s", quote);
	sp_encode(out, SP_ENCODE_TERMINAL, text);
	fputs(quote, out);
	if (column->as == SP_TRACE_AS_TEXT && strlen(text) == column->bytes - 1)
		fputs("...", out); /* there was no room for all of it */
}

/* Of a function: then the leaf of its stack is itself. */
static bool is_call(const struct sp_trace_spec *s)
{
	bool is_later = s->n_before && !s->config.pair_stays;

	return (is_later ? s->before[0].point.at : s->point.at) == SP_AT_PROBE;
}

static void line_print(struct sp_trace_run *run, const struct sp_trace_spec *s, const struct sp_trace_record *record)
{
	uint64_t ns = record->ns + run->realtime_ns;
	char clock[16], comm[SP_COMM_LEN + 1] = "";
	int n;

	head_print(run);
	memcpy(comm, record->comm, SP_COMM_LEN);
	sp_trace_clock(ns, clock);
	fprintf(run->out, "%s.%06u ", clock, (unsigned)(ns % SP_NS_PER_S / 1000));
	sp_encode(run->out, SP_ENCODE_TERMINAL, comm);
	n = (int)strlen(comm);
	fprintf(run->out, "%*s %7u %7u ", n < 15 ? 15 - n : 0, "", record->pid, record->tid);
	sp_encode(run->out, SP_ENCODE_TERMINAL, s->shown);
	for (size_t i = 0; i < s->n_columns; i++)
		field_print(run->out, &s->columns[i], record);
	if (run->args->caller)
		sp_trace_stacks_caller(run->stacks, is_call(s), run->out);
	fputc('\n', run->out);
	if (run->args->stack)
		sp_trace_stacks_lines(run->stacks, run->out);
}

static void json_print(struct sp_trace_run *run, const struct sp_trace_spec *s, const struct sp_trace_record *record)
{
	struct sp_json j = {.out = run->out};
	char comm[SP_COMM_LEN + 1] = "";

	memcpy(comm, record->comm, SP_COMM_LEN);
	sp_json_object(&j, NULL);
	sp_json_uint(&j, "time_ns", record->ns + run->realtime_ns);
	sp_json_string(&j, "event", s->shown);
	sp_json_string(&j, "comm", comm);
	sp_json_uint(&j, "pid", record->pid);
	sp_json_uint(&j, "tid", record->tid);
	sp_json_uint(&j, "cpu", record->cpu);
	sp_json_object(&j, "fields");
	for (size_t i = 0; i < s->n_columns; i++)
		sp_trace_cell_json(&j, &s->columns[i], record);
	sp_json_end(&j);
	if (run->stacks)
		sp_trace_stacks_json(run->stacks, is_call(s), &j);
	sp_json_done(&j);
}

static void lost_print(struct sp_trace_run *run, uint64_t n_lost)
{
	struct sp_json j = {.out = run->out};

	if (!run->args->json) {
		fprintf(run->out, "... %" PRIu64 " events lost here: the buffer was full\n", n_lost);
		return;
	}
	sp_json_object(&j, NULL);
	sp_json_uint(&j, "lost", n_lost);
	sp_json_done(&j);
}

static int record_show(void *arg, const struct sp_trace_record *record, uint64_t n_lost)
{
	struct sp_trace_run *run = arg;
	const struct sp_trace_spec *s = record ? &run->specs[record->point] : NULL;

	if (s && run->stacks && sp_trace_stacks_find(run->stacks, record))
		return 1;
	if (n_lost)
		lost_print(run, n_lost);
	if (!s)
		return 0;
	if (run->args->json)
		json_print(run, s, record);
	else
		line_print(run, s, record);
	run->n_events++;
	return 0;
}

int sp_trace_lines_take(struct sp_trace_run *run, bool all)
{
	int r = run->stacks ? sp_trace_stacks_turn(run->stacks, all) : 0;

	return r < 0 ? r : sp_tracing_records(run->tracing, all, record_show, run);
}
