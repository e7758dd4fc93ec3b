/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.c: `soprof diff`: the difference between two profiles, and what of it is significant. */
#include "profile/diff.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/state.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/report/history.h"
#include "cmd/report/report.h"
#include "profile/values.h"
#include "view/tables/changes.h"
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct diff_args {
	struct sp_words files;
	struct sp_input_args input;
	struct sp_fleet_args fleet;
	const char *against;       /* NULL: not two groups of hosts */
	const char *against_range; /* of both */
	const char *output, *value, *store, *socket;
	bool csv, json, absolute, noise;
	int by, view;
	uint64_t limit;
};

enum { FORMAT = 1, DEFAULT_LIMIT = 40, N_SLICES = 20, OTHER_LINES = 12 };

static const char *by_choice(size_t i)
{
	static const char *const names[] = {
	    [SP_DIFF_BY_LIBRARY] = "library", [SP_DIFF_BY_FUNCTION] = "function", [SP_DIFF_BY_STACK] = "stack"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

static const char *view_choice(size_t i)
{
	static const char *const names[] = {"table", "csv", "json", "svg", "html", "folded"};

	return i < sizeof(names) / sizeof(names[0]) && sp_view_by_name(names[i]) ? names[i] : NULL;
}

/* clang-format off */
#define AT(member) .offset = offsetof(struct diff_args, member)
static const struct sp_option options[] = {
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a row for each", AT(by), .choice = by_choice},
	{SP_OPT_FLAG, 0, "absolute", NULL, "absolute values, not shares", AT(absolute)},
	{SP_OPT_FLAG, 0, "noise", NULL, "rows within noise, too", AT(noise)},
	{SP_OPT_NUMBER, 'n', "limit", "N", "rows shown; 0 = all (a screen, else 40)", AT(limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_STRING, 0, "value", "NAME", "which of the profiles' values", AT(value)},
	SP_INPUT_FILTERS(struct diff_args, input),
	{SP_OPT_FLAG, 0, "csv", NULL, "all rows as CSV", AT(csv), .excludes = FORMAT},
	{SP_OPT_FLAG, 0, "json", NULL, "all rows as JSON", AT(json), .excludes = FORMAT},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(view), .choice = view_choice, .excludes = FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(output)},
	{SP_OPT_CHOICE, 0, "input-format", "NAME", "the files' format, instead of detecting it", AT(input.format), .choice = sp_input_format_choice},
	{SP_OPT_FLAG, 0, "keep-going", NULL, "skip malformed input, and count it", AT(input.keep_going)},
	{SP_OPT_STRING, 0, "store", "PLACE", "times are of this store: a directory, or one of its files", AT(store), .excludes = SP_HISTORY_PLACE},
	{SP_OPT_STRING, 0, "socket", "PATH", "times are of the agent there", AT(socket), .excludes = SP_HISTORY_PLACE},
	SP_FLEET_OPTIONS(struct diff_args, fleet, SP_HISTORY_PLACE),
	{SP_OPT_STRING, 0, "against", "NAME=GLOB", "of a fleet: OLD is hosts with such a label, NEW those of --label, at one time (-1h)", AT(against)},
	{SP_OPT_OPERANDS, 0, NULL, "OLD NEW", "two profiles (pprof, folded, perf script; one may be -), or times (yesterday, -2h..-1h)", AT(files)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof diff before.pb.gz after.pb.gz", "what an upgrade changed"},
    {"soprof diff --by function yesterday today", "of what the agent has kept"},
    {"soprof diff -o diff.svg a.pb.gz b.pb.gz", "a differential flame graph"},
    {0},
};

struct diff_run {
	const struct diff_args *args;
	const struct sp_view *view; /* NULL: a table, or for scripts */
	struct sp_profile *profiles[2];
	struct sp_input_summary summary[2];
	struct sp_fleet_args fleet[2];
	struct sp_history *history[2]; /* NULL: the side is no time */
	struct sp_store_query asked[2];
	struct sp_store_answer answers[2];
	bool is_time[2];
	uint32_t value; /* of the new profile */
	struct sp_diff *diff;
};

/* --- reading --- */
static int time_read(struct diff_run *d, int side)
{
	const struct sp_input_args *a = &d->args->input;
	struct sp_history **history = &d->history[side];
	int r = d->args->fleet.url ? sp_history_open_fleet(&d->fleet[side], history)
				   : sp_history_open(d->args->store, d->args->socket, history);

	if (r >= 0)
		r = sp_history_query(*history, &d->asked[side], &d->profiles[side], &d->answers[side]);
	return r < 0 ? r : sp_inputs_narrow(a, &d->profiles[side], &d->summary[side]);
}

static int side_read(struct diff_run *d, int side)
{
	struct sp_words one = {.words = &d->args->files.words[side], .n = 1};
	int r;

	if (d->is_time[side])
		return time_read(d, side);
	r = sp_inputs_read(&one, &d->args->input, &d->profiles[side], &d->summary[side]);
	return r < 0 ? r : sp_inputs_narrow(&d->args->input, &d->profiles[side], &d->summary[side]);
}

/* What is no file is a time. */
static int side_find(struct diff_run *d, int side)
{
	const char *range = d->args->against_range, *word = range ? range : d->args->files.words[side];
	struct sp_when when = {0};
	int r;

	if (!range && (!strcmp(word, "-") || !access(word, F_OK)))
		return 0;
	r = sp_when_range(word, sp_time_ns(CLOCK_REALTIME), &when);
	if (r == -EINVAL && !range && !strstr(word, "..") && strpbrk(word, "./")) {
		sp_error_clear();
		return 0; /* the name of a file: opening it tells */
	}
	d->is_time[side] = true;
	d->asked[side] = (struct sp_store_query){
	    .from_ns = when.from_ns, .to_ns = when.to_ns, .all_users = true, .resolution = -1, .n_slices = N_SLICES};
	return r;
}

/* Where only one of two times is very long the ends of both stay: those that meet have no window in common. */
static void ends_set(struct diff_run *d)
{
	bool differ = sp_store_ends_move(&d->asked[0]) != sp_store_ends_move(&d->asked[1]);

	for (int side = 0; side < 2; side++)
		d->asked[side].ends_stay = d->is_time[0] && d->is_time[1] && differ;
}

/* Whether a value of one side is on the other, too. */
static bool value_is_shared(const struct diff_run *d, int side, uint32_t value, uint32_t ret_values[2])
{
	const struct sp_profile *own = d->profiles[side], *other = d->profiles[!side];

	for (uint32_t i = 0; i < sp_profile_n_value_types(other); i++)
		if (sp_diff_is_same_value(own, value, other, i)) {
			ret_values[side] = value;
			ret_values[!side] = i;
			return true;
		}
	return false;
}

/* As many samples of waits as of page faults say nothing: samples are compared where a profile has nothing else. */
static bool is_compared(const struct sp_profile *p, uint32_t value)
{
	return sp_profile_n_value_types(p) == 1 || (int)value != sp_profile_find_value(p, "samples", NULL);
}

/* "offcpu in nanoseconds, faults in count" */
static char *costs_list(const struct sp_profile *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *gap = "";

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *type = sp_profile_value_type(p, i);

		if (!is_compared(p, i))
			continue;
		fprintf(out, "%s%s in %s", gap, sp_profile_string(p, type->name), sp_profile_string(p, type->unit));
		gap = ", ";
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int nothing_shared(const struct diff_run *d)
{
	SP_FREE char *old = costs_list(d->profiles[0]), *new = costs_list(d->profiles[1]);

	if (!old || !new)
		return -ENOMEM;
	return sp_fail_said(-EINVAL, "%s has %s; %s has %s: they have no value in common", d->args->files.words[0], old,
			    d->args->files.words[1], new);
}

/* Where their own choices differ: that of one which the other has, too; else the first that both have. */
static int value_share(struct diff_run *d, struct sp_diff_options *o)
{
	const struct sp_profile *old = d->profiles[0];
	uint32_t values[2] = {o->old_value, o->new_value};
	bool is_shared = value_is_shared(d, 0, o->old_value, values) || value_is_shared(d, 1, o->new_value, values);

	for (uint32_t i = 0; i < sp_profile_n_value_types(old) && !is_shared; i++)
		if (is_compared(old, i))
			is_shared = value_is_shared(d, 0, i, values);
	o->old_value = values[0];
	o->new_value = values[1];
	return is_shared ? 0 : nothing_shared(d);
}

static int values_find(struct diff_run *d, struct sp_diff_options *o)
{
	int r = sp_inputs_value(d->profiles[0], d->args->value, &o->old_value);

	if (r >= 0)
		r = sp_inputs_value(d->profiles[1], d->args->value, &o->new_value);
	if (r >= 0 && !d->args->value &&
	    !sp_diff_is_same_value(d->profiles[0], o->old_value, d->profiles[1], o->new_value))
		r = value_share(d, o);
	d->value = o->new_value;
	return r;
}

/* What only one side has may have come or gone. */
static int sides_matched(const struct diff_run *d)
{
	if (sp_inputs_matched(&d->summary[0]) == 0)
		return 0;
	sp_error_clear();
	return sp_inputs_matched(&d->summary[1]);
}

static int diff_make(struct diff_run *d)
{
	struct sp_diff_options o = {.scale = d->args->absolute ? SP_DIFF_ABSOLUTE : SP_DIFF_SHARES};
	int r = side_find(d, 0);

	if (r >= 0)
		r = side_find(d, 1);
	if (r >= 0)
		ends_set(d);
	if (r >= 0)
		r = side_read(d, 0);
	if (r >= 0)
		r = side_read(d, 1);
	if (r >= 0)
		r = sides_matched(d);
	if (r >= 0)
		r = values_find(d, &o);
	return r < 0 ? r : sp_diff_new(d->profiles[0], d->profiles[1], &o, &d->diff);
}

/* --- writing --- */
static const char *value_name(const struct diff_run *d)
{
	return sp_profile_string(d->profiles[1], sp_profile_value_type(d->profiles[1], d->value)->name);
}

static int view_write(struct diff_run *d, FILE *out)
{
	const char *const *names = (const char *const *)d->args->files.words;
	SP_FREE char *subtitle = NULL;

	if (asprintf(&subtitle, "%s, compared with %s", names[1], names[0]) < 0)
		return -ENOMEM;
	struct sp_view_options o = {
	    .title = "What changed",
	    .subtitle = subtitle,
	    .value = SP_DIFF_NEW,
	    .has_second = true,
	    .diff = d->diff,
	    .second = SP_DIFF_OLD,
	    .absolute = d->args->absolute,
	    .value_name = value_name(d),
	};

	return d->view->write(d->diff->joined, &o, out);
}

static int changes_write(struct diff_run *d, FILE *out)
{
	const struct diff_args *a = d->args;
	bool for_scripts = a->csv || a->json;
	unsigned fits = sp_terminal_rows(out, OTHER_LINES);
	struct sp_changes_options o = {
	    .by = a->by < 0 ? SP_DIFF_BY_LIBRARY : (enum sp_diff_by)a->by,
	    .limit = a->limit != UINT64_MAX ? (uint32_t)a->limit
		     : for_scripts          ? 0
		     : fits                 ? fits
					    : DEFAULT_LIMIT,
	    .noise = a->noise,
	    .colour = !a->output && sp_terminal_has_colour(stdout),
	    .width = sp_terminal_width(out, NULL),
	    .value = value_name(d),
	};
	const struct sp_profile *const profiles[2] = {d->profiles[0], d->profiles[1]};

	for (int side = 0; side < 2; side++) {
		o.names[side] = a->files.words[side];
		o.duration_ns[side] = sp_profile_info(d->profiles[side])->duration_ns;
	}
	if (a->csv)
		return sp_changes_put_csv(d->diff, profiles, &o, out);
	return a->json ? sp_changes_put_json(d->diff, profiles, &o, out)
		       : sp_changes_put_table(d->diff, profiles, &o, out);
}

static int all_write(void *arg, FILE *out)
{
	struct diff_run *d = arg;

	return d->view ? view_write(d, out) : changes_write(d, out);
}

/* The changes as table, CSV and JSON are of the diff, not of the joined profile: no view for these. */
static int view_find(struct diff_args *a, const struct sp_view **ret_view)
{
	const struct sp_view *view = a->view >= 0 ? sp_view_by_name(view_choice((size_t)a->view)) : NULL;
	int r = 0;

	if (a->view < 0 && a->output && !a->csv && !a->json)
		r = sp_output_view(a->output, view_choice, &view);
	if (r < 0)
		return r;
	a->csv |= view && !strcmp(view->name, "csv");
	a->json |= view && !strcmp(view->name, "json");
	*ret_view = a->csv || a->json || (view && !strcmp(view->name, "table")) ? NULL : view;
	return 0;
}

static void side_tell(struct diff_run *d, int side)
{
	if (d->is_time[side])
		sp_history_tell(d->history[side], d->args->files.words[side], &d->asked[side], &d->answers[side],
				(int64_t)d->diff->n_samples[side]);
	sp_inputs_tell(d->profiles[side], &d->summary[side]);
}

static void next_tell(const struct diff_args *a)
{
	const char *const *names = (const char *const *)a->files.words;

	if (a->output || a->csv || a->json || a->view >= 0 || !isatty(STDOUT_FILENO))
		return;
	sp_cmd_next(
	    "%ssoprof diff%s%s -o x.svg %s %s (a differential flame graph)%s", sp_state_is_roots() ? "sudo " : "",
	    a->value ? " --value " : "", a->value ? a->value : "", names[0], names[1],
	    a->by == SP_DIFF_BY_FUNCTION ? "; --by stack: by whole stack" : "; --by function: which functions changed");
}

static void diff_done(struct diff_run *d)
{
	sp_diff_free(d->diff);
	sp_history_close(d->history[0]);
	sp_history_close(d->history[1]);
	sp_profile_free(d->profiles[0]);
	sp_profile_free(d->profiles[1]);
}

/* Of a fleet --label is of hosts. Two groups of hosts are compared at one time, which is the one operand. */
static int fleet_set(struct diff_args *a, struct diff_run *d)
{
	const char **words;

	if (!a->fleet.url)
		return !a->against && !a->fleet.filter.host && !a->fleet.password_file && !a->fleet.ca_file
			   ? 0
			   : sp_fail_said(
				 -EINVAL,
				 "--against, --host, --password-file and --ca-file are of a fleet: give --fleet");
	if (a->input.label.n > 1)
		return sp_fail_said(-EINVAL, "hosts of a fleet are chosen by one --label, which may be a glob");
	a->fleet.filter.label = a->input.label.n ? a->input.label.words[0] : NULL;
	sp_words_done(&a->input.label);
	a->input.label = (struct sp_words){0};
	d->fleet[0] = d->fleet[1] = a->fleet;
	if (!a->against)
		return 0;
	d->fleet[0].filter.label = a->against;
	if (!a->fleet.filter.label || a->files.n > 1)
		return sp_fail_said(-EINVAL, "--against wants --label, and one time at most");
	words = calloc(2, sizeof(*words));
	if (!words)
		return -ENOMEM;
	a->against_range = a->files.n == 1 ? a->files.words[0] : "-1h";
	words[0] = a->against;
	words[1] = a->fleet.filter.label;
	sp_words_done(&a->files);
	a->files = (struct sp_words){words, 2};
	return 0;
}

static int diff_main(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct diff_args a = {
	    .by = -1, .view = -1, .input.format = -1, .input.n_slices = N_SLICES, .limit = UINT64_MAX};
	struct diff_run d = {.args = &a};
	int code = SP_EXIT_OK, r = sp_options_parse(options, argc, argv, &a);

	sp_output_is_stdout(&a.output);
	if (r == SP_PARSED)
		r = fleet_set(&a, &d);
	if (r == SP_PARSED && a.files.n != 2)
		r = sp_fail_said(-EINVAL, "two profiles are compared, OLD and NEW; %zu %s given", a.files.n,
				 a.files.n == 1 ? "is" : "are");
	if (r == SP_PARSED)
		r = view_find(&a, &d.view);
	if (sp_cmd_parsed(cmd, r, &code)) {
		r = diff_make(&d);
		if (r >= 0)
			r = sp_output(a.output, all_write, &d);
		if (r < 0)
			code = sp_cmd_error(cmd, r, r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
		for (int side = 0; r >= 0 && side < 2; side++)
			side_tell(&d, side);
		if (r >= 0)
			next_tell(&a);
	}
	diff_done(&d);
	sp_words_done(&a.files);
	sp_input_args_done(&a.input);
	return code;
}

const struct sp_cmd sp_cmd_diff = {
    .name = "diff",
    .summary = "compare two profiles: what changed, and what of it is noise",
    .group = SP_CMD_READ,
    .synopsis = "[OPTIONS] OLD NEW",
    .options = options,
    .examples = examples,
    .run = diff_main,
};
