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
#include "base/state.h"
#include "cmd/calls/calls_args.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/report/show.h"
#include "link/audit_library.h"
#include "link/run.h"
#include "profile/profile.h"
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sp_example examples[] = {
    {"soprof calls libz.so.1 -- git fsck", "which functions, how often, called by whom"},
    {"soprof calls --latency libz.so.1 -- git fsck", "how long each call took: mean, percentiles, longest"},
    {"soprof calls libcrypto.so.3,libc.so.6 -- make -j2", "two libraries, over a whole build"},
    {"soprof calls --function 'mem*,str*' libc.so.6 -- ls /", "only these: all others cost nothing"},
    {"soprof calls '*' -- git status", "every call between libraries, and into them"},
    {"sudo soprof calls 'libcrypto.so.3:SHA256*' 10", "in all processes, for 10 seconds, by probes"},
    {"sudo soprof calls --by caller libz.so.1 10", "which functions of which libraries call them"},
    {"sudo soprof calls --latency -I 1 libz.so.1:deflate", "how long each takes, second by second"},
    {"sudo soprof calls --stacks -o out.svg libz.so.1:deflate 10", "by whole stack, as a flame graph"},
    {"eval \"$(soprof calls --env libc.so.6)\"", "all that this shell starts from now on"},
    {0},
};

/* --- the file and the environment --- */
struct run {
	const struct sp_cmd *cmd;
	const struct sp_calls_args *args;
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
	const struct sp_calls_args *a = r->args;
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

static void doubt_tell(const struct sp_calls_args *a)
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
static int profile_args_make(const struct sp_calls_args *a, struct sp_profile_args *ret_args)
{
	char hz[24];
	char *words[] = {(char *)"-F", hz};
	int r;

	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)(a->frequency_hz ? a->frequency_hz : SP_CALLS_DEFAULT_HZ));
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
		r = sp_child_start(&s->child, s->args->command, &s->sampling.old_signals);
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

/* Sampled if possible. A command that cannot be run at all is reported by the second try. */
static int command_run(const struct sp_calls_args *a, const struct sp_profile_args *p, struct sp_profile_session *s,
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
	struct sp_calls_summary summary = {0};
	SP_FREE char *why = NULL;

	r->has_failed = !sp_calls_is_loaded(&r->now);
	if (r->n_uncounted && !r->now.counters[SP_CALLS_N_PROCESSES])
		return 0; /* already reported */
	sp_calls_summary_add(&summary, &r->now);
	sp_calls_losses_tell(&summary);
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

/* The table is on a terminal, as it is without options for it. */
static bool is_overview(const struct run *r)
{
	const struct sp_show_args *a = &r->args->show;

	return !a->output && !a->csv && !a->json && a->view < 0 && a->by < 0 &&
	       isatty(a->on_stderr ? STDERR_FILENO : STDOUT_FILENO);
}

static void file_tell(const struct run *r)
{
	if (sp_calls_run_has_others(&r->file))
		fputs("soprof: other runs have counted in the file at the same time: their calls are here, too\n",
		      stderr);
	if (*r->file.lacking)
		return; /* it goes away */
	if (is_overview(r)) {
		size_t in_home = sp_state_in_home(r->file.path);

		sp_cmd_next("%ssoprof report %s%s (again; -n 0: all of it), --format gprof FILE (a call graph), --by "
			    "library, -o x.html%s",
			    sp_state_is_roots() ? "sudo " : "", in_home ? "~" : "", r->file.path + in_home,
			    r->has_before ? "; earlier runs are in it, too" : "");
		return;
	}
	fputs(r->has_before ? "soprof: with those of earlier runs: soprof report " : "soprof: again: soprof report ",
	      stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, r->file.path);
	fputc('\n', stderr);
}

static int counts_show(struct run *r, struct sp_profile_session *s, bool sampled)
{
	struct sp_profile *calls = NULL;
	struct sp_show_args show = r->args->show;
	struct sp_calls_summary summary = {0};
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
		e = sp_calls_join(&s->sampling, sampled, calls);
	sp_profile_free(calls);
	show.prepared = sp_take_ptr(s->output);
	show.broker = s->sampling.broker;
	if (e >= 0)
		e = sp_show(&show, r->view, s->sampling.profile, NULL, r->args->command[0]);
	if (e < 0)
		return e;
	sp_calls_summary_add(&summary, &r->now);
	sp_calls_tell(&summary);
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

static int run_inside(struct run *r)
{
	int code = SP_EXIT_FAILED, e = run_prepare(r);

	if (e < 0)
		code = sp_cmd_error(r->cmd, e,
				    e == -EINVAL    ? SP_EXIT_USAGE
				    : e == -ENOTSUP ? SP_EXIT_REFUSED
						    : SP_EXIT_FAILED);
	else
		code = r->args->environment ? environment_print(r) : run_counted(r);
	run_done(r);
	return code;
}

static int run_everywhere(const struct sp_cmd *cmd, const struct sp_calls_args *a, const struct sp_view *view)
{
	struct sp_machine_args m;
	int r = a->stacks ? 0 : sp_calls_machine_args(a, view, &m);

	if (a->stacks)
		return sp_calls_stacks(cmd, a);
	return r < 0 ? sp_cmd_error(cmd, r, SP_EXIT_USAGE) : sp_machine_run(cmd, &m);
}

static int calls_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_calls_args a = SP_CALLS_ARGS;
	struct run r = {.cmd = cmd, .args = &a, .audit_library = SP_AUDIT_LIBRARY_NONE, .file = SP_CALLS_RUN_NONE};
	int code, e = sp_calls_args_parse(argc, argv, &a, &r.view);

	if (sp_cmd_parsed(cmd, e, &code))
		code = sp_calls_is_machine_wide(&a) ? run_everywhere(cmd, &a, r.view) : run_inside(&r);
	sp_calls_args_done(&a);
	return code;
}

const struct sp_cmd sp_cmd_calls = {
    .name = "calls",
    .summary = "exact counts of calls of libraries' functions, and who calls them",
    .group = SP_CMD_COUNT,
    .needs = "with COMMAND x86-64 and glibc; without it root, or CAP_BPF and CAP_PERFMON",
    .synopsis = "[OPTIONS] LIB[:FUNCTION][,LIB...] [SECONDS] [-- COMMAND...]",
    .options = sp_calls_options,
    .examples = examples,
    .run = calls_run,
};
