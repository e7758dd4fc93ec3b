/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c: `soprof report`: profiles of any kind, read, narrowed and shown in any view. */
#include "cmd/report.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/profile_parts.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "view/view.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_args {
	struct sp_words files;
	struct sp_input_args input;
	const char *output, *value, *title;
	const char *callers, *callees, *around; /* globs */
	bool csv, json, tree, inverted, icicle, verbose, fold_recursion, user_only, kernel_only;
	int by, sort, view, fold;
	uint64_t limit, min_percent;
};

enum { FORMAT = 1, TREE = 2, HALF = 4, SCRIPT = 8, DEFAULT_LIMIT = 50 };

static const char *sort_choice(size_t i)
{
	return i < SP_N_SORTS ? sp_view_sorts[i] : NULL;
}

static const char *fold_choice(size_t i)
{
	static const char *const names[] = {
	    [SP_TREE_FRAMES] = "frames", [SP_TREE_ENTRIES] = "entries", [SP_TREE_LIBRARIES] = "libraries"};

	return i < SP_COUNT(names) ? names[i] : NULL;
}

/* clang-format off */
#define AT(member) .offset = offsetof(struct report_args, member)
static const struct sp_option options[] = {
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by", AT(by), .choice = sp_grouping_choice, .excludes = TREE},
	{SP_OPT_CHOICE, 0, "sort", "KEY", "the order of the table", AT(sort), .choice = sort_choice},
	{SP_OPT_NUMBER, 'n', "limit", "N", "rows shown (50; 0 = all)", AT(limit), .min = 0, .max = UINT32_MAX},
	{SP_OPT_STRING, 0, "value", "NAME", "which of the profile's values (the first)", AT(value)},
	{SP_OPT_FLAG, 0, "tree", NULL, "a call tree from the root", AT(tree), .excludes = TREE | SCRIPT},
	{SP_OPT_FLAG, 0, "inverted", NULL, "the same from the leaves up", AT(inverted), .excludes = TREE | SCRIPT},
	{SP_OPT_STRING, 0, "callers", "GLOB", "who calls this function or library", AT(callers), .excludes = TREE | SCRIPT},
	{SP_OPT_STRING, 0, "callees", "GLOB", "what it calls", AT(callees), .excludes = TREE | SCRIPT},
	{SP_OPT_STRING, 0, "around", "GLOB", "both", AT(around), .excludes = TREE | SCRIPT},
	{SP_OPT_FLAG, 0, "icicle", NULL, "svg: the root at the top", AT(icicle)},
	{SP_OPT_CHOICE, 0, "fold", "HOW", "trees, svg: one node for", AT(fold), .choice = fold_choice},
	{SP_OPT_FLAG, 0, "fold-recursion", NULL, "trees, svg: a repeated function is one node", AT(fold_recursion)},
	{SP_OPT_NUMBER, 0, "min-percent", "N", "trees: smaller nodes are added up (1)", AT(min_percent), .min = 0, .max = 100},
	SP_INPUT_FILTERS(struct report_args, input),
	{SP_OPT_FLAG, 'U', "user-stacks-only", NULL, "without kernel frames", AT(user_only), .excludes = HALF},
	{SP_OPT_FLAG, 'K', "kernel-stacks-only", NULL, "without user frames", AT(kernel_only), .excludes = HALF},
	{SP_OPT_FLAG, 0, "csv", NULL, "the table as CSV", AT(csv), .excludes = FORMAT | SCRIPT},
	{SP_OPT_FLAG, 0, "json", NULL, "the table as JSON", AT(json), .excludes = FORMAT | SCRIPT},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(view), .choice = sp_view_choice, .excludes = FORMAT},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(output)},
	{SP_OPT_CHOICE, 0, "input-format", "NAME", "do not guess what FILE is", AT(input.format), .choice = sp_input_format_choice},
	{SP_OPT_FLAG, 0, "keep-going", NULL, "skip what cannot be read, and say so", AT(input.keep_going)},
	{SP_OPT_FLAG, 'v', "verbose", NULL, "whole build ids; offsets and lines in text", AT(verbose)},
	{SP_OPT_OPERANDS, 0, NULL, "FILE...", "pprof, folded or perf script; - is standard input", AT(files)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof report cpu.pb.gz", "what each library costs"},
    {"soprof report --by matrix -l 'libz.so*' cpu.pb.gz", "who pays for libz"},
    {"perf script | soprof report - -o perf.html", "perf's samples as a page"},
    {0},
};

/* --- the view --------------------------------------------------------------------------------------------------------
 */
static int view_choose(const struct report_args *a, const struct sp_view **ret_view)
{
	bool is_tree = a->tree || a->inverted || a->callers || a->callees || a->around;
	const struct sp_view *view;
	int r = 0;

	if (a->csv || a->json)
		view = sp_view_by_name(a->csv ? "csv" : "json");
	else if (a->view >= 0)
		view = sp_views[a->view];
	else if (a->output)
		r = sp_output_view(a->output, sp_view_choice, &view);
	else
		view = sp_view_by_name(is_tree ? "tree" : "table");
	if (r >= 0)
		r = sp_output_fits(view, a->output);
	if (r >= 0)
		*ret_view = view;
	return r;
}

/* --- the run ---------------------------------------------------------------------------------------------------------
 */
struct report {
	const struct report_args *args;
	const struct sp_view *view;
	struct sp_profile *profile;
	struct sp_input_told told;
	struct sp_view_options options;
};

static int any_matches(const struct sp_profile *p, enum sp_filter_by by, const char *glob, bool *ret_any)
{
	SP_FREE bool *matches = sp_profile_frames_matching(p, by, glob);

	if (!matches)
		return -ENOMEM;
	*ret_any = memchr(matches, 1, sp_profile_n_frames(p)) != NULL;
	return 0;
}

/* The glob is of functions; where none has such a name, of libraries. */
static int focus_choose(struct report *r)
{
	const struct report_args *a = r->args;
	const char *glob = a->around ? a->around : a->callers ? a->callers : a->callees;
	bool any = false;
	int e;

	r->options.callers = a->around || a->callers || a->inverted;
	r->options.callees = a->around || a->callees || a->tree;
	r->options.focus = glob;
	if (!glob)
		return 0;
	e = any_matches(r->profile, SP_FILTER_FUNCTION, glob, &any);
	if (e < 0 || any)
		return e;
	r->options.focus_is_library = true;
	e = any_matches(r->profile, SP_FILTER_LIBRARY, glob, &any);
	return e < 0 || any ? e : sp_fail_said(-ENOENT, "no function and no library is called '%s'", glob);
}

static int labels_fill(struct report *r)
{
	return r->args->by == SP_BY_PACKAGE || r->view->packages ? sp_label_packages(r->profile, NULL) : 0;
}

static void options_fill(struct report *r)
{
	const struct report_args *a = r->args;
	bool for_scripts = a->csv || a->json || a->output;

	r->options = (struct sp_view_options){
	    .title = a->files.n == 1 ? a->files.words[0] : "report",
	    .by = a->by < 0 ? SP_BY_LIBRARY : (enum sp_group_by)a->by,
	    .sort = a->sort < 0 ? SP_SORT_SELF : (enum sp_sort)a->sort,
	    .limit = a->limit != UINT64_MAX ? (uint32_t)a->limit
		     : for_scripts          ? 0
					    : DEFAULT_LIMIT,
	    .user_only = a->user_only,
	    .kernel_only = a->kernel_only,
	    .verbose = a->verbose,
	    .fold = a->fold < 0 ? SP_TREE_FRAMES : a->fold,
	    .fold_recursion = a->fold_recursion,
	    .icicle = a->icicle,
	    .min_share = (double)a->min_percent / 100,
	    .colour = !a->output && isatty(STDOUT_FILENO),
	};
}

static int view_write(void *arg, FILE *out)
{
	struct report *r = arg;

	return r->view->write(r->profile, &r->options, out);
}

static int report_make(struct report *r)
{
	int e = sp_inputs_read(&r->args->files, &r->args->input, &r->profile, &r->told);

	if (e >= 0)
		e = sp_inputs_narrow(&r->args->input, &r->profile, &r->told);
	if (e < 0)
		return e;
	options_fill(r);
	e = sp_inputs_value(r->profile, r->args->value, &r->options.value);
	if (e >= 0)
		e = focus_choose(r);
	if (e >= 0)
		e = labels_fill(r);
	return e < 0 ? e : sp_output(r->args->output, view_write, r);
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct report_args a = {
	    .by = -1, .sort = -1, .view = -1, .fold = -1, .input.format = -1, .limit = UINT64_MAX, .min_percent = 1};
	struct report r = {.args = &a};
	int code = SP_EXIT_OK, e = sp_options_parse(options, argc, argv, &a);

	if (e == SP_PARSED && !a.files.n)
		e = sp_fail_said(-EINVAL, "no FILE to read; - is standard input");
	if (e == SP_PARSED)
		e = view_choose(&a, &r.view);
	if (sp_cmd_parsed(cmd, e, &code)) {
		e = report_make(&r);
		if (e < 0)
			code = sp_cmd_error(cmd, e, e == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
		else
			sp_inputs_tell(r.profile, &r.told);
	}
	sp_profile_free(r.profile);
	sp_words_done(&a.files);
	return code;
}

extern const struct sp_cmd sp_cmd_report;
const struct sp_cmd sp_cmd_report = {
    .name = "report",
    .summary = "read profiles (pprof, folded, perf script) and show them in any view",
    .group = SP_CMD_READ,
    .synopsis = "[OPTIONS] FILE...",
    .options = options,
    .examples = examples,
    .run = run,
};
