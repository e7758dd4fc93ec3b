/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampling.h: what the commands that sample share: workers, signals, the capture session and its profile.
 *
 * sp_sampling_begin() makes a descriptor of SIGINT, SIGTERM and SIGHUP (they end sampling, not the command), raises
 * the limit of open files, and makes workers and an empty profile. sp_sampling_open() loads the session.
 * sp_sampling_run() samples until the time is over, a signal comes or child_fd is readable, and shows progress if
 * stderr is a terminal. Call sp_sampling_done() in any case; before begin the struct is SP_SAMPLING_NONE. 0 or a
 * negative errno with sp_error_text(). Main thread only.
 */
#ifndef SP_CMD_SAMPLING_H
#define SP_CMD_SAMPLING_H

#include "cmd/options.h"
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sp_capture;
struct sp_capture_options;
struct sp_profile;
struct sp_recipe;
struct sp_workers;
struct sp_broker;

struct sp_sampling {
	struct sp_broker *broker; /* NULL: this process has no privileges that it could give up */
	FILE *kallsyms;           /* opened while the kernel still shows us addresses; NULL: it could not be */
	struct sp_workers *workers;
	struct sp_capture *capture;
	struct sp_profile *profile;
	unsigned *cpus;
	size_t n_cpus;
	int signal_fd;
	sigset_t old_signals; /* as they were, for a child */
	/* Whose guard is shown beside the progress; NULL: there is none. The caller's. */
	const struct sp_recipe *const *recipes;
};
#define SP_SAMPLING_NONE ((struct sp_sampling){.signal_fd = -1})

/*
 * SIGINT, SIGTERM and SIGHUP, and `more` (0 = none), come to a descriptor from now on: the caller's; SIGPIPE is
 * ignored. ret_old: the mask as it was, or NULL.
 */
int sp_signals_take(int more, sigset_t *ret_old, int *ret_fd);

/* -ESRCH: a process of -p is not there. */
int sp_pids_check(const struct sp_u32_list *pids);

/*
 * As many open files as may be, from the first call on; -EMFILE: too few for anything. A child that is to become a
 * command gets back what the process had before.
 */
int sp_files_raise(void);
void sp_files_back(void);

int sp_sampling_begin(struct sp_sampling *s);
/* After sp_capture_start(): what is still needed from here on, the broker does. */
int sp_sampling_drop_privileges(struct sp_sampling *s);
/* Of o, the CPUs are filled in where none are named: all that are online. */
int sp_sampling_open(struct sp_sampling *s, struct sp_capture_options *o);
/* After an open that failed: an empty profile, for another. */
int sp_sampling_again(struct sp_sampling *s);
/* seconds 0 = for ever; child_fd -1 = none. The capture must have been started. */
int sp_sampling_run(struct sp_sampling *s, uint64_t seconds, int child_fd);
/* A library is its build id: copies of one file (containers, chroots) become one library from here on. */
int sp_sampling_unite(struct sp_sampling *s);
/* After the sampling: a signal ends the program again. One that has ended the sampling has had its effect. */
int sp_sampling_signals_back(struct sp_sampling *s);
void sp_sampling_done(struct sp_sampling *s);

/* The kernel's and the privileges' refusals have an exit code of their own. */
int sp_sampling_exit_code(int r);

#endif
