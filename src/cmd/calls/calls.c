/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.c: `soprof calls`: counts the calls of libraries' functions inside a command and all that it starts.
 *
 * What prevents counting is reported before the command starts, and then it is not run. Later problems do not stop it,
 * and its exit code is ours. Each run counts in a file of its own; with --keep, and for a shell, runs share one. If
 * the kernel allows sampling the command, the same table has times.
 */
#include "cmd/calls/calls.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/report/show.h"
#include "link/audit_library.h"
#include "link/run.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "view/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct calls_args {
	struct sp_words operands;  /* lists of libraries */
	struct sp_words libraries; /* strings of our own */
	const char *globs;         /* of functions */
	struct sp_words functions;
	const char *directory;
	bool environment, no_times, latency;
	enum sp_calls_apart apart;
	int depth;
	uint64_t frequency_hz;
	char **command;
	struct sp_show_args show;
};

static const char *depth_choice(size_t i)
{
	static const char *const names[] = {"site", "object"};

	return i < SP_COUNT(names) ? names[i] : NULL;
}

/* Beside what all tables are by: threads, which counts tell apart by their numbers. */
static const char *by_choice(size_t i)
{
	return i == SP_N_TOTAL_BY ? "thread" : sp_grouping_choice(i);
}

/* clang-format off */
#define AT(member) .offset = offsetof(struct calls_args, member)
static const struct sp_option options[] = {
	{SP_OPT_CHOICE, 0, "arcs", "HOW", "callers by call site, or by library", AT(depth), .choice = depth_choice},
	{SP_OPT_STRING, 0, "function", "GLOB[,GLOB]", "count only functions of such a name", AT(globs), .separator = ','},
	{SP_OPT_STRING, 0, "keep", "DIR", "add the counts to those in DIR", AT(directory)},
	{SP_OPT_FLAG, 0, "env", NULL, "print the environment variables, for a shell's eval", AT(environment)},
	{SP_OPT_FLAG, 0, "no-times", NULL, "count only: no samples", AT(no_times)},
	{SP_OPT_FLAG, 0, "latency", NULL, "time every call, from its entry to its return; no samples", AT(latency)},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second for the times (199)", AT(frequency_hz), .min = 1, .max = 10000},
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by (process, thread: count each separately)", AT(show.by), .choice = by_choice},
	{SP_OPT_NUMBER, 'n', "limit", "N", "rows shown (50; 0 = all)", AT(show.limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_STRING, 0, "value", "NAME", "of other tables: calls, samples or cpu", AT(show.value)},
	{SP_OPT_FLAG, 0, "csv", NULL, "the table as CSV", AT(show.csv), .excludes = SP_SHOW_FORMAT},
	{SP_OPT_FLAG, 0, "json", NULL, "the table as JSON", AT(show.json), .excludes = SP_SHOW_FORMAT},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(show.view), .choice = sp_view_choice, .excludes = SP_SHOW_FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(show.output)},
	{SP_OPT_OPERANDS, 0, NULL, "LIB[,LIB...]", "the libraries to count: sonames, or files; '*' = all", AT(operands)},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND", "runs COMMAND, counts in it and all that it starts", AT(command)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof calls libz.so.1 -- git fsck", "which functions, how often, called by whom"},
    {"soprof calls --latency libz.so.1 -- git fsck", "how long each call took: mean, percentiles, longest"},
    {"soprof calls libcrypto.so.3,libc.so.6 -- make -j2", "two libraries, over a whole build"},
    {"soprof calls --function 'mem*,str*' libc.so.6 -- ls /", "only these: all others cost nothing"},
    {"soprof calls '*' -- git status", "every call between libraries, and into them"},
    {"eval \"$(soprof calls --env libc.so.6)\"", "all that this shell starts from now on"},
    {0},
};

/* --- the arguments --- */
static int library_add(struct calls_args *a, const char *given)
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
static int libraries_take(struct calls_args *a)
{
	int r =
	    a->operands.n ? 0 : sp_fail_said(-EINVAL, "which library? For example: soprof calls libz.so.1 -- COMMAND");

	for (size_t i = 0; i < a->operands.n && r >= 0; i++) {
		char *rest = (char *)a->operands.words[i], *name;

		while (r >= 0 && (name = strsep(&rest, ",")))
			r = library_add(a, name);
	}
	return r;
}

static int functions_take(struct calls_args *a)
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

static void apart_choose(struct calls_args *a)
{
	if (a->show.by == SP_N_TOTAL_BY) {
		a->apart = SP_CALLS_BY_THREAD;
		a->show.by = SP_TOTAL_BY_COMM;
	} else if (a->show.by == SP_TOTAL_BY_PROCESS) {
		a->apart = SP_CALLS_BY_PROCESS;
	}
}

static int args_check(struct calls_args *a, const struct sp_view **ret_view)
{
	int r = libraries_take(a);

	if (r >= 0)
		r = functions_take(a);
	if (r >= 0 && a->environment && a->command)
		r = sp_fail_said(-EINVAL, "--env is for what the shell starts: no COMMAND beside it");
	if (r >= 0 && !a->environment && !a->command)
		r = sp_fail_said(-EINVAL, "no COMMAND to count in: put it behind --");
	apart_choose(a);
	if (r >= 0 && (a->show.json || a->show.csv) && a->show.by < 0)
		a->show.by = SP_TOTAL_BY_FUNCTION;
	a->show.on_stderr = !isatty(STDOUT_FILENO); /* where the command's output goes, and may be kept */
	return r < 0 ? r : sp_show_view(&a->show, ret_view);
}

/* --- the file and the environment --- */
struct run {
	const struct sp_cmd *cmd;
	const struct calls_args *args;
	const struct sp_view *view;
	char *environment[SP_CALLS_VARIABLES + 1];
	struct sp_audit_library audit_library;
	struct sp_calls_run file;
	uint64_t n_uncounted; /* programs that said so */
	uint64_t ticks_hz;    /* 0: calls are not timed */
	struct sp_calls_snapshot before, now;
	bool has_before, has_now, has_failed;
};

/* A shell's programs outlive us: their file is one that is shared. */
static int file_prepare(struct run *r)
{
	const struct calls_args *a = r->args;
	const struct sp_calls_what what = {.libraries = a->libraries.words,
					   .n_libraries = a->libraries.n,
					   .functions = a->functions.words,
					   .n_functions = a->functions.n,
					   .depth = a->depth ? SP_CALLS_BY_OBJECT : SP_CALLS_BY_SITE,
					   .apart = a->apart};
	int e = a->environment || a->directory ? sp_calls_run_share(a->directory, &what, &r->file)
					       : sp_calls_run_make(r->audit_library.directory, &what, &r->file);

	if (e >= 0)
		e = sp_calls_time(r->file.path, r->ticks_hz);
	if (e < 0 || r->file.is_new)
		return e;
	e = sp_calls_read(r->file.path, &r->before);
	r->has_before = e >= 0;
	return e;
}

static void doubt_tell(const struct calls_args *a)
{
	SP_FREE char *doubt = sp_calls_doubt(a->command, &a->libraries);

	if (doubt)
		sp_cmd_warn(doubt);
}

/* All that can be known before the command runs. */
static int run_prepare(struct run *r)
{
	int e = sp_files_raise();

	if (e >= 0)
		e = sp_output_check(r->args->show.output);
	if (e >= 0)
		e = sp_audit_library_make(r->args->environment, &r->audit_library);
	if (e >= 0 && r->args->latency)
		e = sp_calls_ticks(&r->ticks_hz);
	if (e >= 0)
		e = file_prepare(r);
	if (e >= 0)
		e = sp_calls_environment(&r->audit_library, r->file.path, r->environment);
	if (e >= 0 && *r->audit_library.lacking)
		sp_cmd_warn(r->audit_library.lacking);
	if (e >= 0 && *r->file.lacking)
		sp_cmd_warn(r->file.lacking);
	if (e >= 0 && r->args->command)
		doubt_tell(r->args);
	return e;
}

/* 'it'\''s', so that a shell takes the value as it is. */
static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

static int environment_print(struct run *r)
{
	for (size_t i = 0; r->environment[i]; i++) {
		char *value = strchr(r->environment[i], '=') + 1;

		printf("export %.*s", (int)(value - r->environment[i]), r->environment[i]);
		put_quoted(value);
		putchar('\n');
	}
	fputs("soprof: when the commands have run: soprof report ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, r->file.path);
	fputc('\n', stderr);
	return SP_EXIT_OK;
}

/* --- the command --- */
/* As `soprof profile -F HZ -o FILE -- COMMAND` would have it. */
static int profile_args_make(const struct calls_args *a, struct sp_profile_args *ret_args)
{
	char hz[24];
	char *words[] = {(char *)"-F", hz};
	int r;

	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)a->frequency_hz);
	r = sp_profile_args_parse(SP_COUNT(words), words, ret_args);
	ret_args->command = a->command;
	ret_args->output = a->show.output;
	return r;
}

/* The command, counted but not sampled; signals that end us are its, too. */
static int run_unsampled(struct sp_profile_session *s)
{
	int r = s->sampling.signal_fd >= 0 ? 0 : sp_sampling_begin(&s->sampling);

	if (r >= 0)
		r = sp_child_start(&s->child, s);
	if (r >= 0)
		r = sp_child_release(&s->child);
	while (r >= 0 && sp_child_signals_pass(&s->child, s->sampling.signal_fd, -1))
		;
	return r;
}

static void tell_no_times(int r)
{
	fputs("soprof: no times: ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, sp_error_text(r));
	fputc('\n', stderr);
	sp_error_clear();
}

static void session_reset(struct sp_profile_session *s, const struct sp_profile_args *p)
{
	char *const *environment = s->child.environment;

	sp_sampling_signals_back(&s->sampling);
	sp_profile_session_done(s);
	*s = SP_PROFILE_SESSION(p);
	s->quiet = s->to_the_end = true;
	s->child.environment = environment;
}

/* Sampled if that can be had. What cannot be run at all is told by the second try. */
static int command_run(const struct calls_args *a, const struct sp_profile_args *p, struct sp_profile_session *s,
		       bool *ret_sampled)
{
	int r = a->no_times || a->latency ? -ECANCELED : sp_profile_session_begin(s);

	if (r >= 0)
		r = sp_profile_session_sample(s);
	*ret_sampled = r >= 0;
	if (r >= 0 || s->child.is_released)
		return r;
	if (r == -ECHILD)
		return r;
	if (!a->no_times && !a->latency)
		tell_no_times(r);
	session_reset(s, p);
	return run_unsampled(s);
}

/* --- what came of it --- */
static int counts_read(struct run *r)
{
	int e = sp_calls_read(r->file.path, &r->now);

	r->has_now = e >= 0;
	if (e >= 0 && r->has_before)
		e = sp_calls_subtract(&r->now, &r->before);
	return e;
}

static int profile_join(struct sp_profile_session *s, bool sampled, struct sp_profile *calls)
{
	struct sp_profile *all = NULL;
	int r = sp_profile_new(&all);

	if (r >= 0)
		r = sp_profile_add_value_type(all, "calls", "count");
	for (uint32_t i = 1; r >= 0 && i < sp_profile_n_value_types(calls); i++) {
		const struct sp_value_type *t = sp_profile_value_type(calls, i);

		r = sp_profile_add_value_type(all, sp_profile_string(calls, t->name),
					      sp_profile_string(calls, t->unit));
	}
	for (uint32_t i = 0; sampled && r >= 0 && i < sp_profile_n_value_types(s->sampling.profile); i++) {
		const struct sp_value_type *t = sp_profile_value_type(s->sampling.profile, i);

		r = sp_profile_add_value_type(all, sp_profile_string(s->sampling.profile, t->name),
					      sp_profile_string(s->sampling.profile, t->unit));
	}
	if (r >= 0 && sampled) /* first: what it is told beside its rows is the whole's */
		r = sp_profile_merge(all, s->sampling.profile);
	if (r >= 0)
		r = sp_profile_merge(all, calls);
	if (r < 0) {
		sp_profile_free(all);
		return r;
	}
	sp_profile_info(all)->default_type = sp_profile_value_type(all, 0)->name;
	sp_profile_free(s->sampling.profile);
	s->sampling.profile = all;
	return 0;
}

static int uncounted_tell(struct run *r, struct sp_profile_session *s, bool sampled)
{
	struct sp_capture_stats seen;
	bool is_seen = sampled && s->backend.kind == SP_BACKEND_BPF;
	struct sp_calls_uncounted u = {.seen = is_seen ? &seen : NULL, .counters = r->now.counters};

	if (is_seen)
		sp_capture_stats(s->sampling.capture, &seen);
	u.n_refused = r->n_uncounted = sp_audit_library_uncounted(&r->audit_library, &u.has_more_refused);
	return sp_calls_uncounted_tell(&u);
}

static int nothing_tell(struct run *r)
{
	struct sp_calls_told told = {0};
	SP_FREE char *why = NULL;

	r->has_failed = !sp_calls_is_loaded(&r->now);
	if (r->n_uncounted && !r->now.counters[SP_CALLS_N_PROCESSES])
		return 0; /* that has been told */
	sp_calls_told_add(&told, &r->now);
	sp_calls_losses_tell(&told);
	why = sp_calls_why(r->args->command, &r->args->libraries, &r->args->functions, &r->now);
	if (!why)
		return -ENOMEM;
	fputs("soprof: calls: ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, why);
	fputc('\n', stderr);
	return 0;
}

static int unmatched_tell(const struct run *r)
{
	SP_FREE char *text = NULL;
	int e = sp_calls_unmatched(&r->args->libraries, &r->args->functions, &r->now, &text);

	if (text)
		sp_cmd_warn(text);
	return e;
}

static void file_tell(const struct run *r)
{
	if (sp_calls_run_has_others(&r->file))
		fputs("soprof: other runs have counted in the file at the same time: their calls are here, too\n",
		      stderr);
	if (*r->file.lacking)
		return; /* it goes away */
	fputs(r->has_before ? "soprof: with those of earlier runs: soprof report " : "soprof: again: soprof report ",
	      stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, r->file.path);
	fputc('\n', stderr);
}

static int counts_show(struct run *r, struct sp_profile_session *s, bool sampled)
{
	struct sp_profile *calls = NULL;
	struct sp_show_args show = r->args->show;
	struct sp_calls_told told = {0};
	int e = counts_read(r);

	if (e >= 0)
		e = uncounted_tell(r, s, sampled);
	if (e < 0 || !r->now.n_arcs)
		return e < 0 ? e : nothing_tell(r);
	e = sp_calls_run_keep(&r->file);
	if (e >= 0 && sampled)
		e = sp_profile_session_name(s);
	if (e >= 0)
		e = sp_calls_make(&r->now, s->sampling.workers, &calls);
	if (e >= 0)
		e = profile_join(s, sampled, calls);
	sp_profile_free(calls);
	show.prepared = sp_take_ptr(s->output);
	show.broker = s->sampling.broker;
	if (e >= 0)
		e = sp_show(&show, r->view, s->sampling.profile, NULL, r->args->command[0]);
	if (e < 0)
		return e;
	sp_calls_told_add(&told, &r->now);
	sp_calls_tell(&told);
	e = unmatched_tell(r);
	file_tell(r);
	return e;
}

static int run_counted(struct run *r)
{
	struct sp_profile_args p;
	struct sp_profile_session s = SP_PROFILE_SESSION(&p);
	bool sampled = false;
	int code = SP_EXIT_FAILED, e = profile_args_make(r->args, &p);

	s.quiet = s.to_the_end = true;
	s.child.environment = r->environment;
	if (e >= 0)
		e = command_run(r->args, &p, &s, &sampled);
	if (e >= 0)
		e = sp_sampling_signals_back(&s.sampling); /* naming may take its time */
	if (s.child.is_released || e == -ECHILD)
		code = sp_child_code(&s.child);
	if (e >= 0)
		e = counts_show(r, &s, sampled);
	if (e < 0)
		sp_cmd_error(r->cmd, e, 0);
	if (code == SP_EXIT_OK && (e < 0 || (r->has_failed && r->file.is_own)))
		code = SP_EXIT_FAILED;
	sp_profile_session_done(&s);
	sp_profile_args_done(&p);
	return code;
}

static void run_done(struct run *r)
{
	sp_audit_library_done(&r->audit_library);
	sp_calls_run_done(&r->file);
	for (size_t i = 0; i < SP_CALLS_VARIABLES; i++)
		free(r->environment[i]);
	if (r->has_before)
		sp_calls_done(&r->before);
	if (r->has_now)
		sp_calls_done(&r->now);
}

static int calls_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct calls_args a = {.show = SP_SHOW_DEFAULTS, .frequency_hz = 199};
	struct run r = {.cmd = cmd, .args = &a, .audit_library = SP_AUDIT_LIBRARY_NONE, .file = SP_CALLS_RUN_NONE};
	int code, e = sp_options_parse(options, argc, argv, &a);

	if (e == SP_PARSED)
		e = args_check(&a, &r.view);
	if (sp_cmd_parsed(cmd, e, &code)) {
		e = run_prepare(&r);
		if (e < 0)
			code = sp_cmd_error(cmd, e,
					    e == -EINVAL    ? SP_EXIT_USAGE
					    : e == -ENOTSUP ? SP_EXIT_REFUSED
							    : SP_EXIT_FAILED);
		else
			code = a.environment ? environment_print(&r) : run_counted(&r);
	}
	run_done(&r);
	sp_words_done(&a.operands);
	for (size_t i = 0; i < a.libraries.n; i++)
		free((char *)a.libraries.words[i]);
	sp_words_done(&a.libraries);
	sp_words_done(&a.functions);
	return code;
}

extern const struct sp_cmd sp_cmd_calls;
const struct sp_cmd sp_cmd_calls = {
    .name = "calls",
    .summary = "exact counts of calls of libraries' functions, and who calls them",
    .group = SP_CMD_COUNT,
    .needs = "x86-64 and glibc; times as for profile",
    .synopsis = "[OPTIONS] LIB[,LIB...] -- COMMAND...",
    .options = options,
    .examples = examples,
    .run = calls_run,
};
