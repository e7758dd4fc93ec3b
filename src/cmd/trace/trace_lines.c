/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_lines.c: told events, a line each: time, thread, event, fields. Texts are what programs say: they can neither
 * break a line nor a terminal. On a terminal that is narrow the columns in front are, too; on one that is not wide
 * names of fields stand above where they were chosen, and on any long texts are cut where the line would be longer than
 * it; a line that does not fit all the same goes on below.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/trace/trace.h"
#include "trace/presets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NARROW = 100, BRIEF = 140 };
/* Columns of a text, tried one after the other until the line fits; 0: all of it. */
static const unsigned text_columns[] = {0, 64, 56, 48, 40, 32, 28, 24, 20, 16, 12};

static bool is_narrow(const struct sp_trace_run *run)
{
	return run->width && run->width < NARROW;
}

/* What is shown of the only event was chosen, so its name and those of its fields need not be in each line. */
static bool is_brief(const struct sp_trace_run *run)
{
	const char *event = run->specs[0].event;
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));

	return run->width && run->width < BRIEF && run->n_specs == 1 && (run->args->print || (preset && preset->print));
}

static void head_print(struct sp_trace_run *run)
{
	const struct sp_trace_spec *s = &run->specs[0];

	if (run->has_head && run->head_is_brief == run->is_brief)
		return;
	run->has_head = true;
	run->head_is_brief = run->is_brief;
	if (is_narrow(run))
		fprintf(run->out, "%-12s %-10s %7s", "TIME", "COMM", "PID/TID");
	else
		fprintf(run->out, "%-15s %-15s %7s %7s", "TIME", "COMM", "PID", "TID");
	if (!run->is_brief)
		fputs(" EVENT", run->out);
	for (size_t i = 0; i < s->n_columns && run->is_brief; i++) {
		fputc(' ', run->out);
		sp_encode(run->out, SP_ENCODE_TERMINAL, s->columns[i].name);
	}
	fputc('\n', run->out);
}

static void comm_print(FILE *out, const struct sp_trace_record *record, int columns)
{
	char comm[SP_COMM_LEN + 1] = "";
	int n;

	memcpy(comm, record->comm, SP_COMM_LEN);
	sp_encode(out, SP_ENCODE_TERMINAL, comm);
	n = (int)strlen(comm);
	fprintf(out, "%*s ", n < columns ? columns - n : 0, "");
}

/* When, and in which thread. */
static void front_print(const struct sp_trace_run *run, const struct sp_trace_record *record, FILE *out)
{
	uint64_t ns = record->ns + run->realtime_ns;
	char clock[16], who[32];
	int n;

	sp_trace_clock(ns, clock);
	if (!is_narrow(run)) {
		fprintf(out, "%s.%06u ", clock, (unsigned)(ns % SP_NS_PER_S / 1000));
		comm_print(out, record, 15);
		fprintf(out, "%7u %7u ", record->pid, record->tid);
		return;
	}
	fprintf(out, "%s.%03u ", clock, (unsigned)(ns % SP_NS_PER_S / 1000000));
	comm_print(out, record, 10);
	n = snprintf(who, sizeof(who), "%u", record->pid);
	if (record->tid != record->pid)
		snprintf(who + n, sizeof(who) - (size_t)n, "/%u", record->tid);
	fprintf(out, "%7s ", who);
}

/* Between quotes. most: its columns; 0: all. */
static void text_print(FILE *out, const char *text, unsigned most)
{
	SP_FREE char *whole = most ? sp_encoded(SP_ENCODE_QUOTED, text) : NULL;
	SP_FREE char *cut = whole ? sp_terminal_cut(whole, most) : NULL;

	fputc('"', out);
	if (cut)
		fputs(cut, out);
	else
		sp_encode(out, SP_ENCODE_QUOTED, text);
	fputc('"', out);
}

/* "O_RDONLY|O_CLOEXEC" -> "RDONLY|CLOEXEC" */
static void flags_shorten(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++)
		if (c[0] == 'O' && c[1] == '_')
			c++;
		else
			*to++ = *c;
	*to = '\0';
}

/* "filename=\"/etc/passwd\" flags=O_RDONLY", or "\"/etc/passwd\" RDONLY" */
static void field_print(FILE *out, const struct sp_trace_column *column, const struct sp_trace_record *record,
			unsigned most, bool brief)
{
	char text[SP_TRACE_CELL];

	sp_trace_cell(column, record, text);
	if (brief && column->as == SP_TRACE_AS_OPEN_FLAGS)
		flags_shorten(text);
	if (!brief) {
		sp_encode(out, SP_ENCODE_TERMINAL, column->name);
		fputc('=', out);
	}
	if (sp_trace_is_text(column))
		text_print(out, text, most);
	else
		sp_encode(out, SP_ENCODE_TERMINAL, text);
	if (column->as == SP_TRACE_AS_TEXT && strlen(text) == column->bytes - 1)
		fputs("...", out); /* there was no room for all of it */
}

/* Of a function: then the leaf of its stack is itself. */
static bool is_call(const struct sp_trace_spec *s)
{
	bool is_later = s->n_before && !s->config.pair_stays;

	return (is_later ? s->before[0].point.at : s->point.at) == SP_AT_PROBE;
}

/* What stands behind the thread. */
static void rest_print(const struct sp_trace_run *run, const struct sp_trace_spec *s,
		       const struct sp_trace_record *record, unsigned most, FILE *out)
{
	if (!run->is_brief)
		sp_encode(out, SP_ENCODE_TERMINAL, s->shown);
	for (size_t i = 0; i < s->n_columns; i++) {
		fputs(i || !run->is_brief ? " " : "", out);
		field_print(out, &s->columns[i], record, most, run->is_brief);
	}
	if (run->args->caller)
		sp_trace_stacks_caller(run->stacks, is_call(s), out);
}

struct parts { /* of a line */
	char *front, *rest;
};

static void parts_free(struct parts *p)
{
	free(p->front);
	free(p->rest);
}

/* With texts of so many columns. False: out of memory. */
static bool parts_make(const struct sp_trace_run *run, const struct sp_trace_spec *s,
		       const struct sp_trace_record *record, unsigned most, struct parts *ret)
{
	size_t size;
	FILE *front = open_memstream(&ret->front, &size), *rest = open_memstream(&ret->rest, &size);
	bool is_whole = front && rest;

	if (is_whole) {
		front_print(run, record, front);
		rest_print(run, s, record, most, rest);
	}
	is_whole &= front && !fclose(front);
	is_whole &= rest && !fclose(rest);
	return is_whole;
}

/* Whether it was as long as the terminal is wide, or less, and is printed. */
static bool parts_fit(const struct sp_trace_run *run, const struct parts *p)
{
	SP_FREE char *line = NULL, *cut = NULL;
	bool fits;

	if (asprintf(&line, "%s%s", p->front, p->rest) < 0)
		return false;
	cut = sp_terminal_cut(line, run->width);
	fits = cut && !strcmp(cut, line);
	if (fits)
		fprintf(run->out, "%s\n", line);
	return fits;
}

/* On a terminal. Where it would not help to cut texts they are whole, and the line goes on below. */
static void line_fit(const struct sp_trace_run *run, const struct sp_trace_spec *s,
		     const struct sp_trace_record *record)
{
	struct parts p = {NULL, NULL};
	unsigned column = 0;

	for (size_t i = 0; i < SP_COUNT(text_columns); i++) {
		struct parts cut = {NULL, NULL};
		bool fits = parts_make(run, s, record, text_columns[i], &cut) && parts_fit(run, &cut);

		parts_free(&cut);
		if (fits)
			return;
	}
	if (parts_make(run, s, record, 0, &p)) {
		for (const char *c = p.front; *c; c++)
			column += (*c & 0xc0) != 0x80;
		fputs(p.front, run->out);
		sp_terminal_wrap(p.rest, column, run->width, run->out);
	}
	parts_free(&p);
}

static void line_print(struct sp_trace_run *run, const struct sp_trace_spec *s, const struct sp_trace_record *record)
{
	head_print(run);
	if (run->width) {
		line_fit(run, s, record);
	} else {
		front_print(run, record, run->out);
		rest_print(run, s, record, 0, run->out);
		fputc('\n', run->out);
	}
	if (run->args->stack)
		sp_trace_stacks_lines(run->stacks, run->width, run->out);
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

	run->width = sp_terminal_width(run->out, NULL); /* which may change */
	run->is_brief = is_brief(run);
	return r < 0 ? r : sp_tracing_records(run->tracing, all, record_show, run);
}
