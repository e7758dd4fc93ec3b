/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c: finds the command and runs it; the few options that belong to no command. */
#include "agent/answer/answer.h"
#include "agent/exec/post.h"
#include "agent/export/send_child.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cmd/cmd.h"
#include "cmd/help.h"
#include "naming/owners.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct sp_cmd *find(const char *name)
{
	for (const struct sp_cmd *const *cmd = sp_cmds; *cmd; cmd++) {
		if (!strcmp((*cmd)->name, name))
			return *cmd;
	}
	return NULL;
}

static int unknown(const char *word)
{
	struct sp_suggest near = {.word = word};
	const char *kind = word[0] == '-' ? "option" : "command";
	int r;

	for (const struct sp_cmd *const *cmd = sp_cmds; *cmd; cmd++)
		sp_suggest_offer(&near, (*cmd)->name);
	sp_suggest_offer(&near, "--help");
	sp_suggest_offer(&near, "--version");
	if (near.best)
		r = sp_fail_said(-EINVAL, "unknown %s '%s'; did you mean %s?", kind, word, near.best);
	else
		r = sp_fail_said(-EINVAL, "unknown %s '%s'; soprof --help lists the commands", kind, word);
	return sp_cmd_error(NULL, r, SP_EXIT_USAGE);
}

/* For the build, the man pages and the shell; not in the help. */
static int dump_options(const char *name)
{
	const struct sp_cmd *cmd = name ? find(name) : NULL;

	if (!cmd)
		return sp_cmd_error(NULL, sp_fail_said(-EINVAL, "--dump-options needs a command's name"),
				    SP_EXIT_USAGE);
	sp_help_options(cmd, stdout);
	return SP_EXIT_OK;
}

static int completion(const char *shell)
{
	if (shell && !sp_help_completion(sp_cmds, shell, stdout))
		return SP_EXIT_OK;
	return sp_cmd_error(NULL, sp_fail_said(-EINVAL, "--completion needs a shell's name: bash, zsh, fish"),
			    SP_EXIT_USAGE);
}

static int dispatch(int argc, char **argv)
{
	const char *word = argv[1];
	const struct sp_cmd *cmd;

	if (argc < 2) {
		sp_help_all(sp_cmds, stderr);
		return SP_EXIT_USAGE;
	}
	cmd = find(word);
	if (cmd)
		return cmd->run(cmd, argc - 2, argv + 2);
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
		sp_help_all(sp_cmds, stdout);
		return SP_EXIT_OK;
	}
	if (!strcmp(word, "--version")) {
		puts("soprof " SP_VERSION);
		return SP_EXIT_OK;
	}
	if (!strcmp(word, "--dump-options"))
		return dump_options(argv[2]);
	if (!strcmp(word, "--completion"))
		return completion(argc > 2 ? argv[2] : NULL);
	return unknown(word);
}

/* What is still in the buffer goes out here; a full disk or a closed pipe must not pass for success. */
static int flush_stdout(int code)
{
	int failed = ferror(stdout) ? EIO : 0;

	if (fflush(stdout) != 0)
		failed = errno;
	if (!failed || code != SP_EXIT_OK)
		return code;
	return sp_cmd_error(NULL, sp_fail(-failed, "cannot write to standard output"), SP_EXIT_FAILED);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv); /* a worker process does not come back from here */
	sp_answer_main(argc, argv); /* nor one that answers a question for the agent */
	sp_post_main(argc, argv);   /* nor one that posts something for it */
	sp_send_main(argc, argv);   /* nor one that sends what the store has */
	sp_owners_warn = sp_cmd_warn;
	return flush_stdout(dispatch(argc, argv));
}
