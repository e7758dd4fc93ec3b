/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/trace/trace.h"
#include "trace/presets.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ROWS = 1 << 24,
};

enum { FORMAT = 1 }; /* options of one set exclude each other */

static int min_parse(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	(void)o;
	if (sp_parse_duration(value, &((struct sp_trace_args *)args)->min_ns) < 0 ||
	    (((struct sp_trace_args *)args)->min_ns && !value[strspn(value, "0123456789.")]))
		return sp_fail_said(-EINVAL, "%s: '%s' is no time with a unit, as 10ms, 500us or 2s", shown, value);
	return 0;
}

/* For the completion of names: those of presets, and of bcc's tools, with spaces between. */
static const char *preset_choice(size_t i)
{
	const struct sp_trace_preset *preset = sp_trace_preset_at(i / 2);

	return !preset ? NULL : i % 2 == 0 ? preset->name : preset->also ? preset->also : "";
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
	{SP_OPT_STRING, 0, "list", "[GLOB]", "which presets there are, or tracepoints, S*:E*; -v: with fields and types", AT(list), .without = ""},
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
	{SP_OPT_OPERANDS, 0, NULL, "EVENT[FILTER]... [SECONDS]", "presets (--list), tracepoints, functions, pairs: opens, SYSTEM:EVENT, LIBRARY:FUNCTION, A..B", AT(operands), .choice = preset_choice},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND", "runs COMMAND, and traces it and all that it starts", AT(command)},
	{0},
};
/* clang-format on */

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
	a->count = preset->counts;
	if (!a->by)
		a->by = preset->by;
	if (!preset->hist && a->by == preset->by)
		a->sum = preset->sum;
}

struct words {
	const char *words[SP_TRACE_POINTS];
	size_t n;
};

static int word_make(struct sp_trace_args *a, const char *before, const char *name, size_t n, const char *behind,
		     struct words *words)
{
	char *made = NULL;

	if (words->n == SP_TRACE_POINTS)
		return sp_fail_said(-EINVAL, "more than %d events", SP_TRACE_POINTS);
	if (asprintf(&made, "%s%.*s%s", before, (int)n, name, behind) < 0)
		return -ENOMEM;
	a->expanded[a->n_expanded++] = made;
	words->words[words->n++] = made;
	return 0;
}

/* One of a preset's events, with the filter that stands behind its name; it may have one of its own. */
static int event_make(struct sp_trace_args *a, const char *one, size_t n, const char *filter, struct words *words)
{
	size_t n_filter = strlen(filter);
	SP_FREE char *both = NULL;

	if (one[n - 1] != ']' || *filter != '[' || filter[n_filter - 1] != ']')
		return word_make(a, "", one, n, filter, words);
	if (asprintf(&both, " && (%.*s)]", (int)(n_filter - 2), filter + 1) < 0)
		return -ENOMEM;
	return word_make(a, "", one, n - 1, both, words);
}

/* A preset of several events, in their place. */
static int preset_expand(struct sp_trace_args *a, const char *event, const struct sp_trace_preset *preset,
			 struct words *words)
{
	const char *next = preset->event;
	int r = 0;

	while (next && !r) {
		const char *one = next;
		size_t n = sp_trace_preset_event(one, &next);

		r = event_make(a, one, n, event + strcspn(event, "[{"), words);
	}
	return r;
}

#define CALLS "syscall:{"

/* syscall:{NAME,NAME}[FILTER] */
static int calls_expand(struct sp_trace_args *a, const char *event, struct words *words)
{
	const char *name = event + strlen(CALLS), *end = strchr(name, '}');
	int r = 0;

	if (!end)
		return sp_fail_at(-EINVAL, event, strlen(CALLS) - 1, "'{' has no '}'");
	while (!r && name < end) {
		size_t n = strcspn(name, ",}");

		r = word_make(a, "syscall:", name, n, end + 1, words);
		name += n + 1;
	}
	return r;
}

static int event_expand(struct sp_trace_args *a, const char *event, struct words *words)
{
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));

	if (preset && strchr(preset->event, ';'))
		return preset_expand(a, event, preset, words);
	if (!strncmp(event, CALLS, strlen(CALLS)))
		return calls_expand(a, event, words);
	if (words->n == SP_TRACE_POINTS)
		return sp_fail_said(-EINVAL, "more than %d events", SP_TRACE_POINTS);
	words->words[words->n++] = event;
	return 0;
}

static int presets_expand(struct sp_trace_args *a)
{
	struct words words = {.n = 0};
	const char **more;
	int r = 0;

	for (size_t i = 0; i < a->operands.n && !r; i++)
		r = event_expand(a, a->operands.words[i], &words);
	more = r ? NULL : realloc(a->operands.words, sizeof(words.words));
	if (r || !more)
		return r ? r : -ENOMEM;
	memcpy(more, words.words, words.n * sizeof(*more));
	a->operands = (struct sp_words){.words = more, .n = words.n};
	return 0;
}

/* What comes in interrupts is told in the name of whichever thread runs: who asks for one would see next to nothing. */
static int machine_check(const struct sp_trace_args *a)
{
	const char *chosen = a->pids.n    ? "-p"
			     : a->command ? "COMMAND"
			     : a->comm    ? "--comm"
			     : a->cgroup  ? "--cgroup"
					  : NULL;

	for (size_t i = 0; i < a->operands.n && chosen; i++) {
		const char *event = a->operands.words[i];
		const struct sp_trace_preset *preset = sp_trace_preset_find(event, strcspn(event, "[{"));

		if (preset && preset->of_machine)
			return sp_fail_said(
			    -EINVAL,
			    "%s is for the whole machine, not for %s: the kernel does it in the name of "
			    "whichever thread runs",
			    preset->name, chosen);
	}
	return 0;
}

static int args_check(struct sp_trace_args *a)
{
	int r = sp_words_take_seconds(&a->operands, 0, &a->seconds);

	if (r < 0)
		return r;
	if (a->list)
		return 0;
	if (!a->operands.n)
		return sp_fail_said(-EINVAL, "which event? For example: soprof trace sched:sched_process_exec");
	if (a->operands.n > SP_TRACE_POINTS)
		return sp_fail_said(-EINVAL, "more than %d events", SP_TRACE_POINTS);
	preset_apply(a);
	r = machine_check(a);
	if (r >= 0)
		r = presets_expand(a);
	if (r < 0)
		return r;
	if (a->print && !sp_trace_tells(a))
		return sp_fail_said(-EINVAL,
				    "--print is for events printed one by one: without --by, --sum, --hist and "
				    "--count");
	if ((a->caller || a->stack) && !sp_trace_tells(a))
		return sp_fail_said(-EINVAL, "%s is for events printed one by one; --by caller counts by who called",
				    a->caller ? "--caller" : "--stack");
	if (sp_trace_tells(a) && (a->csv || a->interval_s || a->top))
		return sp_fail_said(-EINVAL, "%s is for events that are counted: with --by, --sum, --hist or --count",
				    a->csv                 ? "--csv"
				    : a->bcc.n_numbers > 1 ? "INTERVAL COUNT"
				    : a->interval_s        ? "-I"
							   : "--top");
	return 0;
}

int sp_trace_args_parse(int argc, char **argv, struct sp_trace_args *a)
{
	int r = sp_trace_bcc_read(argc, argv, &a->bcc);

	if (r >= 0)
		r = sp_options_parse(sp_trace_options, a->bcc.argc, a->bcc.argv, a);
	return r == 0 ? args_check(a) : r;
}

void sp_trace_args_done(struct sp_trace_args *a)
{
	sp_words_done(&a->operands);
	sp_u32_list_done(&a->pids);
	sp_trace_bcc_done(&a->bcc);
	for (size_t i = 0; i < a->n_expanded; i++)
		free(a->expanded[i]);
}
