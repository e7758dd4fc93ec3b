/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker process executes this program again (/proc/self/exe --worker ROLE), so it has neither the parent's memory
 * nor its mappings: an abandoned opener would keep BPF ring buffers alive for as long as it hangs.
 *
 * A program whose main has not called sp_worker_main() only forks. So does the broker, which was executed itself and
 * holds nothing that a worker must not have; executing again would cost more than most jobs.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/usage.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PASSED_ON = 32 };
/* How long a descriptor waits for others to arrive, so that it may be sent: less than any deadline. */
static const uint64_t room_ns = 1000000000;

/* Of the environment only where libraries are found, and, on the way to the fetcher, what a debuginfod client reads. */
static bool is_passed_on(const char *variable, enum sp_role role)
{
	static const char *const fetching[] = {
	    "DEBUGINFOD_", "http_proxy=", "https_proxy=", "HTTPS_PROXY=",    "no_proxy=", "NO_PROXY=",
	    "all_proxy=",  "ALL_PROXY=",  "SSL_CERT_",    "XDG_CACHE_HOME=", "HOME="};
	if (strncmp(variable, "LD_LIBRARY_PATH=", 16) == 0 || strncmp(variable, "SOPROF_FILTER=", 14) == 0)
		return true;
	for (size_t i = 0; i < SP_COUNT(fetching) && (role == SP_ROLE_FETCHER || role == SP_ROLE_BROKER); i++)
		if (strncmp(variable, fetching[i], strlen(fetching[i])) == 0)
			return true;
	return false;
}

static void execute(enum sp_role role)
{
	static const char *const names[] = {"parser", "opener", "fetcher", "broker"};
	static char *envp[MAX_PASSED_ON + 1];
	char *argv[] = {"soprof", "--worker", (char *)names[role], sp_worker_wants_lines() ? SP_WORKER_LINES : NULL,
			NULL};
	size_t n = 0;
	for (char **v = environ; *v && n < MAX_PASSED_ON; v++)
		if (is_passed_on(*v, role))
			envp[n++] = *v;
	execve("/proc/self/exe", argv, envp);
}

/* A session of its own: neither ^C nor a hang-up of the terminal, which are the parent's to handle, reaches it. */
static void reset_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < 32; s++)
		signal(s, SIG_DFL);
	setsid();
}

static void prepare(int socket)
{
	reset_signals();
	if (socket != SP_JOB_SOCKET && dup2(socket, SP_JOB_SOCKET) < 0)
		_exit(126);
	fcntl(SP_JOB_SOCKET, F_SETFD, 0);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < SP_JOB_SOCKET; fd++)
		if (null < 0 || (null != fd && dup2(null, fd) < 0))
			close(fd);
	if (close_range(SP_JOB_SOCKET + 1, ~0U, 0) < 0)
		_exit(126);
}

_Noreturn void sp_worker_begin(enum sp_role role, int socket)
{
	prepare(socket);
	sp_sandbox_keep_over_exec();
	if (sp_worker_can_exec())
		execute(role);
	else if (role == SP_ROLE_BROKER)
		sp_broker_run();
	else
		sp_worker_run(role);
	_exit(127);
}

/* What only the fetcher may know: a proxy's password, say. */
static void environment_forget(enum sp_role role)
{
	for (char **v = environ; *v; v++)
		if (!is_passed_on(*v, role))
			explicit_bzero(*v, strlen(*v));
}

_Noreturn void sp_worker_become(enum sp_role role, int socket)
{
	if (role == SP_ROLE_FETCHER)
		sp_worker_begin(role, socket);
	prepare(socket);
	environment_forget(role);
	sp_worker_run(role);
}

/* A parser is another user, whom without privileges only the broker may end. */
static void end(const struct sp_worker *p)
{
	if (p->broker)
		sp_broker_kill(p->broker, p->pid);
	else
		kill(p->pid, SIGKILL);
}

static int start(enum sp_role role, struct sp_worker *p)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_fail(-errno, "make a socket pair");
	SP_CLOSE int mine = pair[0];
	SP_CLOSE int theirs = pair[1];
	p->pid = p->broker ? sp_broker_start(p->broker, role, theirs) : fork();
	if (p->pid < 0)
		return sp_fail(p->broker ? p->pid : -errno, "fork");
	if (p->pid == 0)
		sp_worker_begin(role, theirs);
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0) {
		int r = -errno;
		end(p);
		waitpid(p->pid, NULL, 0); /* it has opened nothing yet that could hold it */
		return sp_fail(r, "open a pidfd");
	}
	fcntl(p->pidfd, F_SETFD, FD_CLOEXEC);
	p->socket = sp_take_fd(&mine);
	return 0;
}

/* The kernel counts the descriptors that a user has sent and that nobody has received yet, by all his processes. */
static bool wait_for_room(uint64_t *until_ns)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	*until_ns = *until_ns ? *until_ns : now_ns + room_ns;
	if (now_ns >= *until_ns)
		return false;
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return true;
}

int sp_put_message(int socket, const void *bytes, size_t n, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = n};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	ssize_t sent;
	uint64_t until_ns = 0;
	while ((sent = sendmsg(socket, &h, MSG_NOSIGNAL)) < 0 &&
	       (errno == EINTR || (errno == ETOOMANYREFS && wait_for_room(&until_ns))))
		;
	return sent < 0 ? -errno : 0;
}

/* Watched until it is taken off by hand: a sibling that is just being forked may hold a copy of the descriptors. */
static int watch(struct sp_worker *p)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->socket, &e) < 0 ||
	    epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->pidfd, &e) < 0)
		return sp_fail(-errno, "watch a process");
	return 0;
}

int sp_worker_new(enum sp_role role, int epoll, struct sp_broker *broker, struct sp_worker **ret_worker)
{
	SP_FREE struct sp_worker *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->role = role;
	p->epoll = epoll;
	p->broker = broker;
	p->socket = p->pidfd = -1;
	p->since_ns = sp_time_ns(CLOCK_MONOTONIC);
	int r = start(role, p);
	if (r < 0)
		return r;
	r = watch(p);
	if (r < 0) {
		sp_worker_free(sp_take_ptr(p));
		return r;
	}
	*ret_worker = sp_take_ptr(p);
	return 0;
}

void sp_worker_end(struct sp_worker *p)
{
	if (p->socket < 0)
		return;
	sp_worker_measure(p);
	p->ended_ns = sp_time_ns(CLOCK_MONOTONIC);
	end(p);
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->socket, NULL);
	close(p->socket);
	p->socket = -1;
}

bool sp_worker_reap(struct sp_worker *p, int *ret_status, uint64_t *ret_cpu_ns)
{
	struct rusage u = {0};
	int status = -1;
	pid_t got;
	while ((got = wait4(p->pid, &status, WNOHANG, &u)) < 0 && errno == EINTR)
		;
	if (got == 0)
		return false;
	p->reaped = true; /* or it was waited for elsewhere: then the status is not known */
	*ret_status = got == p->pid ? status : -1;
	*ret_cpu_ns = sp_rusage_ns(&u);
	return true;
}

/* Not by wait4: its maximum includes the parent's memory from before the exec. */
struct sp_usage sp_worker_usage(int pid)
{
	struct sp_usage u = {0};
	if (sp_usage_get((uint32_t)pid, &u) < 0)
		sp_error_clear();
	return u;
}

/* After the wait its pid may belong to another process. */
void sp_worker_measure(struct sp_worker *p)
{
	if (!p->reaped)
		p->peak_bytes = SP_MAX(p->peak_bytes, sp_worker_usage(p->pid).peak_bytes);
}

void sp_worker_free(struct sp_worker *p)
{
	sp_worker_end(p);
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->pidfd, NULL);
	sp_cleanup_close(&p->pidfd);
	free(p);
}
