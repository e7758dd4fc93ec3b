/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * help.h: what is written from the commands' tables.
 *
 * sp_help_all() is `soprof --help`, sp_help_cmd() `soprof COMMAND --help`. sp_help_options() is the options as scdoc
 * source, which the build puts into the man pages (`soprof --dump-options COMMAND`), and sp_help_completion() the
 * completion script for bash (`soprof --completion bash`), with the choices and file names that each option takes.
 * All write to a stdio stream, whose error flag is the result. Lines are at most 80 columns wide as long as the tables'
 * texts are short enough, which a test sees to. No state.
 */
#ifndef SP_CMD_HELP_H
#define SP_CMD_HELP_H

#include <stdio.h>

struct sp_cmd;

void sp_help_all(const struct sp_cmd *const *cmds, FILE *out);
void sp_help_cmd(const struct sp_cmd *cmd, FILE *out);
void sp_help_options(const struct sp_cmd *cmd, FILE *out);
void sp_help_completion(const struct sp_cmd *const *cmds, FILE *out);

#endif
