/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_cmd.c: `soprof profile` as a command: parses the arguments and calls profile.c. */
#include "cmd/profile/profile_args.h"
#include "cmd/profile/profile_list.h"

static int profile_cmd_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_profile_args args;
	int code, r = sp_profile_args_parse(argc, argv, &args);

	if (sp_cmd_parsed(cmd, r, &code))
		code = args.list ? sp_profile_list(args.list, args.verbose) : sp_cmd_profile_run(&args);
	sp_profile_args_done(&args);
	return code;
}

const struct sp_cmd sp_cmd_profile = {
    .name = "profile",
    .summary = "stacks of threads running on a CPU, at a timed interval",
    .group = SP_CMD_SAMPLE,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; nothing for one's own processes",
    .synopsis = "[OPTIONS] [SECONDS] [-- COMMAND...]",
    .options = sp_profile_options,
    .examples = sp_profile_examples,
    .run = profile_cmd_run,
};
