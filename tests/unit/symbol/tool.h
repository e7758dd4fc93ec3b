/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool.h: run a program of the machine (nm, readelf, c++filt, gcc ...) and read what it prints.
 *
 * The output goes to an unnamed file, which the caller closes; NULL when the program is not there or fails, on which a
 * test skips or fails as it sees fit. Threads: none.
 */
#ifndef SP_TEST_SYMBOL_TOOL_H
#define SP_TEST_SYMBOL_TOOL_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static inline FILE *tool_run(const char *const *argv, FILE *input)
{
	FILE *out = tmpfile();
	if (!out)
		return NULL;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		if (input) {
			rewind(input);
			lseek(fileno(input), 0, SEEK_SET);
			dup2(fileno(input), STDIN_FILENO);
		}
		if (freopen("/dev/null", "w", stderr))
			execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	int status = -1;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fclose(out);
		return NULL;
	}
	rewind(out);
	return out;
}

#define TOOL_RUN(input, ...) tool_run((const char *const[]){__VA_ARGS__, NULL}, input)

#endif
