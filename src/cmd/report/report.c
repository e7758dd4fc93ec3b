/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c: `soprof report`: reads profiles of any format, filters them, and shows them in any view. */
#include "cmd/report/report.h"

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/report/show.h"
#include "profile/leaves.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

struct report_args {
	struct sp_words files;
	struct sp_input_args input;
	struct sp_show_args show;
	const char *leaf; /* a label's name; NULL: none */
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct report_args, member)
static const struct sp_option options[] = {
	SP_SHOW_WHAT(struct report_args, show),
	SP_INPUT_FILTERS(struct report_args, input),
	SP_SHOW_HOW(struct report_args, show),
	{SP_OPT_STRING, 0, "leaf", "LABEL", "a pprof label as the leaf of its stacks", AT(leaf)},
	{SP_OPT_FLAG, 0, "external", NULL, "gprof, gmon, pairs: merge callers outside the libraries", AT(show.external)},
	{SP_OPT_CHOICE, 0, "input-format", "NAME", "the format of FILE, instead of detecting it", AT(input.format), .choice = sp_input_format_choice},
	{SP_OPT_STRING, 0, "object", "ELF", "the ELF file of a profile without names", AT(input.object)},
	{SP_OPT_FLAG, 0, "keep-going", NULL, "skip malformed input, and count it", AT(input.keep_going)},
	{SP_OPT_OPERANDS, 0, NULL, "FILE...", "pprof, folded, perf, callgrind, JSON of V8, Firefox, speedscope, what soprof writes; - is stdin", AT(files)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof report cpu.pb.gz", "what each library costs"},
    {"soprof report --by matrix -l 'libz.so*' cpu.pb.gz", "who pays for libz"},
    {"perf script | soprof report - -o perf.html", "perf's samples as a page"},
    {0},
};

/* --- the run --- */
struct report {
	const struct report_args *args;
	const struct sp_view *view;
	struct sp_profile *profile;
	struct sp_input_summary summary;
};

static int leaves_put(struct report *r)
{
	struct sp_profile *with;
	int e = r->args->leaf ? sp_profile_leaves(r->profile, r->args->leaf, r->args->show.user_only, &with) : 0;

	if (e < 0 || !r->args->leaf)
		return e;
	sp_profile_free(r->profile);
	r->profile = with;
	return 0;
}

static int report_make(struct report *r)
{
	int e = sp_inputs_read(&r->args->files, &r->args->input, &r->profile, &r->summary);

	if (e >= 0)
		e = sp_inputs_narrow(&r->args->input, &r->profile, &r->summary);
	if (e >= 0)
		e = sp_inputs_matched(&r->summary);
	if (e >= 0)
		e = leaves_put(r);
	if (e < 0)
		return e;
	return sp_show(&r->args->show, r->view, r->profile, NULL,
		       r->args->files.n == 1 ? r->args->files.words[0] : "report");
}

/* What another command shows in the same views. */
static bool asks_fleet(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--fleet") || !strncmp(argv[i], "--fleet=", 8))
			return true;
	return false;
}

static int report_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct report_args a = {.input.format = -1, .show = SP_SHOW_DEFAULTS};
	struct report r = {.args = &a};
	int code = SP_EXIT_OK, e = sp_options_parse(options, argc, argv, &a);

	sp_output_is_stdout(&a.show.output);
	if (e == -EINVAL && asks_fleet(argc, argv)) {
		sp_error_clear();
		e = sp_fail_said(-EINVAL, "report reads files; of a fleet: soprof query --fleet, in the same views");
	}
	if (e == SP_PARSED && !a.files.n)
		e = sp_fail_said(-EINVAL, "no FILE to read; - is standard input");
	if (e == SP_PARSED)
		e = sp_show_view(&a.show, &r.view);
	if (sp_cmd_parsed(cmd, e, &code)) {
		e = report_make(&r);
		if (e < 0)
			code = sp_cmd_error(cmd, e, e == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
		else
			sp_inputs_tell(r.profile, &r.summary);
	}
	sp_profile_free(r.profile);
	sp_words_done(&a.files);
	sp_input_args_done(&a.input);
	return code;
}

const struct sp_cmd sp_cmd_report = {
    .name = "report",
    .summary = "read profiles (pprof, folded, perf script, counted calls), show them in any view",
    .group = SP_CMD_READ,
    .synopsis = "[OPTIONS] FILE...",
    .options = options,
    .examples = examples,
    .run = report_run,
};
