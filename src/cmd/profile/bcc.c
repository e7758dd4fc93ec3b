/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bcc.c: what `soprof profile -e` does, by the names and with the options that users of bcc know: `soprof offcputime`,
 * `offwaketime` and `wakeuptime` take the command line of bcc's, with its meaning, and print its layout. What is not in
 * bcc's is ours: -o, --format, -- COMMAND.
 */
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "cmd/profile/profile_parts.h"
#include <string.h>

enum { WHO = 1, WHICH_HALF = 2, FORMAT = 4, MAX_STORAGE = 1 << 24 };
#define MAX_US (UINT64_MAX / 1000 - 1)

/* clang-format off */
#define AT(member) .offset = offsetof(struct sp_profile_args, member)
#define STACKS \
	{SP_OPT_FLAG, 'U', "user-stacks-only", NULL, "user stacks, no kernel stacks", AT(user_only), .excludes = WHICH_HALF}, \
	{SP_OPT_FLAG, 'K', "kernel-stacks-only", NULL, "kernel stacks, no user stacks", AT(kernel_only), .excludes = WHICH_HALF}, \
	{SP_OPT_FLAG, 'd', "delimited", NULL, "a delimiter between kernel and user stacks", AT(delimiter)}, \
	{SP_OPT_FLAG, 'f', "folded", NULL, "one line a stack, for flame graph tools", AT(folded), .excludes = FORMAT}, \
	{SP_OPT_NUMBER, 0, "stack-storage-size", "N", "different stacks kept (16384)", AT(stack_storage), .min = 1, .max = MAX_STORAGE}
#define OUTPUT \
	SP_OVERHEAD_OPTION, \
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", AT(output)}, \
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", AT(view_number), .choice = sp_sample_view_choice, .excludes = FORMAT}, \
	{SP_OPT_OPERAND, 0, NULL, "SECONDS", "how long; without it, until Ctrl-C", AT(duration_s), .min = 1, .max = SP_MAX_SECONDS}, \
	{SP_OPT_COMMAND, 0, NULL, "COMMAND...", "run this, and look at it and all that it starts", AT(command), .excludes = WHO}

#define THREADS \
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "these processes only", AT(pids), .min = 1, .max = SP_MAX_PID, .excludes = WHO}, \
	{SP_OPT_LIST, 't', "tid", "TID[,TID]", "these threads only", AT(tids), .min = 1, .max = SP_MAX_PID, .excludes = WHO}, \
	{SP_OPT_FLAG, 'u', "user-threads-only", NULL, "user threads, no kernel threads", AT(user_threads), .excludes = WHO}, \
	{SP_OPT_FLAG, 'k', "kernel-threads-only", NULL, "kernel threads, no user threads", AT(kernel_threads), .excludes = WHO}
#define TIMES \
	{SP_OPT_NUMBER, 'm', "min-block-time", "US", "waits of at least so many microseconds (1)", AT(min_us), .min = 1, .max = MAX_US}, \
	{SP_OPT_NUMBER, 'M', "max-block-time", "US", "waits of at most so many microseconds", AT(max_us), .min = 1, .max = MAX_US}
#define STATE \
	{SP_OPT_NUMBER, 0, "state", "BITS", "threads that wait in one of these states; 0: preempted", AT(state), .min = 0, .max = UINT32_MAX}

static const struct sp_option offcputime_options[] = {
	THREADS,
	STACKS,
	{SP_OPT_FLAG, 's', "offset", NULL, "+0xOFFSET [library] behind names", AT(verbose)},
	TIMES,
	STATE,
	OUTPUT,
	{0},
};
static const struct sp_option offwaketime_options[] = {
	THREADS,
	STACKS,
	TIMES,
	STATE,
	OUTPUT,
	{0},
};
static const struct sp_option wakeuptime_options[] = {
	THREADS,
	STACKS,
	{SP_OPT_FLAG, 'v', "verbose", NULL, "+0xOFFSET [library] behind names", AT(verbose)},
	TIMES,
	OUTPUT,
	{0},
};
static const struct sp_option page_faults_options[] = {
	{SP_OPT_LIST, 'p', "pid", "PID[,PID]", "these processes only", AT(pids), .min = 1, .max = SP_MAX_PID, .excludes = WHO},
	{SP_OPT_LIST, 't', "tid", "TID[,TID]", "these threads only", AT(tids), .min = 1, .max = SP_MAX_PID, .excludes = WHO},
	STACKS,
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by", AT(by), .choice = sp_grouping_choice},
	OUTPUT,
	{0},
};
/* clang-format on */

static const struct sp_example offcputime_examples[] = {
    {"sudo soprof offcputime 10", "what all threads wait for, for 10 seconds"},
    {"sudo soprof offcputime -p 4711 -m 1000 10", "waits of a process, of 1 ms and more"},
    {"sudo soprof offcputime -df --state 2 10", "disk sleep, as folded stacks"},
    {0},
};
static const struct sp_example offwaketime_examples[] = {
    {"sudo soprof offwaketime 10", "what all threads wait for, and who ends it"},
    {"sudo soprof offwaketime -f -p 4711 10", "of a process, as folded stacks"},
    {0},
};
static const struct sp_example wakeuptime_examples[] = {
    {"sudo soprof wakeuptime 10", "whose stacks end waits, and of how long"},
    {"sudo soprof wakeuptime -f -p 4711 10", "those of a process, as folded stacks"},
    {0},
};
static const struct sp_example page_faults_examples[] = {
    {"sudo soprof page-faults 10", "which stacks fault, for 10 seconds"},
    {"sudo soprof page-faults --by library -- make", "which libraries of a build do"},
    {"sudo soprof page-faults --by memory -p 4711 10", "which memory a process touches"},
    {"sudo soprof page-faults -p 4711 -o out.svg 10", "a flame graph"},
    {0},
};

static int bcc_run(const struct sp_cmd *cmd, const char *event, enum sp_wakers_how wakers, int argc, char **argv)
{
	struct sp_profile_args args;
	int code, r;

	sp_profile_args_default(&args);
	args.events = event;
	args.in_us = strcmp(event, "offcpu") == 0;
	args.waker = wakers == SP_WAKERS_ABOVE;
	args.waker_alone = wakers == SP_WAKERS_ALONE;
	r = sp_profile_args_parse_for(cmd, argc, argv, &args);
	if (sp_cmd_parsed(cmd, r, &code))
		code = sp_cmd_profile_run(&args);
	sp_profile_args_done(&args);
	return code;
}

static int offcputime_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	return bcc_run(cmd, "offcpu", SP_NO_WAKERS, argc, argv);
}

static int offwaketime_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	return bcc_run(cmd, "offcpu", SP_WAKERS_ABOVE, argc, argv);
}

static int wakeuptime_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	return bcc_run(cmd, "offcpu", SP_WAKERS_ALONE, argc, argv);
}

static int page_faults_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	return bcc_run(cmd, "faults", SP_NO_WAKERS, argc, argv);
}

const struct sp_cmd sp_cmd_offcputime = {
    .name = "offcputime",
    .summary = "profile -e offcpu, by the options of bcc's offcputime",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = offcputime_options,
    .examples = offcputime_examples,
    .run = offcputime_run,
};
const struct sp_cmd sp_cmd_offwaketime = {
    .name = "offwaketime",
    .summary = "profile -e offcpu --waker, by the options of bcc's offwaketime",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = offwaketime_options,
    .examples = offwaketime_examples,
    .run = offwaketime_run,
};
const struct sp_cmd sp_cmd_wakeuptime = {
    .name = "wakeuptime",
    .summary = "waits by the stacks of who ended them, by the options of bcc's wakeuptime",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = wakeuptime_options,
    .examples = wakeuptime_examples,
    .run = wakeuptime_run,
};
const struct sp_cmd sp_cmd_page_faults = {
    .name = "page-faults",
    .summary = "profile -e faults, with fewer options",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; nothing for one's own processes",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = page_faults_options,
    .examples = page_faults_examples,
    .run = page_faults_run,
};
