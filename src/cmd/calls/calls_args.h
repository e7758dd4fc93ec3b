/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_args.h: the command line of `soprof calls`: the options, and what is asked for.
 *
 * There are two ways of counting, inside a command and in all processes, each with options of its own: what does not
 * fit is an error. sp_calls_args_parse() fills in a struct that has the defaults (SP_CALLS_ARGS); strings are argv's,
 * whose commas become ends. Call sp_calls_args_done() in any case. 0, SP_PARSED_HELP or a negative errno with
 * sp_error_text().
 */
#ifndef SP_CMD_CALLS_CALLS_ARGS_H
#define SP_CMD_CALLS_CALLS_ARGS_H

#include "cmd/calls/machine.h"
#include "cmd/profile/profile_args.h"
#include "cmd/report/show.h"
#include "link/file.h"

enum { SP_CALLS_DEFAULT_HZ = 199, SP_CALLS_DEFAULT_ROWS = 0 /* by what is there */ };

struct sp_calls_args {
	struct sp_words operands;  /* lists of libraries */
	struct sp_words named;     /* each of them */
	struct sp_words libraries; /* strings of our own */
	const char *globs;         /* of functions */
	struct sp_words functions;
	const char *directory;
	bool environment, no_times, latency, stacks;
	enum sp_calls_apart apart;
	int depth;
	uint64_t frequency_hz; /* 0 = not given */
	char **command;
	struct sp_show_args show;
	/* of probes */
	struct sp_u32_list pids;
	const char *comm, *cgroup;
	uint64_t seconds, interval_s, max_rows, max_overhead;
};
#define SP_CALLS_ARGS                                                                                                  \
	{                                                                                                              \
		.show = SP_SHOW_DEFAULTS, .max_rows = SP_CALLS_DEFAULT_ROWS, .max_overhead = SP_NO_OVERHEAD            \
	}

extern const struct sp_option sp_calls_options[];

/* ret_view: for what is shown as a profile: calls inside a command, or with samples. */
int sp_calls_args_parse(int argc, char **argv, struct sp_calls_args *a, const struct sp_view **ret_view);
bool sp_calls_is_machine_wide(const struct sp_calls_args *a);
/* What it is then; points into a. */
int sp_calls_machine_args(const struct sp_calls_args *a, const struct sp_view *view, struct sp_machine_args *ret_args);
void sp_calls_args_done(struct sp_calls_args *a);

/* calls_stacks.c: as `soprof profile -e LIB:FUNCTION` would, by its exit code. */
int sp_calls_stacks(const struct sp_cmd *cmd, const struct sp_calls_args *a);

#endif
