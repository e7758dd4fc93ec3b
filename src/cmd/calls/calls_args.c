/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/calls/calls_args.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/calls/calls.h"
#include "cmd/output.h"
#include "profile/totals.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_ROWS = 1 << 24,
	DEFAULT_LIMIT = 50,
};

SP_CHOICE(depth_choice, "site", "object")

/* Beside what all tables are by: threads, which counts tell apart by their numbers. */
static const char *by_choice(size_t i)
{
	return i == SP_N_TOTAL_BY ? "thread" : sp_grouping_choice(i);
}

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_calls_args, member)
const struct sp_option sp_calls_options[] = {
	{SP_OPT_CHOICE, 0, "arcs", "HOW", "callers by call site, or by library", AT(depth), .choice = depth_choice},
	{SP_OPT_STRING, 0, "function", "GLOB[,GLOB]", "count only functions of such a name", AT(globs), .separator = ','},
	{SP_OPT_STRING, 0, "keep", "DIR", "add the counts to those in DIR", AT(directory)},
	{SP_OPT_FLAG, 0, "env", NULL, "print the environment variables, for a shell's eval", AT(environment)},
	{SP_OPT_FLAG, 0, "no-times", NULL, "count only: no samples", AT(no_times)},
	{SP_OPT_FLAG, 0, "latency", NULL, "time every call, from its entry to its return; no samples", AT(latency)},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second for the times (199); in all processes: none without it", AT(frequency_hz), .min = 1, .max = 10000},
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by (process, thread: count each separately)", AT(show.by), .choice = by_choice},
	{SP_OPT_NUMBER, 'n', "limit", "N", "rows shown; 0 = all (a screen, else 50)", AT(show.limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_STRING, 0, "value", "NAME", "of other tables: calls, samples or cpu", AT(show.value)},
	{SP_OPT_FLAG, 0, "csv", NULL, "the table as CSV", AT(show.csv), .excludes = SP_SHOW_FORMAT},
	{SP_OPT_FLAG, 0, "json", NULL, "the table as JSON", AT(show.json), .excludes = SP_SHOW_FORMAT},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(show.view), .choice = sp_view_choice, .excludes = SP_SHOW_FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(show.output)},
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "in these processes only", AT(pids), .min = 1, .max = SP_MAX_PID},
	{SP_OPT_STRING, 0, "comm", "NAME", "in threads of this name only", AT(comm)},
	{SP_OPT_STRING, 0, "cgroup", "PATH", "in this cgroup only, and those in it", AT(cgroup)},
	{SP_OPT_NUMBER, 'I', "interval", "SECONDS", "a table of what is new, each SECONDS", AT(interval_s), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_NUMBER, 0, "max-overhead", "PERCENT", "in all processes: of a CPU; beyond it calls are estimated, by random windows (5; 0 = no limit)", AT(max_overhead), .min = 0, .max = SP_MOST_OVERHEAD},
	{SP_OPT_FLAG, 0, "stacks", NULL, "in all processes: whole stacks of the calls, in any view, as profile -e LIB:FUNCTION", AT(stacks)},
	{SP_OPT_NUMBER, 0, "rows", "N", "in all processes: room for rows at once (8192 to 65536, by what is there)", AT(max_rows), .min = 1, .max = MAX_ROWS},
	{SP_OPT_OPERANDS, 0, NULL, "LIB[:FUNCTION][,LIB...] [SECONDS]", "what to count: sonames, files, packages, build ids; FUNCTION may be a glob; '*' = all libraries of COMMAND", AT(operands)},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND", "runs COMMAND, counts in it and all that it starts", AT(command)},
	{0},
};
/* clang-format on */

/* --- the arguments --- */
static int library_add(struct sp_calls_args *a, const char *given)
{
	SP_FREE char *name = NULL;
	size_t capacity = a->libraries.n;
	int r;

	if (a->libraries.n == SP_LIST_MAX)
		return sp_fail_said(-EINVAL, "more than %d libraries", SP_LIST_MAX);
	r = sp_calls_library_name(given, &name);
	if (r >= 0)
		r = sp_grow(&a->libraries.words, &capacity, a->libraries.n + 1, sizeof(*a->libraries.words));
	if (r >= 0)
		a->libraries.words[a->libraries.n++] = sp_take_ptr(name);
	return r;
}

/* "libz.so.1,libc.so.6": the words point into argv, whose commas become their ends. */
static int named_split(struct sp_calls_args *a)
{
	size_t capacity = 0;
	int r = a->operands.n ? 0
			      : sp_fail_said(-EINVAL, "which library? For example: soprof calls libz.so.1 -- COMMAND, "
						      "or soprof calls libz.so.1 10");

	for (size_t i = 0; i < a->operands.n && r >= 0; i++) {
		char *rest = (char *)a->operands.words[i], *name;

		while (r >= 0 && (name = strsep(&rest, ","))) {
			r = sp_grow(&a->named.words, &capacity, a->named.n + 1, sizeof(*a->named.words));
			if (r >= 0)
				a->named.words[a->named.n++] = name;
		}
	}
	return r;
}

static int libraries_take(struct sp_calls_args *a)
{
	int r = 0;

	for (size_t i = 0; i < a->named.n && r >= 0; i++) {
		const char *name = a->named.words[i];

		if (strchr(sp_path_last(name), ':'))
			return sp_fail_said(-EINVAL, "'%s': with a COMMAND functions are named by --function", name);
		r = library_add(a, name);
	}
	return r;
}

static int functions_take(struct sp_calls_args *a)
{
	char *rest = (char *)a->globs, *glob;
	size_t capacity = 0;
	int r = 0;

	while (r >= 0 && (glob = strsep(&rest, ","))) {
		r = sp_grow(&a->functions.words, &capacity, a->functions.n + 1, sizeof(*a->functions.words));
		if (r >= 0)
			a->functions.words[a->functions.n++] = glob;
	}
	return r;
}

bool sp_calls_is_machine_wide(const struct sp_calls_args *a)
{
	return !a->command && !a->environment;
}

static void apart_choose(struct sp_calls_args *a)
{
	if (a->show.by == SP_N_TOTAL_BY) {
		a->apart = SP_CALLS_BY_THREAD;
		a->show.by = SP_TOTAL_BY_COMM;
	} else if (a->show.by == SP_TOTAL_BY_PROCESS) {
		a->apart = SP_CALLS_BY_PROCESS;
	}
}

/* Each way of counting has options of its own. */
static int options_fit(const struct sp_calls_args *a)
{
	bool inside = a->command || a->environment;
	const struct {
		bool given, fits;
		const char *name;
	} all[] = {
	    {a->pids.n != 0, !inside, "-p"},
	    {a->comm != NULL, !inside, "--comm"},
	    {a->cgroup != NULL, !inside, "--cgroup"},
	    {a->interval_s != 0, !inside, "-I"},
	    {a->seconds != 0, !inside, "SECONDS"},
	    {a->max_rows != SP_CALLS_DEFAULT_ROWS, !inside, "--rows"},
	    {a->depth != 0, inside, "--arcs"},
	    {a->directory != NULL, inside, "--keep"},
	    {a->no_times, inside, "--no-times"},
	    {a->max_overhead != SP_NO_OVERHEAD, !inside, "--max-overhead"},
	    {a->show.value != NULL, inside || a->frequency_hz, "--value"},
	    {a->stacks, !inside, "--stacks"},
	    {a->show.view >= 0, inside || a->stacks || a->frequency_hz, "--format"},
	};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		if (all[i].given && !all[i].fits)
			return sp_fail_said(-EINVAL,
					    inside ? "%s is for counting in all processes: without COMMAND and --env"
						   : "%s is for counting inside a command: put -- COMMAND at the end",
					    all[i].name);
	if (!inside && a->frequency_hz &&
	    (a->stacks || a->latency || a->interval_s || (a->show.by >= 0 && a->show.by != SP_TOTAL_BY_FUNCTION)))
		return sp_fail_said(-EINVAL, "-F in all processes is for functions and their callers: without %s",
				    a->stacks       ? "--stacks"
				    : a->latency    ? "--latency"
				    : a->interval_s ? "-I"
						    : "--by");
	if (a->stacks &&
	    (a->latency || a->interval_s || a->max_rows != SP_CALLS_DEFAULT_ROWS || a->show.limit != UINT64_MAX))
		return sp_fail_said(-EINVAL, "%s is not for --stacks",
				    a->latency                    ? "--latency"
				    : a->interval_s               ? "-I"
				    : a->show.limit != UINT64_MAX ? "-n"
								  : "--rows");
	return 0;
}

static int args_check(struct sp_calls_args *a, const struct sp_view **ret_view)
{
	bool on_stdout = sp_output_is_stdout(&a->show.output) || isatty(STDOUT_FILENO);
	int r = sp_words_take_seconds(&a->operands, 1, &a->seconds);

	if (r >= 0)
		r = named_split(a);
	if (r >= 0)
		r = functions_take(a);
	if (r >= 0 && a->environment && a->command)
		r = sp_fail_said(-EINVAL, "--env is for what the shell starts: no COMMAND beside it");
	if (r >= 0)
		r = options_fit(a);
	if (r < 0 || (sp_calls_is_machine_wide(a) && !a->frequency_hz))
		return r;
	if (!sp_calls_is_machine_wide(a)) {
		r = libraries_take(a);
		apart_choose(a);
		a->show.on_stderr = !on_stdout; /* where the command's output goes, and may be kept */
	}
	if (r >= 0 && (a->show.json || a->show.csv) && a->show.by < 0)
		a->show.by = SP_TOTAL_BY_FUNCTION;
	return r < 0 ? r : sp_show_view(&a->show, ret_view);
}

int sp_calls_args_parse(int argc, char **argv, struct sp_calls_args *a, const struct sp_view **ret_view)
{
	int r = sp_options_parse(sp_calls_options, argc, argv, a);

	return r == SP_PARSED ? args_check(a, ret_view) : r;
}

/* --- in all processes --- */
static int by_take(const struct sp_calls_args *a, struct sp_machine_args *m)
{
	const char *name = a->show.by < 0 ? "process" : by_choice((size_t)a->show.by);

	for (int i = 0; i < SP_MACHINE_N_BY; i++)
		if (!strcmp(name, sp_machine_by_name((enum sp_machine_by)i))) {
			m->by = (enum sp_machine_by)i;
			return 0;
		}
	return sp_fail_said(-EINVAL,
			    "--by %s is for counting inside a command; in all processes: process, function, "
			    "library, caller, comm, user, cgroup",
			    name);
}

/* A file's suffix chooses, as everywhere; what has stacks is made by --stacks, what has callers and times by -F. */
static int suffix_take(struct sp_machine_args *m)
{
	const struct sp_view *view = m->output && !m->csv && !m->json ? sp_view_by_path(m->output) : NULL;
	const char *name = view ? view->name : "table";

	m->csv = m->csv || !strcmp(name, "csv");
	m->json = m->json || !strcmp(name, "json");
	return !view || m->csv || m->json || !strcmp(name, "table") || !strcmp(name, "text")
		   ? 0
		   : sp_fail_said(
			 -EINVAL,
			 "-o %s: counts are a table (.txt, .csv, .json); the calls' stacks, in this view: --stacks",
			 m->output);
}

int sp_calls_machine_args(const struct sp_calls_args *a, const struct sp_view *view, struct sp_machine_args *ret_args)
{
	*ret_args = (struct sp_machine_args){.named = &a->named,
					     .functions = &a->functions,
					     .pids = &a->pids,
					     .comm = a->comm,
					     .cgroup = a->cgroup,
					     .output = a->show.output,
					     .latency = a->latency,
					     .csv = a->show.csv,
					     .json = a->show.json,
					     .seconds = a->seconds,
					     .interval_s = a->interval_s,
					     .frequency_hz = a->frequency_hz,
					     .show = &a->show,
					     .view = view,
					     .limit = a->show.limit == UINT64_MAX ? DEFAULT_LIMIT : a->show.limit,
					     .fits = a->show.limit == UINT64_MAX,
					     .max_rows = a->max_rows,
					     .max_overhead = a->max_overhead == SP_NO_OVERHEAD ? SP_DEFAULT_OVERHEAD
											       : a->max_overhead};
	int r;

	ret_args->by = SP_MACHINE_BY_CALLER;
	if (a->frequency_hz)
		return 0;
	r = by_take(a, ret_args);
	return r < 0 ? r : suffix_take(ret_args);
}

void sp_calls_args_done(struct sp_calls_args *a)
{
	sp_words_done(&a->operands);
	sp_words_done(&a->named);
	for (size_t i = 0; i < a->libraries.n; i++)
		free((char *)a->libraries.words[i]);
	sp_words_done(&a->libraries);
	sp_words_done(&a->functions);
	sp_u32_list_done(&a->pids);
}
