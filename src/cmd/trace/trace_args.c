/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/trace/trace.h"
#include "trace/presets.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
	MAX_ROWS = 1 << 24,
};

enum { FORMAT = 1 }; /* options of one set exclude each other */

static int min_parse(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	(void)o;
	if (sp_parse_duration(value, &((struct sp_trace_args *)args)->min_ns) < 0)
		return sp_fail_said(-EINVAL, "%s: '%s' is no time, as 10ms or 500us is", shown, value);
	return 0;
}

static int list_parse(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	(void)o, (void)shown;
	((struct sp_trace_args *)args)->list = value;
	return 0;
}

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_trace_args, member)
const struct sp_option sp_trace_options[] = {
	{SP_OPT_STRING, 0, "by", "KEY[,KEY]", "count by these expressions: comm, pid, fields of the event; or by caller, the library that called", AT(by), .separator = ','},
	{SP_OPT_STRING, 0, "sum", "EXPR[,EXPR]", "and sum this up", AT(sum)},
	{SP_OPT_STRING, 0, "hist", "EXPR", "count by powers of two of this, as a histogram", AT(hist)},
	{SP_OPT_FLAG, 0, "count", NULL, "only count", AT(count)},
	{SP_OPT_STRING, 0, "print", "EXPR[,EXPR]", "what to tell of each event (all its fields)", AT(print)},
	{SP_OPT_FLAG, 0, "caller", NULL, "tell of each event which library called, and which of its functions", AT(caller)},
	{SP_OPT_FLAG, 0, "stack", NULL, "tell the whole stack of each event, below its line", AT(stack)},
	{SP_OPT_OTHER, 0, "min", "TIME", "of what lasts, only what takes at least so long: 10ms, 500us", .parse = min_parse},
	{SP_OPT_OTHER, 0, "list", "[GLOB]", "which presets there are; -v: with what each stands for", .parse = list_parse, .without = ""},
	{SP_OPT_FLAG, 'v', "verbose", NULL, "with --list", AT(verbose)},
	{SP_OPT_NUMBER, 0, "top", "N", "rows or histograms shown (0 = all)", AT(top), .min = 0, .max = UINT32_MAX},
	{SP_OPT_NUMBER, 'I', "interval", "SECONDS", "show what is new each SECONDS", AT(interval_s), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "in these processes only", AT(pids), .min = 1, .max = SP_MAX_PID},
	{SP_OPT_STRING, 0, "comm", "NAME", "in threads of this name only; NAME* is a beginning", AT(comm)},
	{SP_OPT_STRING, 0, "cgroup", "PATH", "in this cgroup only, and those in it", AT(cgroup)},
	{SP_OPT_NUMBER, 0, "rows", "N", "different rows kept (65536)", AT(max_rows), .min = 1, .max = MAX_ROWS},
	{SP_OPT_FLAG, 0, "csv", NULL, "rows as CSV", AT(csv), .excludes = FORMAT},
	{SP_OPT_FLAG, 0, "json", NULL, "JSON, an object a line", AT(json), .excludes = FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE", AT(output)},
	{SP_OPT_OPERANDS, 0, NULL, "EVENT[FILTER]... [SECONDS]", "presets (--list), tracepoints, functions, pairs: opens, SYSTEM:EVENT, LIBRARY:FUNCTION, A..B", AT(operands)},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND", "runs COMMAND, and traces it and all that it starts", AT(command)},
	{0},
};
/* clang-format on */

/* "EVENT 10": the last word, if it is a number. */
static int seconds_take(struct sp_trace_args *a)
{
	const struct sp_option seconds = {
	    .type = SP_OPT_NUMBER, .offset = offsetof(struct sp_trace_args, seconds), .min = 1, .max = SP_MAX_SECONDS};
	const char *last = a->operands.n ? a->operands.words[a->operands.n - 1] : "";

	if (!*last || last[strspn(last, "0123456789")])
		return 0;
	a->operands.n--;
	return sp_option_store(&seconds, "SECONDS", last, a);
}

/* What a preset is for is shown where nothing else is asked for; with --by, for each key. */
static void preset_apply(struct sp_trace_args *a)
{
	const char *event = a->operands.words[0];
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));

	if (!preset || a->sum || a->hist || a->count || a->print)
		return;
	if (sp_trace_is_by_caller(a))
		return;
	a->hist = preset->hist;
	if (!a->by)
		a->by = preset->by;
	if (!preset->hist && a->by == preset->by)
		a->sum = preset->sum;
}

static int args_check(struct sp_trace_args *a)
{
	int r = seconds_take(a);

	if (r < 0)
		return r;
	if (a->list)
		return 0;
	if (!a->operands.n)
		return sp_fail_said(-EINVAL, "which event? For example: soprof trace sched:sched_process_exec");
	if (a->operands.n > SP_TRACE_POINTS)
		return sp_fail_said(-EINVAL, "more than %d events", SP_TRACE_POINTS);
	preset_apply(a);
	if (a->print && !sp_trace_tells(a))
		return sp_fail_said(-EINVAL,
				    "--print is for events printed one by one: without --by, --sum, --hist and "
				    "--count");
	if ((a->caller || a->stack) && !sp_trace_tells(a))
		return sp_fail_said(-EINVAL, "%s is for events printed one by one; --by caller counts by who called",
				    a->caller ? "--caller" : "--stack");
	if (sp_trace_tells(a) && (a->csv || a->interval_s || a->top))
		return sp_fail_said(-EINVAL, "%s is for events that are counted: with --by, --sum, --hist or --count",
				    a->csv          ? "--csv"
				    : a->interval_s ? "-I"
						    : "--top");
	return 0;
}

int sp_trace_args_parse(int argc, char **argv, struct sp_trace_args *a)
{
	int r = sp_options_parse(sp_trace_options, argc, argv, a);

	return r == 0 ? args_check(a) : r;
}

void sp_trace_args_done(struct sp_trace_args *a)
{
	sp_words_done(&a->operands);
	sp_u32_list_done(&a->pids);
}
