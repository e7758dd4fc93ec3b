/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memleak.c: `soprof memleak`: what `soprof profile -e mem` does, by the options of bcc's memleak. As there, every
 * allocation is taken, of a process young ones are not told, and what there is so far is told again and again. What
 * tells each call is refused.
 */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "cmd/profile/profile_parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WHO = 1, FORMAT = 4, HOW_MUCH = 8 };
enum { MAX_MS = 86400000, OLDER_MS = 500, TOP = 10, EVERY_S = 5 }; /* the last three are bcc's */
#define UNSET UINT64_MAX

struct memleak_args { /* in front: what profile does by */
	struct sp_profile_args profile;
	const char *command; /* of words with blanks between; NULL: none */
	bool is_combined;
	uint64_t older_ms, top, every_s; /* UNSET: what is usual */
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct memleak_args, profile.member)
#define OURS(member) .offset = offsetof(struct memleak_args, member)
static int refuse(const struct sp_option *o, const char *shown, const char *value, void *args);
static const struct sp_option options[] = {
	{SP_OPT_LIST, 'p', "pid", "PID", "this process", AT(pids), .min = 1, .max = SP_MAX_PID, .excludes = WHO},
	{SP_OPT_STRING, 'c', "command", "COMMAND", "run this, and look at it and all that it starts", OURS(command), .excludes = WHO},
	{SP_OPT_FLAG, 0, "combined-only", NULL, "by stack: as it always is", OURS(is_combined)},
	{SP_OPT_NUMBER, 's', "sample-rate", "N", "one allocation in N, by chance; it counts N times (1)", AT(one_in), .min = 1, .max = 1 << 20, .excludes = HOW_MUCH},
	{SP_OPT_BYTES, 0, "thin", "BYTES", "samples a byte in so many; 1: all (1)", AT(thin_bytes), .min = 1, .max = 1ULL << 39, .excludes = HOW_MUCH},
	{SP_OPT_BYTES, 'z', "min-size", "BYTES", "blocks of at least so many bytes", AT(least_bytes), .min = 0, .max = INT64_MAX},
	{SP_OPT_BYTES, 'Z', "max-size", "BYTES", "blocks of at most so many bytes", AT(most_bytes), .min = 1, .max = INT64_MAX},
	{SP_OPT_STRING, 'O', "obj", "LIBRARY", "the malloc of this library only", AT(allocator)},
	{SP_OPT_OTHER, 't', "trace", "", "refused: soprof trace tells single calls (man soprof-memleak)", .parse = refuse, .without = ""},
	{SP_OPT_FLAG, 'a', "show-allocs", NULL, "each block that lives, above the stacks, with its address and size", AT(show_blocks)},
	{SP_OPT_NUMBER, 'o', "older", "MS", "blocks that were allocated so long before the end (500; of a command 0)", OURS(older_ms), .min = 0, .max = MAX_MS},
	{SP_OPT_OTHER, 0, "wa-missing-free", "", "refused: it is about the kernel's memory", .parse = refuse, .without = ""},
	{SP_OPT_NUMBER, 'T', "top", "N", "the N stacks with most bytes; 0: all (10 as text, else 0)", OURS(top), .min = 0, .max = UINT32_MAX},
	{SP_OPT_FLAG, 'f', "folded", NULL, "one line a stack, for flame graph tools", AT(folded), .excludes = FORMAT},
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by", AT(by), .choice = sp_grouping_choice},
	SP_OVERHEAD_OPTION,
	{SP_OPT_STRING, 0, "output", "FILE", "write to FILE, in the view of its suffix", AT(output)},
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(view_number), .choice = sp_sample_view_choice, .excludes = FORMAT},
	{SP_OPT_OPERAND, 0, NULL, "INTERVAL", "tells what there is each so many seconds (5; of a command: at its end)", OURS(every_s), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_OPERAND, 0, NULL, "COUNT", "so many times, and ends; without it, until Ctrl-C", AT(n_times), .min = 1, .max = SP_MAX_SECONDS},
	{SP_OPT_COMMAND, 0, NULL, "COMMAND...", "run this, and look at it and all that it starts", AT(command), .excludes = WHO},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"sudo soprof memleak -p 4711 10 1", "what a process allocates and does not free, for 10 seconds"},
    {"sudo soprof memleak -p 4711 -z 1024 --output out.svg 10", "blocks of 1 KiB and more, as a flame graph"},
    {"sudo soprof memleak --by library -- make", "which libraries do so, of a command"},
    {0},
};

static int refuse(const struct sp_option *o, const char *shown, const char *value, void *args)
{
	(void)value, (void)args;
	return sp_fail_said(-EINVAL, "%s is %s", shown, o->help);
}

static int check(const struct memleak_args *a)
{
	if (!a->profile.pids.n && !a->command && !a->profile.command)
		return sp_fail_said(-EINVAL, "whose memory? -p PID, -c COMMAND or -- COMMAND");
	if (a->profile.output && a->profile.n_times > 1)
		return sp_fail_said(
		    -EINVAL,
		    "--output FILE is written once, at the end: give INTERVAL, the seconds until then, and no COUNT");
	if (a->profile.show_blocks &&
	    (a->profile.output || a->profile.folded || a->profile.view_number >= 0 || a->profile.by >= 0))
		return sp_fail_said(-EINVAL,
				    "-a prints blocks as text: it does not go with -f, --by, --format or --output");
	if (a->profile.show_blocks && a->profile.thin_bytes > 1)
		return sp_fail_said(-EINVAL,
				    "-a needs every block, and --thin keeps a sample of them: give one of the two");
	if (a->profile.most_bytes && a->profile.least_bytes > a->profile.most_bytes)
		return sp_fail_said(-EINVAL, "-z is more than -Z: no block is at least %llu and at most %llu bytes",
				    (unsigned long long)a->profile.least_bytes,
				    (unsigned long long)a->profile.most_bytes);
	return 0;
}

/* Words as bcc takes them: without quotes. The text is the caller's, and is cut. */
static int words_take(char *text, char ***ret_words)
{
	char **words = calloc(strlen(text) / 2 + 2, sizeof(*words));
	size_t n = 0;

	if (!words)
		return -ENOMEM;
	for (char *save = NULL, *word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save))
		words[n++] = word;
	if (!n) {
		free(words);
		return sp_fail_said(-EINVAL, "-c wants a command");
	}
	*ret_words = words;
	return 0;
}

/* What bcc does without being asked, where that makes sense: what a command has when it ends is never freed. */
static void usual_set(struct memleak_args *a)
{
	bool is_command = a->command || a->profile.command, is_once = a->profile.output || a->profile.n_times == 1;

	a->profile.older_ms = a->older_ms != UNSET ? a->older_ms : is_command ? 0 : OLDER_MS;
	if (a->top != UNSET)
		a->profile.top = a->top;
	else if (!a->profile.output && !a->profile.folded && a->profile.view_number < 0 && a->profile.by < 0)
		a->profile.top = TOP;
	if (a->every_s == UNSET)
		a->every_s = is_command || is_once ? 0 : EVERY_S;
	a->profile.every_s = is_once ? 0 : a->every_s;
	a->profile.duration_s = is_once ? a->every_s : a->every_s * a->profile.n_times;
}

static int memleak_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct memleak_args a = {.older_ms = UNSET, .top = UNSET, .every_s = UNSET};
	SP_FREE char *text = NULL;
	SP_FREE char **words = NULL;
	int code, r;

	sp_profile_args_default(&a.profile);
	a.profile.events = "mem";
	a.profile.thin_bytes = 1;
	r = sp_options_parse(cmd->options, argc, argv, &a);
	if (r == SP_PARSED)
		r = check(&a);
	if (a.profile.one_in == 1)
		a.profile.one_in = 0;
	if (r == SP_PARSED && a.command) {
		text = strdup(a.command);
		r = text ? words_take(text, &words) : -ENOMEM;
		a.profile.command = words;
	}
	usual_set(&a);
	if (r == SP_PARSED)
		r = sp_profile_args_finish(cmd, argc, argv, &a.profile);
	if (sp_cmd_parsed(cmd, r, &code))
		code = sp_cmd_profile_run(&a.profile);
	sp_profile_args_done(&a.profile);
	return code;
}

const struct sp_cmd sp_cmd_memleak = {
    .name = "memleak",
    .summary = "profile -e mem, by the options of bcc's memleak",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE",
    .synopsis = "[OPTIONS] [INTERVAL [COUNT]] [-- COMMAND...]",
    .options = options,
    .examples = examples,
    .run = memleak_run,
};
