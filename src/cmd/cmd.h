/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd.h: a command of soprof.
 *
 * A command is src/cmd/NAME/NAME.c (or FOLDER/NAME.c) with one `const struct sp_cmd sp_cmd_NAME`, and a word in the
 * list of meson.build from which the table of commands is generated. Help, the man page's options and shell completion
 * are written from the struct's data (help.h). main.c finds the command and calls run in the main thread, with the
 * arguments after the command's name.
 *
 * run returns the exit code: SP_EXIT_*, or with `-- COMMAND` the command's own. Only commands print errors, with
 * sp_cmd_error(): one line on stderr, `soprof: NAME: ...`, with control characters escaped.
 */
#ifndef SP_CMD_CMD_H
#define SP_CMD_CMD_H

#include "cmd/options.h"

enum sp_exit {
	SP_EXIT_OK = 0,
	SP_EXIT_FAILED = 1,
	SP_EXIT_USAGE = 2,
	SP_EXIT_REFUSED = 3, /* the kernel or the privileges do not allow it */
};

/* What commands are for: the headings of `soprof --help`, in this order. */
enum sp_cmd_group { SP_CMD_SAMPLE, SP_CMD_COUNT, SP_CMD_READ, SP_CMD_WATCH, SP_CMD_CHECK, SP_CMD_N_GROUPS };

struct sp_example {
	const char *line; /* as typed; NULL ends the list */
	const char *what;
};

struct sp_cmd {
	const char *name;
	const char *summary; /* no capital, no full stop */
	enum sp_cmd_group group;
	const char *needs;    /* of the machine and the user; NULL = nothing */
	const char *synopsis; /* after the name: "[OPTIONS] [SECONDS] [-- COMMAND...]" */
	const struct sp_option *options;
	const struct sp_example *examples; /* three */
	int (*run)(const struct sp_cmd *cmd, int argc, char **argv);
};

extern const struct sp_cmd *const sp_cmds[]; /* NULL at the end; generated */

/* Prints the failure r with its chain of words and gives back the exit code. cmd may be NULL. */
int sp_cmd_error(const struct sp_cmd *cmd, int r, int exit_code);

/* The exit code of a failure of what was asked for: a mistake in the words, no right to it, or another. */
int sp_cmd_exit_code(int r);

/* A line of its own on stderr, behind "soprof: ". */
void sp_cmd_warn(const char *text);
/* How many of what is lost, on such a line, which is plain text of ours; 0: none. */
void sp_cmd_lost(uint64_t n, const char *what);

/* What to do next, below what was shown on a terminal: "next", and the words, wrapped, on stderr. */
void sp_cmd_next(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * What all commands do with the result of parsing: help is printed to standard output, a failure as an error. true =
 * the arguments are good, go on; false = return *ret_exit.
 */
bool sp_cmd_parsed(const struct sp_cmd *cmd, int r, int *ret_exit);

#endif
