/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/mem.h"
#include "symbol/source_lines.h"
#include "worker/jobs_names.h"
#include "worker/priv.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A process without work ends: a parser soon, an opener later, since new files come one by one. */
enum { PARSER_IDLE_S = 2, OPENER_IDLE_S = 10, LARGE_BYTES = 256 << 10 };

static bool main_has_called;

static bool wants_lines;

void sp_workers_want_lines(void)
{
	wants_lines = true;
}

bool sp_worker_wants_lines(void)
{
	return wants_lines;
}

/* What cannot be loaded is told by the job that needs it. */
static void lines_load(void)
{
	wants_lines = true;
	(void)sp_source_lines_load();
	sp_error_clear();
}

bool sp_worker_can_exec(void)
{
	return main_has_called;
}

static bool is_worker_socket(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
		return false;
	len = sizeof(domain);
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX && type == SOCK_SEQPACKET;
}

void sp_worker_main(int argc, char **argv)
{
	main_has_called = true;
	if (argc < 3 || argc > 4 || strcmp(argv[1], "--worker") != 0 || !is_worker_socket(SP_JOB_SOCKET))
		return;
	if (argc == 4 && strcmp(argv[3], SP_WORKER_LINES) == 0)
		lines_load();
	if (strcmp(argv[2], "parser") == 0)
		sp_worker_run(SP_ROLE_PARSER);
	if (strcmp(argv[2], "opener") == 0)
		sp_worker_run(SP_ROLE_OPENER);
	if (strcmp(argv[2], "fetcher") == 0)
		sp_worker_run(SP_ROLE_FETCHER);
	if (strcmp(argv[2], "broker") == 0)
		sp_broker_run();
}

/* A job and its descriptors (-1 where there is none). Ends the process when the parent is gone or has no more work. */
static bool receive(struct sp_job_message *m, int fds[SP_JOB_MAX_FDS])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SP_JOB_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = m, .iov_len = sizeof(*m)};
	struct msghdr h = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(SP_JOB_SOCKET, &h, MSG_CMSG_CLOEXEC);
	if (n < 0 && errno == EINTR)
		return false;
	if (n < (ssize_t)offsetof(struct sp_job_message, path) ||
	    (size_t)n != offsetof(struct sp_job_message, path) + m->path_len)
		_exit(0);
	for (size_t i = 0; i < SP_JOB_MAX_FDS; i++)
		fds[i] = -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), SP_MIN(c->cmsg_len - CMSG_LEN(0), SP_JOB_MAX_FDS * sizeof(int)));
	return true;
}

static void tell_why(struct sp_answer_message *a)
{
	const char *text = sp_error_text(a->r);
	a->text_len = strnlen(text, SP_JOB_MAX_TEXT);
	memcpy(a->text, text, a->text_len);
}

static int put(const struct sp_answer_message *a, int fd)
{
	return sp_put_message(SP_JOB_SOCKET, a, offsetof(struct sp_answer_message, text) + a->text_len, fd);
}

static void answer(struct sp_answer_message *a, int fd)
{
	int r = put(a, fd);
	if (r == -ETOOMANYREFS) {
		a->r = sp_fail_said(r, "too many descriptors of this user are on their way between processes");
		tell_why(a);
		r = put(a, -1);
	}
	if (r < 0)
		_exit(0);
}

static void work(enum sp_role role, const struct sp_job_message *m, int *fds)
{
	static struct sp_answer_message a;
	memset(&a, 0, offsetof(struct sp_answer_message, text));
	a.number = m->number;
	sp_error_clear();
	int fd = -1;
	if (role == SP_ROLE_OPENER)
		fd = sp_opener_work(m, &a);
	else if (role == SP_ROLE_FETCHER)
		fd = sp_fetcher_work(m, &a);
	else
		sp_parser_work(m, fds, &a);
	if (a.r < 0)
		tell_why(&a);
	for (unsigned i = 0; i < SP_JOB_MAX_FDS; i++)
		sp_cleanup_close(&fds[i]);
	answer(&a, fd);
	sp_cleanup_close(&fd);
}

static int enter(enum sp_role role)
{
	if (role == SP_ROLE_FETCHER)
		return sp_sandbox_fetcher();
	return role == SP_ROLE_OPENER ? sp_sandbox_opener() : sp_sandbox_enter();
}

void sp_worker_run(enum sp_role role)
{
	struct timeval idle = {.tv_sec = role == SP_ROLE_OPENER ? OPENER_IDLE_S : PARSER_IDLE_S};
	setsockopt(SP_JOB_SOCKET, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	if (role == SP_ROLE_PARSER && !main_has_called)
		lines_load();
	sp_heap_return_large(LARGE_BYTES); /* else sorting and growing would leave twice its size behind */
	if (enter(role) < 0)
		_exit(3);
	for (;;) {
		static struct sp_job_message m;
		int fds[SP_JOB_MAX_FDS];
		if (!receive(&m, fds))
			continue;
		work(role, &m, fds);
	}
}
