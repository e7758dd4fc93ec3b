/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/exec/program.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* LATE_MS: until a killed program is checked again. MAX_READS: at once, since some programs' output never ends. */
enum { LATE_MS = 1000, MAX_READS = 16 };

int sp_program_input_write(const char *name, int (*write)(void *arg, FILE *out), void *arg, int *ret_fd)
{
	SP_CLOSE int fd = memfd_create(name, MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0), r;
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		r = sp_fail(-errno, "make a memory file");
		if (copy >= 0)
			close(copy);
		return r;
	}
	r = write(arg, out);
	if (r < 0) {
		fclose(out);
		return r;
	}
	r = ferror(out) ? -EIO : 0;
	if (fclose(out) && r == 0)
		r = -errno;
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		return sp_fail(r, "write a memory file");
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

struct bytes {
	const void *bytes;
	size_t n;
};

static int write_bytes(void *arg, FILE *out)
{
	const struct bytes *b = arg;

	return fwrite(b->bytes, 1, b->n, out) == b->n ? 0 : -EIO;
}

int sp_program_input(const void *bytes, size_t n, int *ret_fd)
{
	return sp_program_input_write("soprof-input", write_bytes, &(struct bytes){bytes, n}, ret_fd);
}

int sp_program_attributes(posix_spawnattr_t *a)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	return posix_spawnattr_setsigmask(a, &none) || posix_spawnattr_setsigdefault(a, &all) ||
	       posix_spawnattr_setpgroup(a, 0) ||
	       posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int set_descriptors(posix_spawn_file_actions_t *a, const struct sp_program_spec *spec, int output)
{
	return posix_spawn_file_actions_adddup2(a, spec->input, STDIN_FILENO) ||
	       posix_spawn_file_actions_adddup2(a, output, STDOUT_FILENO) ||
	       posix_spawn_file_actions_adddup2(a, output, STDERR_FILENO) ||
	       (spec->is_foreign && posix_spawn_file_actions_addclosefrom_np(a, STDERR_FILENO + 1));
}

static int spawn_program(const struct sp_program_spec *spec, int output, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t a;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&a);
	if (!r) {
		r = sp_program_attributes(&a) || set_descriptors(&actions, spec, output)
			? ENOMEM
			: posix_spawn(ret_pid, spec->path, &actions, &a, spec->argv, spec->env);
		posix_spawnattr_destroy(&a);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int sp_program_start(struct sp_program *c, const struct sp_program_spec *spec)
{
	int pipe_fds[2], r;

	*c = (struct sp_program){.pidfd = -1, .output = -1};
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return sp_fail(-errno, "make a pipe");
	fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK); /* the program may block on the pipe, we may not */
	r = spawn_program(spec, pipe_fds[1], &c->pid);
	close(pipe_fds[1]);
	c->output = pipe_fds[0];
	if (r < 0) {
		sp_cleanup_close(&c->output);
		*c = (struct sp_program){0};
		return sp_fail(r, "%s", spec->path);
	}
	c->deadline_ns = sp_time_ns(CLOCK_MONOTONIC) + spec->timeout_ms * UINT64_C(1000000);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0); /* without a pidfd it is checked at its deadline */
	if (c->pidfd >= 0)
		fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

size_t sp_program_fds(const struct sp_program *c, int *ret_fds)
{
	size_t n = 0;

	if (c->pid && c->pidfd >= 0)
		ret_fds[n++] = c->pidfd;
	if (c->pid && c->output >= 0)
		ret_fds[n++] = c->output;
	return n;
}

void sp_program_watch(const struct sp_program *c, int epoll)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fds[SP_PROGRAM_FDS];
	size_t n = sp_program_fds(c, fds);

	for (size_t i = 0; i < n; i++)
		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &e);
}

int sp_program_timeout_ms(const struct sp_program *c)
{
	return c->pid ? sp_ms_until(c->deadline_ns) : -1;
}

#define MORE "..." /* than is kept */

static void read_output(struct sp_program *c)
{
	char buffer[4096];
	ssize_t n = 0;

	for (int i = 0; i < MAX_READS && c->output >= 0 && (n = read(c->output, buffer, sizeof(buffer))) > 0; i++) {
		size_t n_kept = SP_MIN((size_t)n, SP_PROGRAM_TEXT - c->n_text);

		memcpy(c->text + c->n_text, buffer, n_kept);
		c->n_text += n_kept;
		if (n_kept < (size_t)n)
			memcpy(c->text + c->n_text - strlen(MORE), MORE, strlen(MORE));
	}
	if (n == 0)
		sp_cleanup_close(&c->output);
	c->output = n == 0 ? -1 : c->output;
}

static void close_program(struct sp_program *c)
{
	sp_cleanup_close(&c->pidfd);
	sp_cleanup_close(&c->output);
	c->pidfd = c->output = -1;
	c->pid = 0;
}

bool sp_program_check(struct sp_program *c, int *ret_status)
{
	struct rusage used = {0};
	pid_t gone;

	if (!c->pid)
		return false;
	gone = wait4(c->pid, ret_status, WNOHANG, &used);
	read_output(c); /* after wait4(), so that it has all output */
	if (gone == c->pid || (gone < 0 && errno == ECHILD)) {
		c->cpu_ns = sp_rusage_ns(&used);
		*ret_status = gone == c->pid ? *ret_status : SIGKILL;
		close_program(c);
		return true;
	}
	if (sp_time_ns(CLOCK_MONOTONIC) >= c->deadline_ns) {
		kill(-c->pid, SIGKILL); /* not waited for yet, so the pid is not reused */
		c->is_late = true;
		c->deadline_ns = sp_time_ns(CLOCK_MONOTONIC) + LATE_MS * UINT64_C(1000000);
	}
	return false;
}

void sp_program_kill(struct sp_program *c)
{
	if (!c->pid)
		return;
	kill(-c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close_program(c);
}
