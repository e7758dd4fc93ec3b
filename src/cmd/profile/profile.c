/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.c: a run of `soprof profile`: capture -> profile -> symbol -> filter -> view, then the summary on stderr.
 *
 * Ctrl-C and SIGTERM end sampling, not soprof: what was sampled is named and printed. For `soprof calls` they are
 * passed on to the command instead.
 */
#include "profile/profile.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/lasting.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "cmd/profile/profile_parts.h"
#include "naming/enrich.h"
#include "naming/locks.h"
#include "naming/naming.h"
#include "naming/verify.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "profile/merge.h"
#include "recipe/recipe.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sp_profile_session_done(struct sp_profile_session *s)
{
	sp_child_done(&s->child);
	sp_sampling_done(&s->sampling);
	sp_bad_rows_done(s);
	free(s->why_not_bpf);
	if (s->output)
		fclose(s->output);
}

/* --- options --- */
static void targets_choose(const struct sp_profile_args *a, struct sp_capture_options *o)
{
	const struct sp_u32_list *list = a->tids.n ? &a->tids : &a->pids;

	o->targets = list->values;
	o->n_targets = list->n;
	o->filter = a->tids.n                                    ? SP_TARGETS_TID
		    : a->pids.n || a->command || a->targets_come ? SP_TARGETS_TGID
								 : SP_TARGETS_ALL;
	o->follow = a->command != NULL;
	o->no_seek =
	    o->follow ||
	    a->targets_come; /* what else is mapped is not sampled, and its tables would come before the command's */
}

static bool tells_objects(const struct sp_profile_args *a)
{
	for (size_t i = 0; i < a->recipes.n; i++)
		if (a->recipes.recipes[i]->about != SP_ABOUT_NOTHING)
			return true;
	return false;
}

/*
 * Of smaller bytes there are more samples. A program that starts can allocate in more stacks within a second than have
 * room in the table of counts; rows that are lost there are missed when the blocks are freed.
 */
enum { MANY_DRAIN_NS = 100000000 };
static bool has_many_blocks(const struct sp_profile_args *a)
{
	return a->thin_bytes && a->thin_bytes < 65536;
}

static int options_make(struct sp_profile_session *s, struct sp_capture_options *o)
{
	const struct sp_profile_args *a = s->args;
	int r = 0;

	*o = (struct sp_capture_options){
	    .backend = s->backend.kind,
	    .user_mode_only = s->backend.user_mode_only,
	    .user = !a->kernel_only,
	    .kernel = !a->user_only,
	    .wakers = a->waker_alone ? SP_WAKERS_ALONE
		      : a->waker     ? SP_WAKERS_ABOVE
				     : SP_NO_WAKERS,
	    .objects = s->backend.kind == SP_BACKEND_BPF && tells_objects(a),
	    .idle = a->include_idle,
	    .slices = a->view->slices,
	    .unwind = a->unwind,
	    .max_memory_bytes = a->max_memory_bytes,
	    .stack_entries = (uint32_t)a->stack_storage,
	    .hash_entries = (uint32_t)a->hash_storage,
	    .live_entries = has_many_blocks(a) ? 1U << 20 : 1U << 16,
	    .drain_ns = has_many_blocks(a) ? MANY_DRAIN_NS : 0,
	    .older_ns = a->older_ms * 1000000,
	    .event = a->recipes.event,
	    .frequency_hz = a->frequency_hz,
	    .period = a->period,
	    .min_ns = a->min_us * 1000,
	    .max_overhead_percent = (unsigned)a->max_overhead,
	    .max_ns = a->max_us ? a->max_us * 1000 + 999 : 0, /* of a part of a microsecond bcc knows nothing */
	};
	memcpy(o->recipes, a->recipes.recipes, sizeof(o->recipes));
	targets_choose(a, o);
	if (a->cgroup)
		r = sp_cgroup_id(a->cgroup, &o->cgroup, &o->cgroup_level);
	o->cpus = a->cpus.values; /* none: all */
	o->n_cpus = a->cpus.n;
	return r;
}

/* --- the run --- */
static bool has_targets(const struct sp_profile_args *a)
{
	return a->pids.n || a->tids.n || a->command;
}

/* Without BPF there is one event, which nothing interrupts. */
static bool needs_bpf(const struct sp_profile_args *a)
{
	return sp_recipes_nest(a->recipes.recipes);
}

/* For who may not probe functions in all processes. */
static const char *instead_of_probes(const struct sp_profile_args *a)
{
	for (size_t i = 0; a->recipes.recipes[i]; i++) {
		const struct sp_recipe *recipe = a->recipes.recipes[i];

		if (sp_recipe_has(recipe, SP_AT_PROBE) && !recipe->is_live && strncmp(recipe->name, "usdt:", 5))
			return "; calls inside a command need no privilege: soprof calls LIB -- COMMAND";
	}
	return "";
}

/* What only BPF can give: "-e offcpu needs CAP_BPF ...". */
static int bpf_missing(const struct sp_profile_session *s, const char *option, const char *value)
{
	return s->why_not_bpf ? sp_fail_said(-EPERM, "%s %s needs BPF: %s", option, value, s->why_not_bpf)
			      : sp_fail_said(-EPERM, "%s %s needs %s; run it as root, with sudo%s", option, value,
					     s->backend.missing, instead_of_probes(s->args));
}

/* What perf_event_open cannot give is refused before anything runs. */
static int way_check(const struct sp_profile_session *s)
{
	const struct sp_profile_args *a = s->args;

	if (s->backend.kind != SP_BACKEND_PERF)
		return 0;
	if (a->cgroup)
		return sp_fail_said(-EPERM, "--cgroup needs %s; run it as root, with sudo",
				    *s->backend.missing ? s->backend.missing : "BPF");
	if (needs_bpf(a))
		return bpf_missing(s, "-e", a->events);
	if (a->by >= SP_TOTAL_BY_STATE)
		return bpf_missing(s, "--by", sp_grouping_choice((size_t)a->by));
	if (s->backend.user_mode_only && (a->kernel_only || !strcmp(a->recipes.recipes[0]->name, "context-switches")))
		return sp_fail_said(-EPERM,
				    "%s shows the kernel, which needs %s, or kernel.perf_event_paranoid below 2; run "
				    "it as root, with sudo",
				    a->kernel_only ? "-K" : "-e context-switches", s->backend.missing);
	return 0;
}

/* Once it works: a refusal is one line, too. */
static void way_tell(const struct sp_profile_session *s)
{
	if (s->backend.kind != SP_BACKEND_PERF)
		return;
	fputs("soprof: sampling by perf_event_open, ", stderr);
	if (*s->backend.missing)
		fprintf(stderr, "since BPF needs %s", s->backend.missing);
	else
		sp_encode(stderr, SP_ENCODE_TERMINAL, s->why_not_bpf ? s->why_not_bpf : "");
	if (s->backend.user_mode_only)
		fputs("; time in the kernel is not seen (kernel.perf_event_paranoid below 2 would allow it)", stderr);
	if (tells_objects(s->args))
		fputs("; what page faults touch is not seen", stderr);
	fputc('\n', stderr);
}

static int session_open(struct sp_profile_session *s)
{
	struct sp_capture_options o;
	int r = options_make(s, &o);

	s->sampling.recipes = s->args->recipes.recipes;
	return r < 0 ? r : sp_sampling_open(&s->sampling, &o);
}

/* Linux 6.1 does not show its types to the root of a user namespace, and libbpf calls that -EINVAL. */
static bool is_refusal(int r)
{
	return r == -EINVAL || sp_sampling_exit_code(r) == SP_EXIT_REFUSED;
}

/* Where the kernel refuses BPF programs (lockdown, no type information), perf_event_open serves. */
int sp_profile_session_begin(struct sp_profile_session *s)
{
	/* what needs BPF is refused for that, whosever processes are asked for */
	int r = sp_privileges_backend(has_targets(s->args) || needs_bpf(s->args), &s->backend);

	if (s->args->with_lines)
		sp_workers_want_lines();
	if (r >= 0)
		r = sp_sampling_begin(&s->sampling);
	if (r >= 0)
		r = way_check(s);
	if (r >= 0)
		r = session_open(s);
	if (r < 0 && s->backend.kind == SP_BACKEND_BPF && is_refusal(r)) {
		s->why_not_bpf = strdup(sp_error_text(r));
		if (s->why_not_bpf && !sp_privileges_other_backend(has_targets(s->args), &s->backend)) {
			sp_error_clear();
			r = way_check(s);
			if (r >= 0)
				r = sp_sampling_again(&s->sampling);
			if (r >= 0)
				r = session_open(s);
		}
	}
	return r;
}

static int child_begin(struct sp_profile_session *s)
{
	uint32_t number = 0;
	int r;

	if (!s->args->command)
		return 0;
	if (s->args->memory.path)
		s->child.environment = s->args->memory.environment;
	r = sp_child_start_target(&s->child, s->args->command, &s->sampling.old_signals, &number);
	return r < 0 ? r : sp_capture_target_add(s->sampling.capture, number, SP_TARGET_AFTER_EXEC);
}

static int privileges_drop(struct sp_profile_session *s)
{
	int r = sp_output_prepare(s->args->output, s->sampling.broker, &s->output);

	return r < 0 ? r : sp_sampling_drop_privileges(&s->sampling);
}

static int sampling_run(struct sp_profile_session *s)
{
	int r;

	if (s->args->every_s)
		return sp_profile_turns(s);
	if (!s->to_the_end)
		return sp_sampling_run(&s->sampling, s->args->duration_s, s->child.pid_fd);
	do
		r = sp_capture_run(s->sampling.capture, 0, s->sampling.signal_fd, s->child.pid_fd);
	while (r >= 0 && sp_child_signals_pass(&s->child, s->sampling.signal_fd, 0));
	return r;
}

int sp_profile_session_sample(struct sp_profile_session *s)
{
	struct sp_recipe_probe *probes[SP_RECIPE_SET_PROBES];
	size_t n_probes = sp_recipe_set_probes(&s->args->recipes, probes);
	int r = child_begin(s);

	if (r >= 0)
		r = sp_capture_start(s->sampling.capture);
	if (r >= 0 && s->backend.kind == SP_BACKEND_BPF) /* the other way still looks at processes that appear later */
		r = privileges_drop(s);
	if (r >= 0)
		r = sp_child_release(&s->child);
	if (r < 0)
		return r;
	if (!s->quiet) {
		way_tell(s);
		sp_probes_tell_begin(probes, n_probes, s->args->command != NULL, s->args->verbose);
		sp_memory_unseen_tell(&s->args->memory);
		sp_header_print(s);
	}
	r = sampling_run(s);
	if (r >= 0 && !s->quiet)
		sp_probes_tell_end(probes, n_probes);
	return r < 0 ? r : sp_capture_finish(s->sampling.capture);
}

static bool wants_packages(const struct sp_profile_args *a)
{
	return a->by == SP_TOTAL_BY_PACKAGE || a->view->packages || a->view->recording;
}

/* Lines and inlined functions: the files have other numbers in the new profile. */
static int lines_find(struct sp_profile_session *s, struct sp_naming *naming)
{
	struct sp_source_resolver resolver = {.arg = naming, .resolve = sp_naming_source_lines};
	struct sp_profile *expanded;
	int r = sp_symbol_inline(s->sampling.profile, &resolver, &expanded);

	if (r < 0)
		return r;
	sp_profile_free(s->sampling.profile);
	s->sampling.profile = expanded;
	return 0;
}

static void fetching_tell(const char *library)
{
	if (!sp_terminal_has_escapes(stderr))
		return;
	if (library) {
		fputs("\rsoprof: asking debuginfod for ", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, library);
	}
	fputs("\033[K", stderr);
	fputs(library ? " ..." : "\r\033[K", stderr);
}

static struct sp_naming naming_of(const struct sp_profile_session *s)
{
	return (struct sp_naming){.workers = s->sampling.workers,
				  .capture = s->sampling.capture,
				  .profile = s->sampling.profile,
				  .kallsyms = s->sampling.kallsyms,
				  .fetching = fetching_tell,
				  .debug_dirs = s->args->debug_dirs,
				  .with_lines = s->args->with_lines,
				  .no_fetch = s->args->no_debuginfod};
}

/* All that asks the session about files, whose numbers are theirs in it. */
static int files_name(struct sp_profile_session *s)
{
	struct sp_naming naming = naming_of(s);
	int r = sp_verify_stacks(&naming);

	if (r >= 0)
		r = sp_naming_run(&naming);
	if (r >= 0)
		r = sp_name_locks(&naming);
	if (r >= 0)
		r = sp_bad_rows_keep(s);
	if (r >= 0 && wants_packages(s->args))
		r = sp_enrich_packages(s->sampling.profile, s->sampling.capture);
	if (r >= 0)
		r = sp_memory_callers(&s->args->memory, &s->sampling.profile);
	if (r >= 0 && s->args->with_lines)
		r = lines_find(s, &naming);
	sp_naming_done(&naming);
	return r;
}

int sp_profile_session_name(struct sp_profile_session *s)
{
	int r = files_name(s);

	return r < 0 ? r : sp_sampling_unite(&s->sampling);
}

int sp_profile_session_so_far(struct sp_profile_session *s, struct sp_profile **ret_profile)
{
	struct sp_naming naming = naming_of(s);
	struct sp_profile *copy = NULL;
	int r = sp_capture_drain(s->sampling.capture);

	if (r >= 0)
		r = sp_naming_run(&naming);
	sp_naming_done(&naming);
	if (r >= 0 && wants_packages(s->args))
		r = sp_enrich_packages(s->sampling.profile, s->sampling.capture);
	if (r >= 0)
		r = sp_profile_new(&copy);
	if (r >= 0)
		r = sp_profile_merge(copy, s->sampling.profile);
	if (r >= 0)
		r = sp_memory_callers(&s->args->memory, &copy);
	if (r < 0) {
		sp_profile_free(copy);
		return r;
	}
	sp_profile_info(copy)->duration_ns = sp_time_ns(CLOCK_MONOTONIC) - sp_capture_began_ns(s->sampling.capture);
	*ret_profile = copy;
	return 0;
}

static int session_show(struct sp_profile_session *s)
{
	int r = sp_profile_session_name(s);

	if (r >= 0)
		r = sp_profile_narrow(s);
	if (r >= 0 && s->args->top)
		r = sp_profile_top(s);
	if (r >= 0)
		r = sp_profile_above_print(s);
	if (r >= 0)
		r = sp_profile_print(s);
	return r < 0 ? r : sp_profile_summarise(s);
}

int sp_cmd_profile_run(const struct sp_profile_args *a)
{
	struct sp_profile_session s = SP_PROFILE_SESSION(a);
	int code = 0, r = sp_profile_session_begin(&s);

	if (r >= 0)
		r = sp_profile_session_sample(&s);
	if (r >= 0)
		r = session_show(&s);
	if (r < 0)
		code = sp_cmd_error(a->cmd, r, r == -ECHILD ? sp_child_code(&s.child) : sp_sampling_exit_code(r));
	else if (a->command)
		code = sp_child_code(&s.child);
	sp_profile_session_done(&s);
	return code;
}
