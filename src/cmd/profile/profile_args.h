/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_args.h: the command line of `soprof profile`, as a struct.
 *
 * It accepts the command line of bcc's profile as it is, and more. The table of options is sp_profile_options; parsing
 * checks all that can be known before anything is opened: numbers, options that exclude each other, processes and CPUs
 * that do not exist, a view that cannot be written to a terminal. Strings point into argv.
 * Errors: -EINVAL for a bad command line, -ESRCH for a process that is not there, with one line in sp_error_text().
 */
#ifndef SP_CMD_PROFILE_PROFILE_ARGS_H
#define SP_CMD_PROFILE_PROFILE_ARGS_H

#include "bpf/wire.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_memory.h"
#include "recipe/events.h"
#include "recipe/recipe.h"
#include "view/view.h"

#define SP_ANY_STATE UINT64_MAX
#define SP_NO_OVERHEAD UINT64_MAX /* not asked for */
enum { SP_DEFAULT_OVERHEAD = 5, SP_MOST_OVERHEAD = 10000 };
/* The option, in a table whose AT(max_overhead) is its place. */
#define SP_OVERHEAD_OPTION                                                                                             \
	{                                                                                                              \
		SP_OPT_NUMBER, 0, "max-overhead", "PERCENT", "of a CPU, beyond which fewer events are taken (5)",      \
		    AT(max_overhead), .min = 0, .max = SP_MOST_OVERHEAD                                                \
	}
/*
 * What is meant by it for these recipes: the default where it was not asked for, 0 where no event counts. False: it was
 * asked for in vain.
 */
bool sp_overhead_choose(const struct sp_recipe_set *recipes, uint64_t *max_overhead);

struct sp_profile_args {
	const struct sp_cmd *cmd;            /* whose command line it was */
	struct sp_u32_list pids, tids, cpus; /* empty = all */
	bool targets_come;                   /* none yet, of a caller that adds them while they are sampled */
	bool user_only, kernel_only;
	bool delimiter, annotate, folded, include_idle, addresses, verbose;
	uint64_t frequency_hz;             /* 0 when period is given */
	uint64_t period;                   /* of the event; 0 = by frequency */
	uint64_t min_us;                   /* of what lasts; 0 = the recipe's */
	uint64_t max_us;                   /* 0 = none */
	uint64_t state;                    /* as struct sp_waits has it; SP_ANY_STATE */
	bool user_threads, kernel_threads; /* these alone; neither: all, if `in_us`; else what the recipe says */
	bool waker;                        /* who ended each wait */
	bool waker_alone;                  /* by the wakers' stacks, as bcc's wakeuptime */
	bool in_us;                        /* the layout of bcc's offcputime, whose values are microseconds */
	uint64_t max_overhead;             /* percent of a CPU; 0 = no limit */
	uint64_t duration_s;               /* 0 = until Ctrl-C, or the command's end */
	uint64_t every_s, n_times; /* what there is so far is shown so often; 0 = once, at the end; 0 = for ever */
	uint64_t stack_storage, hash_storage, max_memory_bytes;
	const char *library, *comm, *cgroup; /* NULL = any */
	bool no_debuginfod, with_lines;
	const char *debug_dirs; /* with colons between; NULL = none but the usual */
	const char *output;     /* NULL = standard output */
	char **command;         /* NULL at its end; NULL = none */
	const struct sp_view *view;
	const char *events; /* as given; NULL = cpu */
	const char *list;   /* NULL, or the events that match this glob are listed, and nothing else; "" = all */
	struct sp_recipe_set recipes;
	uint64_t thin_bytes;              /* one of so many allocated bytes is sampled; 0 = the default */
	uint64_t one_in;                  /* one of so many allocations is, instead, of -p; 0 = by bytes */
	uint64_t least_bytes, most_bytes; /* of a block that counts, of -p; most 0 = none is too large */
	uint64_t older_ms;                /* younger allocations are not live yet; 0 = all are */
	uint64_t top;                     /* how many stacks are shown, those with most; 0 = all */
	bool show_blocks;                 /* each that lives, above the stacks */
	const char *allocator;            /* the malloc of this library only, of -p; NULL = of all */
	struct sp_memory_library memory;  /* of `mem` */
	int by;                           /* enum sp_total_by, or -1 when not asked */
	int unwind;                       /* enum sp_unwind_mode */
	int view_number;                  /* as chosen, or -1: the view is what it became */
	bool on_terminal;                 /* a person reads standard output, and has asked for no layout */
};

extern const struct sp_option sp_profile_options[];
extern const struct sp_example sp_profile_examples[];

/* Fills *ret_args with the defaults, then from the arguments. SP_PARSED, SP_PARSED_HELP or a negative errno. */
int sp_profile_args_parse(int argc, char **argv, struct sp_profile_args *ret_args);
/* The same for another command that does what profile does: by its table, into what already has its own defaults. */
void sp_profile_args_default(struct sp_profile_args *ret_args);
int sp_profile_args_parse_for(const struct sp_cmd *cmd, int argc, char **argv, struct sp_profile_args *args);
/* What options alone do not say: the recipes, the view; and whether they fit. SP_PARSED, or a negative errno. */
int sp_profile_args_complete(struct sp_profile_args *args);
/* What follows when the table has been read by somebody else. */
int sp_profile_args_finish(const struct sp_cmd *cmd, int argc, char **argv, struct sp_profile_args *args);
void sp_profile_args_done(struct sp_profile_args *a); /* also after a failure */

/* The command itself: samples by its arguments, prints, and returns the exit code. In profile.c. */
int sp_cmd_profile_run(const struct sp_profile_args *a);

#endif
