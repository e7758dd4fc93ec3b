/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_child.c: the command behind `--`: created before sampling begins, released when it has begun. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/profile/profile_parts.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: waits for the gate, then becomes the command. The errno of a failed exec goes back through
 * `exec_error`. */
static void child_run(int gate, int exec_error, const struct sp_child *child, char *const *command,
		      const sigset_t *signals)
{
	int error;
	char byte;

	sigprocmask(SIG_SETMASK, signals, NULL);
	sp_files_back();
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; child->environment && child->environment[i]; i++)
		putenv(child->environment[i]);
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	execvp(command[0], command);
	error = errno;
	(void)!write(exec_error, &error, sizeof(error));
	_exit(error == ENOENT ? 127 : 126); /* as a shell has it */
}

/* The child reads `gate`'s other end and writes to `exec_error`; both are closed by its exec. */
int sp_child_start(struct sp_child *child, char *const *command, const sigset_t *signals)
{
	int gate[2], exec_error[2];

	if (pipe2(gate, O_CLOEXEC))
		return sp_fail(-errno, "make a pipe");
	if (pipe2(exec_error, O_CLOEXEC)) {
		close(gate[0]);
		close(gate[1]);
		return sp_fail(-errno, "make a pipe");
	}
	child->command = command[0];
	child->pid = fork();
	if (!child->pid) {
		close(gate[1]);
		child_run(gate[0], exec_error[1], child, command, signals);
	}
	close(gate[0]);
	close(exec_error[1]);
	child->gate = gate[1];
	child->exec_error = exec_error[0];
	if (child->pid < 0)
		return sp_fail(-errno, "start %s", child->command);
	child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	return child->pid_fd < 0 ? sp_fail(-errno, "watch %s", child->command) : 0;
}

int sp_child_start_target(struct sp_child *child, char *const *command, const sigset_t *signals, uint32_t *ret_number)
{
	int r = sp_child_start(child, command, signals);

	return r < 0 ? r : sp_process_of_pidfd(child->pid_fd, ret_number);
}

int sp_child_release(struct sp_child *child)
{
	int error = 0;
	ssize_t n;

	if (child->pid < 0)
		return 0;
	close(sp_take_fd(&child->gate));
	do
		n = read(child->exec_error, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	/* Not its errno: a command that may not be run is no refusal to sample. */
	child->is_released = n != (ssize_t)sizeof(error);
	return n == (ssize_t)sizeof(error) ? sp_fail_said(-ECHILD, "cannot run %s: %s", child->command, strerror(error))
					   : 0;
}

/* One of the terminal's, or of the kernel's, has reached the command already. */
static void signals_pass(struct sp_child *child, int signal_fd)
{
	struct signalfd_siginfo taken;

	while (read(signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken))
		if (taken.ssi_code <= 0) /* SI_USER and its like */
			syscall(SYS_pidfd_send_signal, child->pid_fd, taken.ssi_signo, NULL, 0);
}

bool sp_child_signals_pass(struct sp_child *child, int signal_fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = child->pid_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};

	if (poll(fds, SP_COUNT(fds), timeout_ms) > 0 && fds[1].revents)
		signals_pass(child, signal_fd);
	return !fds[0].revents;
}

static void child_wait(struct sp_child *child)
{
	while (!child->is_over && waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
		;
	child->is_over = true;
}

int sp_child_code(struct sp_child *child)
{
	child_wait(child);
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

/* If the gate closes without a byte, the parent is gone: the command must not run. */
void sp_child_done(struct sp_child *child)
{
	if (child->pid < 0)
		return;
	if (child->gate >= 0)
		kill(child->pid, SIGKILL);
	child_wait(child);
	if (child->gate >= 0)
		close(child->gate);
	if (child->exec_error >= 0)
		close(child->exec_error);
	if (child->pid_fd >= 0)
		close(child->pid_fd);
	child->pid = -1;
}
