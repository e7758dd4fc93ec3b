/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h: executes a program, and watches it without blocking.
 *
 * It gets a memory file as standard input, a deadline, and a process group of its own, which is killed at the deadline.
 * Of its output the first SP_PROGRAM_TEXT bytes are kept, with "..." at their end if there were more. No signal is
 * blocked or ignored in it, and it has no privileges that we do not have. The owner polls sp_program_fds() for reading,
 * and calls sp_program_check() when one is ready or after sp_program_timeout_ms(). A struct of zeros is no program. One
 * thread. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_AGENT_EXEC_PROGRAM_H
#define SP_AGENT_EXEC_PROGRAM_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* TEXT: counts, and a reason as long as sp_error_text() may be. */
enum { SP_PROGRAM_TEXT = 2047, SP_PROGRAM_FDS = 2 };

struct sp_program_spec {
	const char *path; /* no search in $PATH */
	char *const *argv, *const *env;
	int input;
	unsigned timeout_ms;
	bool is_foreign; /* not our own program: gets only descriptors 0, 1, 2 */
};
struct sp_program {
	pid_t pid; /* 0 = none */
	int pidfd, output;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	bool is_late;         /* it was killed at its deadline */
	uint64_t cpu_ns;      /* once it has ended: what it and its children took */
	char text[SP_PROGRAM_TEXT + 1];
	size_t n_text;
};

int sp_program_start(struct sp_program *c, const struct sp_program_spec *spec);
size_t sp_program_fds(const struct sp_program *c, int *ret_fds); /* at most SP_PROGRAM_FDS */
/* Has an epoll descriptor watch them; what cannot be watched is checked at the deadline. */
void sp_program_watch(const struct sp_program *c, int epoll);
int sp_program_timeout_ms(const struct sp_program *c); /* -1: none runs */
/* Whether it has ended; then *ret_status is waitpid(2)'s, and of the struct only text and cpu_ns remain valid. */
bool sp_program_check(struct sp_program *c, int *ret_status);
void sp_program_kill(struct sp_program *c); /* waits for its end */

/* Attributes of all children: no signal blocked or ignored, own process group (^C in the terminal is for the agent). */
int sp_program_attributes(posix_spawnattr_t *a);

/*
 * A memory file that `write` fills, positioned at its beginning. name is for /proc; write returns 0 or a negative
 * errno.
 */
int sp_program_input_write(const char *name, int (*write)(void *arg, FILE *out), void *arg, int *ret_fd);
/* A memory file with these bytes. */
int sp_program_input(const void *bytes, size_t n, int *ret_fd);

#endif
