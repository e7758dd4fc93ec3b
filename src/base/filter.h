/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter.h: seccomp filters, one for each kind of process that lives long or holds something: which system calls it
 * makes. All lists are in filter.c. (A parser's own, which is shorter and kills, is in worker/sandbox.c.)
 *
 * What is not listed is answered with ENOSYS, as by an older kernel: then a newer C library does without. What no such
 * process ever does, but who takes one over would (to trace, to mount, to load modules, ...), ends an answering process
 * or an opener at once, with a line on stderr and the exit code SP_FILTER_EXIT. The agent's filter and the broker's
 * hold for the programs that they start, too, alerts' commands among them: these get EPERM.
 *
 * SOPROF_FILTER=strict in the environment makes all that is refused end the process with such a line, so that tests
 * see what a list lacks; nothing makes a filter weaker. For ever, for all threads that are begun later. Linux only.
 */
#ifndef SP_BASE_FILTER_H
#define SP_BASE_FILTER_H

enum sp_filter {
	SP_FILTER_AGENT,
	SP_FILTER_SAMPLING, /* a command that samples, once it does */
	SP_FILTER_BROKER,
	SP_FILTER_OPENER,
	SP_FILTER_ANSWER,
	SP_FILTER_ANSWER_NAMES,
	SP_N_FILTERS
};
enum { SP_FILTER_EXIT = 159 }; /* 128 + SIGSYS */

/* 0 or a negative errno. PR_SET_NO_NEW_PRIVS is set, too. */
int sp_filter_enter(enum sp_filter which);

#endif
