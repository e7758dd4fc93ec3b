/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_parts.h: the parts of a run of `soprof profile`: its state, the command it runs, its output.
 *
 * profile.c runs it; profile_child.c starts the command and waits for it; profile_show.c filters, prints and sums up.
 * profile.c frees struct sp_profile_session, which owns everything.
 */
#ifndef SP_CMD_PROFILE_PROFILE_PARTS_H
#define SP_CMD_PROFILE_PROFILE_PARTS_H

#include "capture/capture.h"
#include "cmd/guard_tell.h"
#include "cmd/profile/profile_args.h"
#include "cmd/sampling.h"
#include <stdio.h>
#include <sys/types.h>

struct sp_summary_count;
struct sp_profile;

struct sp_child { /* -1 where there is none */
	pid_t pid;
	int pid_fd;     /* readable when it has ended */
	int gate;       /* it waits until this is closed, then execs */
	int exec_error; /* the errno of a failed exec comes here */
	int status;     /* as of waitpid(), once it was waited for */
	const char *command;
	char *const *environment; /* more of it: "NAME=VALUE", NULL at its end; NULL: none */
	bool is_over, is_released;
};
#define SP_CHILD_NONE ((struct sp_child){.pid = -1, .pid_fd = -1, .gate = -1, .exec_error = -1})

/*
 * privileges.c: 0, or -EPERM with the whole story in one line. check: whether BPF programs may do so of everybody;
 * what: "sample".
 */
int sp_privileges_check(const char *what);
struct sp_backend_choice { /* of sampling */
	enum sp_backend_kind kind;
	bool user_mode_only; /* the kernel's time and stacks are not to be had */
	char missing[64];    /* the capabilities for want of which it is not BPF */
};
int sp_privileges_backend(bool has_targets, struct sp_backend_choice *ret_choice);
/* BPF was refused after all: *choice is changed, or stays and a negative errno tells that there is no other. */
int sp_privileges_other_backend(bool has_targets, struct sp_backend_choice *choice);

/* What perf_event_open says to this event, of ourselves (pid 0) or of everybody (-1): 0 or a negative errno. */
int sp_event_try(uint32_t type, uint64_t config, pid_t pid, bool with_kernel);

struct sp_profile_session {
	const struct sp_profile_args *args;
	struct sp_sampling sampling;
	struct sp_child child;
	FILE *output;                      /* made before the privileges were dropped; NULL: not yet */
	struct sp_summary_count *bad_rows; /* files with rows that could not be expressed */
	size_t n_bad_rows;
	struct sp_backend_choice backend;
	char *why_not_bpf;   /* what the kernel had against it, where the capabilities are there */
	uint64_t n_left_out; /* samples outside --library and --comm */
	bool quiet;          /* nothing is printed but what is wrong */
	bool own_table;      /* the caller shows libraries its own way: the summary does not */
	bool to_the_end;     /* of the command: signals are its, and do not end the sampling */
};
#define SP_PROFILE_SESSION(a)                                                                                          \
	((struct sp_profile_session){.args = (a), .sampling = SP_SAMPLING_NONE, .child = SP_CHILD_NONE})

/* The run in its parts; after _name() s->sampling.profile is whole. After any failure, too: _done(). */
int sp_profile_session_begin(struct sp_profile_session *s);
int sp_profile_session_sample(struct sp_profile_session *s);
int sp_profile_session_name(struct sp_profile_session *s);
void sp_profile_session_done(struct sp_profile_session *s);
/* A copy of what there is so far, with names, while the session goes on. */
int sp_profile_session_so_far(struct sp_profile_session *s, struct sp_profile **ret_profile);
/* Samples, and shows what there is so far each args->every_s, but for the last time. 1: it was ended; 0: it is over. */
int sp_profile_turns(struct sp_profile_session *s);
/* What goes above what is shown: the time, the blocks that live. */
int sp_profile_above_print(const struct sp_profile_session *s);

extern const struct sp_cmd sp_cmd_profile;

/* Forks the command, which waits before its exec. signals: its mask. sp_child_release() reports an exec that fails. */
int sp_child_start(struct sp_child *child, char *const *command, const sigset_t *signals);
/* The same; *ret_number: the command's process as programs of the kernel half know it. */
int sp_child_start_target(struct sp_child *child, char *const *command, const sigset_t *signals, uint32_t *ret_number);
int sp_child_release(struct sp_child *child);
/* Waits so long, or until it ends (false); signals sent to us are passed on to it. timeout_ms -1: for ever. */
bool sp_child_signals_pass(struct sp_child *child, int signal_fd, int timeout_ms);
/* Waits for it: its exit code, or 128 + signal; 127 or 126 if it could not be run. */
int sp_child_code(struct sp_child *child);
void sp_child_done(struct sp_child *child);

struct sp_recipe_set;
struct sp_recipe_probe;
void sp_probes_tell_begin(struct sp_recipe_probe *const *probes, size_t n, bool has_command, bool is_verbose);
void sp_probes_tell_end(struct sp_recipe_probe *const *probes, size_t n);
enum { SP_RECIPE_SET_PROBES = SP_MAX_RECIPES * SP_MAX_POINTS };
size_t sp_recipe_set_probes(const struct sp_recipe_set *set, struct sp_recipe_probe *ret_probes[SP_RECIPE_SET_PROBES]);
void sp_header_print(const struct sp_profile_session *s);
int sp_profile_narrow(struct sp_profile_session *s);
/* profile_top.c: of the profile stay the stacks with most of what is shown by default; what goes is told on stderr. */
int sp_profile_top(struct sp_profile_session *s);
int sp_profile_print(struct sp_profile_session *s);
/* Kept by name, since the numbers of files change when copies of one file are united. Told with -v, of files sampled.
 */
int sp_bad_rows_keep(struct sp_profile_session *s);
void sp_bad_rows_done(struct sp_profile_session *s);
int sp_profile_summarise(struct sp_profile_session *s);

#endif
