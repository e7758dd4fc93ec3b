/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/perf_data.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool sp_perf_data_is(int fd)
{
	char magic[8];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8) || !memcmp(magic, "PERFFILE", 8));
}

int sp_perf_data_open(const char *name, int *ret_fd, pid_t *ret_pid)
{
	char *const words[] = {(char *)"perf", (char *)"script", (char *)"-i", (char *)name, NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2], r;

	if (pipe2(pipes, O_CLOEXEC))
		return sp_fail(-errno, "make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(ret_pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	if (!r) {
		*ret_fd = pipes[0];
		return 0;
	}
	close(pipes[0]);
	return sp_fail_said(-ENOENT,
			    "%s is perf's own format, and there is no perf here to read it: where it was recorded, "
			    "perf script -i %s > FILE makes text of it that is read here",
			    name, name);
}

int sp_perf_data_close(const char *name, pid_t pid, int ret)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0 || (ret < 0 && ret != -EBADMSG)) /* a reading that ended early has ended perf, too */
		return ret;
	sp_error_clear();
	return sp_fail_said(-EBADMSG, "%s: perf script -i %s failed; it says why if you run it", name, name);
}
