/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h: a program that is executed and looked after without being waited for.
 *
 * It gets a memory file as its standard input, has a time that it must end within, and a process group of its own,
 * which is killed when that time is over. What it writes is read as it comes; the first SP_PROGRAM_TEXT bytes stay. It
 * has no signal blocked or ignored, and no more privileges than we have. The owner polls sp_program_fds() for reading,
 * and calls sp_program_look() when one of them is ready or the time is over. A struct of zeros is no child. One thread.
 * 0 or a negative errno with sp_error_text().
 */
#ifndef SP_AGENT_EXEC_PROGRAM_H
#define SP_AGENT_EXEC_PROGRAM_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { SP_PROGRAM_TEXT = 255, SP_PROGRAM_FDS = 2 };

struct sp_program_spec {
	const char *path; /* executed as it is, not looked for */
	char *const *argv, *const *env;
	int input;
	unsigned timeout_ms;
	bool is_foreign; /* not our own program: it gets no descriptor but 0, 1, 2 */
};
struct sp_program {
	pid_t pid; /* 0 = none */
	int pidfd, output;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	bool is_late;         /* it was killed */
	char text[SP_PROGRAM_TEXT + 1];
	size_t n_text;
};

int sp_program_start(struct sp_program *c, const struct sp_program_spec *spec);
size_t sp_program_fds(const struct sp_program *c, int *ret_fds); /* at most SP_PROGRAM_FDS */
int sp_program_timeout_ms(const struct sp_program *c);           /* -1: there is none */
/* Whether it has ended; then *ret_status is as of waitpid(2), and it is none any more, but for its text. */
bool sp_program_look(struct sp_program *c, int *ret_status);
void sp_program_kill(struct sp_program *c); /* and waits for its end */

/* How children of ours begin: no signal blocked or ignored, a group of their own (^C in the terminal is the agent's).
 */
int sp_program_attributes(posix_spawnattr_t *a);

/* A memory file, to be read from its beginning: an input. name is for /proc; write says 0 or a negative errno. */
int sp_program_input_write(const char *name, int (*write)(void *arg, FILE *out), void *arg, int *ret_fd);
/* The same of bytes. */
int sp_program_input(const void *bytes, size_t n, int *ret_fd);

#endif
