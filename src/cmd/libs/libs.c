/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs.c: `soprof libs`: which processes map which libraries, what these cost, and who runs an old one.
 *
 * Samples are taken first, then /proc is read, so that the list shows the state at the end. Then privileges are given
 * up, before names and files of others are handled.
 */
#include "cmd/libs/libs.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/state.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "naming/enrich.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_SECONDS = 2, DEFAULT_HZ = 99, MAX_SECONDS = 86400, MAX_HZ = 10000 };
enum { FORMAT = 1 };

SP_CHOICE(sort_choice, [SP_LIBS_BY_COST] = "self", [SP_LIBS_BY_TOTAL] = "total", [SP_LIBS_BY_PROCESSES] = "processes",
	  [SP_LIBS_BY_STALE] = "stale", [SP_LIBS_BY_NAME] = "name")

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_libs_args, member)
static const struct sp_option options[] = {
	{SP_OPT_FLAG, 0, "stale", NULL, "only who runs a deleted or replaced file; no sampling", AT(stale)},
	{SP_OPT_NUMBER, 's', "seconds", "N", "sample so long (2); 0 = no sampling", AT(seconds), .min = 0, .max = MAX_SECONDS},
	{SP_OPT_NUMBER, 'F', "frequency", "HZ", "samples a second on each CPU (99)", AT(frequency_hz), .min = 1, .max = MAX_HZ},
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "these processes only", AT(pids), .min = 1, .max = SP_MAX_PID},
	{SP_OPT_CHOICE, 0, "sort", "KEY", "the order of libraries", AT(sort), .choice = sort_choice},
	{SP_OPT_NUMBER, 'n', "limit", "N", "libraries shown; 0 = all (a screen, else all)", AT(limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_FLAG, 0, "csv", NULL, "as CSV", AT(csv), .excludes = FORMAT},
	{SP_OPT_FLAG, 0, "json", NULL, "as JSON", AT(json), .excludes = FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE; .csv and .json as such", AT(output)},
	{SP_OPT_FLAG, 'v', "verbose", NULL, "paths, whole build ids, what could not be read", AT(verbose)},
	SP_FLEET_OPTIONS(struct sp_libs_args, fleet, 0),
	{SP_OPT_STRING, 0, "label", "NAME=GLOB", "of a fleet: hosts that have such a label", AT(fleet.filter.label)},
	{SP_OPT_STRING, 0, "from", "TIME", "of a fleet: since when (-1h)", AT(from)},
	{SP_OPT_STRING, 0, "to", "TIME", "of a fleet: until when (now)", AT(to)},
	{SP_OPT_OPERANDS, 0, NULL, "GLOB...", "these libraries, with their processes: name, path or build id", AT(globs)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"sudo soprof libs", "every library: cost, processes, package"},
    {"sudo soprof libs libz libcrypto.so.3", "who uses these, and for how much"},
    {"sudo soprof libs --stale", "what to start again after an upgrade"},
    {0},
};

extern const struct sp_cmd sp_cmd_libs;

/* --- sampling
 * ---------------------------------------------------------------------------------------------------------
 */
/* --stale needs no samples, and without an explicit option missing privileges are no error. */
static int wants_samples(struct sp_libs *l, uint64_t *ret_seconds)
{
	const struct sp_libs_args *a = l->args;
	int r;

	*ret_seconds = a->seconds != UINT64_MAX ? a->seconds : a->stale ? 0 : DEFAULT_SECONDS;
	if (!*ret_seconds)
		return 0;
	r = sp_privileges_check("sample");
	if (r >= 0 || a->seconds != UINT64_MAX)
		return r;
	*ret_seconds = 0;
	l->not_sampled = sp_libs_keep(l, sp_error_text(r));
	sp_error_clear();
	return 0;
}

static int sample(struct sp_libs *l, uint64_t seconds)
{
	struct sp_sampling *s = &l->sampling;
	struct sp_capture_options o = {.recipes = {&sp_recipe_cpu},
				       .user = true,
				       .kernel = true,
				       .frequency_hz = l->args->frequency_hz,
				       .targets = l->args->pids.values,
				       .n_targets = l->args->pids.n,
				       .filter = l->args->pids.n ? SP_TARGETS_TGID : SP_TARGETS_ALL};
	uint64_t start_ns;
	int r = sp_sampling_open(s, &o);

	if (r >= 0)
		r = sp_capture_start(s->capture);
	if (r < 0)
		return r;
	start_ns = sp_time_ns(CLOCK_MONOTONIC);
	r = sp_sampling_run(s, seconds, -1);
	l->sampled_ns = sp_time_ns(CLOCK_MONOTONIC) - start_ns;
	if (r >= 0)
		r = sp_capture_finish(s->capture);
	l->sampled = r >= 0;
	if (r >= 0)
		r = sp_enrich_packages(s->profile, s->capture); /* for what has ended when we look */
	return r < 0 ? r : sp_sampling_unite(s);
}

/* --- the run --- */
/* Nothing is left to be done by us that needs them: workers open the files, and the broker puts the output in place. */
static int privileges_drop(struct sp_libs *l)
{
	int r = sp_output_prepare(l->args->output, l->sampling.broker, &l->output);

	return r < 0 ? r : sp_sampling_drop_privileges(&l->sampling);
}

static int look(struct sp_libs *l)
{
	struct sp_mapped_options o = {
	    .pids = l->args->pids.values, .n_pids = l->args->pids.n, .without = (uint32_t)getpid()};
	int r = sp_mapped_read(&o, &l->mapped);

	if (r >= 0)
		r = privileges_drop(l);
	if (r >= 0)
		r = sp_libs_find(l);
	if (r >= 0)
		r = sp_libs_group(l);
	if (r >= 0 && l->sampled)
		r = sp_libs_cost(l);
	if (r >= 0)
		r = sp_libs_label(l);
	return r < 0 ? r : sp_libs_arrange(l);
}

static int print(void *arg, FILE *out)
{
	struct sp_libs *l = arg;

	if (l->args->json)
		return sp_libs_print_json(l, out);
	if (l->args->csv)
		return sp_libs_print_csv(l, out);
	return l->args->stale ? sp_libs_print_stale(l, out) : sp_libs_print_table(l, out);
}

static int libs_put(struct sp_libs *l)
{
	const char *path = l->args->output;

	if (!l->output)
		return sp_output(path, print, l);
	return sp_output_prepared(path, l->sampling.broker, sp_take_ptr(l->output), print, l);
}

/* As with the other commands, the suffix of -o says what is written, where no option does. */
static void heed_suffix(struct sp_libs_args *a)
{
	const struct sp_view *view = a->output && !a->csv && !a->json ? sp_view_by_path(a->output) : NULL;

	a->csv |= view && !strcmp(view->name, "csv");
	a->json |= view && !strcmp(view->name, "json");
}

static int nothing_matches(const struct sp_libs *l)
{
	if (l->args->pids.n && l->mapped->n_ended == l->args->pids.n)
		return sp_fail_said(-ESRCH, "-p: there is no process %u%s", l->args->pids.values[0],
				    l->args->pids.n > 1 ? ", nor any of the others" : "");
	if (l->args->pids.n && l->mapped->n_refused == l->args->pids.n)
		return sp_fail_said(-EACCES, "-p: we may not look into process %u%s", l->args->pids.values[0],
				    l->args->pids.n > 1 ? ", nor into the others" : "");
	if (!l->args->globs.n || l->args->stale || l->n_order)
		return 0;
	return sp_fail_said(-ENOENT, "no process maps a library that is called '%s'%s", l->args->globs.words[0],
			    l->args->globs.n > 1 ? " or as the others" : "");
}

static int libs_run_all(struct sp_libs *l)
{
	uint64_t seconds;
	int r = sp_intern_new(&l->strings);

	if (r >= 0)
		r = wants_samples(l, &seconds);
	if (r >= 0)
		r = sp_sampling_begin(&l->sampling);
	if (r >= 0 && seconds)
		r = sample(l, seconds);
	if (r >= 0)
		r = sp_sampling_signals_back(&l->sampling);
	if (r >= 0)
		r = look(l);
	if (r >= 0)
		r = nothing_matches(l);
	if (r >= 0)
		r = libs_put(l);
	return r;
}

static void libs_done(struct sp_libs *l)
{
	sp_libs_files_done(l);
	free(l->libraries);
	free(l->order);
	free(l->uses);
	free(l->users);
	free(l->places);
	sp_mapped_free(l->mapped);
	sp_intern_free(l->strings);
	if (l->output)
		fclose(l->output);
	sp_sampling_done(&l->sampling);
}

/* --- what is to be known beside it --- */
static void tell_failures(const struct sp_libs *l)
{
	const struct sp_mapped *m = l->mapped;

	if (m->n_refused)
		fprintf(stderr, "left out: %" PRIu64 " process%s we may not look into%s\n", m->n_refused,
			m->n_refused == 1 ? " that" : "es that", geteuid() ? " (root may)" : "");
	if (m->n_stuck)
		fprintf(stderr, "left out: %" PRIu64 " process%s did not answer in time\n", m->n_stuck,
			m->n_stuck == 1 ? " that" : "es that");
	if (m->n_left_out)
		fprintf(stderr, "left out: %" PRIu64 " mappings beyond the limits\n", m->n_left_out);
	if (l->n_not_open) {
		fprintf(stderr, "%" PRIu64 " file%s not be read: ", l->n_not_open,
			l->n_not_open == 1 ? " could" : "s could");
		sp_encode(stderr, SP_ENCODE_TERMINAL, l->why_not_open);
		fputs(l->n_not_open > 1 ? ", ...\n" : "\n", stderr);
	}
}

static void tell_samples(const struct sp_libs *l)
{
	int64_t in_libraries = l->n_samples - l->n_kernel - l->n_other;

	if (l->not_sampled)
		fprintf(stderr, "not sampled: %s\n", l->not_sampled);
	if (!l->sampled)
		return;
	fprintf(stderr, "%" PRId64 " samples in %.1f s: libraries %.1f %%, kernel %.1f %%, elsewhere %.1f %%\n",
		l->n_samples, (double)l->sampled_ns / 1e9, sp_libs_percent(l, in_libraries),
		sp_libs_percent(l, l->n_kernel), sp_libs_percent(l, l->n_other));
}

static size_t n_stale_processes(const struct sp_libs *l)
{
	SP_FREE bool *stale = calloc(l->mapped->n_processes + 1, sizeof(*stale));
	size_t n = 0;

	for (size_t i = 0; stale && i < l->n_uses; i++) {
		n += l->uses[i].state != SP_LIBS_CURRENT && !stale[l->uses[i].process];
		stale[l->uses[i].process] |= l->uses[i].state != SP_LIBS_CURRENT;
	}
	return n;
}

/* Of the list on a terminal: about its first library. */
static void next_tell(const struct sp_libs *l)
{
	const struct sp_libs_args *a = l->args;
	const char *name = l->n_order ? l->libraries[l->order[0]].name : NULL;
	const char *sudo = sp_state_is_roots() ? "sudo " : "";

	if (!name || a->output || a->csv || a->json || a->globs.n || !isatty(STDOUT_FILENO))
		return;
	if (a->stale)
		sp_cmd_next("start these processes again; %ssoprof libs %s (who else maps it)", sudo, name);
	else
		sp_cmd_next("%ssoprof libs %s (its processes), %ssoprof profile -l %s 10 (who calls it, and for what)",
			    sudo, name, sudo, name);
}

/* On stderr. */
static void libs_tell(const struct sp_libs *l)
{
	size_t n = n_stale_processes(l);

	tell_samples(l);
	fprintf(stderr, "%zu %s in %zu %s", l->n_libraries, l->n_libraries == 1 ? "library" : "libraries",
		l->mapped->n_processes, l->mapped->n_processes == 1 ? "process" : "processes");
	if (n)
		fprintf(stderr, "; %zu run%s a deleted or replaced one%s", n, n == 1 ? "s" : "",
			l->args->stale ? "" : " (--stale)");
	if (l->args->verbose)
		fprintf(stderr, "; %" PRIu64 " mapped files are no ELF, %" PRIu64 " mappings are memory", l->n_not_elf,
			l->mapped->n_memory);
	fputc('\n', stderr);
	tell_failures(l);
	next_tell(l);
}

/* --- the command --- */
static int run_fleet(const struct sp_libs_args *a)
{
	int r = sp_libs_fleet(a);

	return r < 0 ? sp_cmd_error(&sp_cmd_libs, r, r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED) : SP_EXIT_OK;
}

static int fleet_check(const struct sp_libs_args *a)
{
	const struct sp_fleet_args *f = &a->fleet;

	if (f->url || !(a->from || a->to || f->filter.host || f->filter.label || f->password_file || f->ca_file))
		return 0;
	return sp_fail_said(-EINVAL,
			    "--from, --to, --host, --label, --password-file and --ca-file are of a fleet: give "
			    "--fleet");
}

static int run_libs(const struct sp_libs_args *a)
{
	struct sp_libs l = {.args = a, .sampling = SP_SAMPLING_NONE};
	int code = 0, r = libs_run_all(&l);

	if (r < 0)
		code = sp_cmd_error(&sp_cmd_libs, r, sp_sampling_exit_code(r));
	else
		libs_tell(&l);
	libs_done(&l);
	return code;
}

static int libs_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_libs_args args = {
	    .seconds = UINT64_MAX, .limit = UINT64_MAX, .frequency_hz = DEFAULT_HZ, .sort = SP_LIBS_BY_COST};
	int code, r = sp_options_parse(options, argc, argv, &args);

	sp_output_is_stdout(&args.output);
	heed_suffix(&args);
	if (r == SP_PARSED)
		r = fleet_check(&args);
	if (sp_cmd_parsed(cmd, r, &code))
		code = args.fleet.url ? run_fleet(&args) : run_libs(&args);
	sp_u32_list_done(&args.pids);
	sp_words_done(&args.globs);
	return code;
}

const struct sp_cmd sp_cmd_libs = {
    .name = "libs",
    .summary = "which processes map and run which libraries; who runs an old one",
    .group = SP_CMD_SAMPLE,
    .needs = "for its samples what profile needs; root to see all processes",
    .synopsis = "[OPTIONS] [GLOB...]",
    .options = options,
    .examples = examples,
    .run = libs_run,
};
