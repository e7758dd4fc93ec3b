/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * help.h: help, man pages and completion, written from the tables of commands and options.
 *
 * sp_help_all() writes `soprof --help`, sp_help_cmd() `soprof COMMAND --help`, sp_help_options() the options as scdoc
 * source for the man pages (`soprof --dump-options COMMAND`), sp_help_completion() the completion script (`soprof
 * --completion bash`, zsh or fish). The stream's error flag is the result. A test checks that lines have at most 80
 * columns. No state.
 */
#ifndef SP_CMD_HELP_H
#define SP_CMD_HELP_H

#include <stdio.h>

struct sp_cmd;

void sp_help_all(const struct sp_cmd *const *cmds, FILE *out);
void sp_help_cmd(const struct sp_cmd *cmd, FILE *out);
void sp_help_options(const struct sp_cmd *cmd, FILE *out);
/* -EINVAL: no such shell. */
int sp_help_completion(const struct sp_cmd *const *cmds, const char *shell, FILE *out);

#endif
