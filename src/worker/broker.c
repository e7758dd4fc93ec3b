/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker's two sides. A request is one SOCK_SEQPACKET message, with a descriptor if one is passed, and so is a
 * reply.
 *
 * Workers are made with clone(CLONE_PARENT), so the broker's parent waits for them as for its own children (not with
 * clone3, which systemd's RestrictNamespaces= blocks, since filters cannot see its flags). Parsers run as another
 * user, so only the broker may end them; it does so by pidfd, never by pid, which might be reused.
 */
#include "worker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "unwind/segments.h"
#include "worker/priv.h"

enum { MAX_STARTED = 64, MAX_ARRAY_BYTES = 16 << 20, MAX_FILES = 128 };

enum request_kind {
	BROKER_START,
	BROKER_KILL,
	BROKER_ARRAY,
	BROKER_EVENT,
	BROKER_OUTPUT,
	BROKER_PLACE,
	BROKER_KEEP_FILE,
	BROKER_FILE,
	BROKER_SEAL
};

struct request {
	uint32_t kind;   /* enum request_kind */
	uint32_t number; /* role, pid, bytes, CPU, mode */
	int32_t pid;     /* EVENT: of one process, on all CPUs; 0: of all */
	struct perf_event_attr attr;
	char path[PATH_MAX];
};
struct reply {
	int32_t r; /* START: the pid */
};
struct sp_broker {
	int pid, socket;
};
/* In the broker. */
struct started {
	int pid, pidfd;
};
struct broker {
	struct started started[MAX_STARTED];
	char path[PATH_MAX], beside[PATH_MAX + 8]; /* the output; beside "" = nothing to put in place */
	char *files[MAX_FILES];                    /* that it opens for reading, whenever it is asked to */
	size_t n_files;
	bool sealed;
};

/* --- messages --- */
/* 0, or -EPIPE when the other side has gone or talks nonsense. *ret_fd is -1 where none came. */
static int take(int socket, void *bytes, size_t n, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = bytes, .iov_len = n};
	struct msghdr h = {
	    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got;
	*ret_fd = -1;
	while ((got = recvmsg(socket, &h, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (got == (ssize_t)n)
		return 0;
	sp_cleanup_close(ret_fd);
	return -EPIPE;
}

/* --- the broker --- */
static int note_started(struct started *list, int pid)
{
	for (unsigned i = 0; i < MAX_STARTED; i++) {
		struct pollfd gone = {.fd = list[i].pidfd, .events = POLLIN};
		if (list[i].pidfd >= 0 && poll(&gone, 1, 0) == 0)
			continue;
		sp_cleanup_close(&list[i].pidfd);
		list[i].pid = pid;
		list[i].pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		return list[i].pidfd < 0 ? -errno : 0;
	}
	return -EAGAIN;
}

static int start_one(struct started *list, uint32_t role, int socket)
{
	if (role >= SP_N_ROLES || socket < 0)
		return -EINVAL;
	int pid = (int)syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, 0UL);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		sp_worker_become((enum sp_role)role, socket);
	int r = note_started(list, pid);
	if (r < 0)
		kill(pid, SIGKILL); /* not waited for yet: the number is its own */
	return r < 0 ? r : pid;
}

static int kill_one(const struct started *list, uint32_t pid)
{
	for (unsigned i = 0; i < MAX_STARTED; i++)
		if (list[i].pidfd >= 0 && list[i].pid == (int)pid)
			return syscall(SYS_pidfd_send_signal, list[i].pidfd, SIGKILL, NULL, 0) < 0 ? -errno : 0;
	return -ESRCH;
}

static int make_array(uint32_t bytes)
{
	return bytes && bytes <= MAX_ARRAY_BYTES ? sp_segment_make(bytes) : -EINVAL;
}

static int open_event(struct request *q)
{
	int cpu = q->pid ? -1 : (int)q->number;
	int fd = (int)syscall(SYS_perf_event_open, &q->attr, q->pid ? q->pid : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int make_output(struct broker *b, struct request *q)
{
	if (b->sealed || b->path[0])
		return -EPERM;
	snprintf(b->path, sizeof(b->path), "%s", q->path);
	snprintf(b->beside, sizeof(b->beside), "%s.XXXXXX", q->path);
	SP_CLOSE int fd = mkostemp(b->beside, O_CLOEXEC);
	int r = fd < 0 || fchmod(fd, q->number & 0777) < 0 ? -errno : 0;
	if (fd < 0)
		b->beside[0] = 0;
	return r < 0 ? r : sp_take_fd(&fd);
}

static int put_output_in_place(struct broker *b)
{
	if (!b->beside[0])
		return -ENOENT;
	if (rename(b->beside, b->path) < 0)
		return -errno;
	b->beside[0] = 0;
	return sp_sandbox_broker_settle(false);
}

static int keep_file(struct broker *b, const char *path)
{
	if (b->sealed)
		return -EPERM;
	if (b->n_files == MAX_FILES)
		return -E2BIG;
	b->files[b->n_files] = strdup(path);
	return b->files[b->n_files] ? (int)++b->n_files : -ENOMEM;
}

/* Whether who has no more privileges than we could put something else there: it is his, or the directory is. */
static bool can_be_replaced(const char *directory, const char *entry)
{
	struct stat around, at;
	if (faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) < 0)
		return false;
	if (stat(directory, &around) < 0 || lstat(entry, &at) < 0)
		return true;
	return !(around.st_mode & S_ISVTX) || around.st_uid == geteuid() || at.st_uid == geteuid();
}

/* On the way of an absolute path: then it could lead us to any file. */
static bool can_be_led_away(const char *path)
{
	char directory[PATH_MAX], entry[PATH_MAX];
	for (const char *slash = path, *next; slash; slash = next) {
		next = strchr(slash + 1, '/');
		snprintf(directory, sizeof(directory), "%.*s", (int)SP_MAX(slash - path, 1), path);
		snprintf(entry, sizeof(entry), "%.*s", next ? (int)(next - path) : (int)strlen(path), path);
		if (can_be_replaced(directory, entry))
			return true;
	}
	return false;
}

/* Not before the capability to write everywhere has been given up. */
static int open_file(const struct broker *b, const char *path)
{
	size_t i = 0;
	struct stat st;
	while (i < b->n_files && strcmp(b->files[i], path) != 0)
		i++;
	if (!b->sealed || i == b->n_files || can_be_led_away(path))
		return -EPERM;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? sp_take_fd(&fd) : -EPERM;
}

/* No output is made any more, and no file is added to those that are opened. */
static int seal(struct broker *b)
{
	b->sealed = true;
	return sp_sandbox_broker_settle(b->beside[0] != 0);
}

static int fd_for(struct broker *b, struct request *q)
{
	return q->kind == BROKER_ARRAY   ? make_array(q->number)
	       : q->kind == BROKER_EVENT ? open_event(q)
	       : q->kind == BROKER_FILE  ? open_file(b, q->path)
					 : make_output(b, q);
}

static void serve(struct broker *b, struct request *q, int given)
{
	struct reply a = {0};
	SP_CLOSE int fd = -1;
	if (q->kind == BROKER_START)
		a.r = start_one(b->started, q->number, given);
	else if (q->kind == BROKER_KILL)
		a.r = kill_one(b->started, q->number);
	else if (q->kind == BROKER_PLACE)
		a.r = put_output_in_place(b);
	else if (q->kind == BROKER_KEEP_FILE)
		a.r = keep_file(b, q->path);
	else if (q->kind == BROKER_SEAL)
		a.r = seal(b);
	else
		a.r = fd = fd_for(b, q);
	int r = sp_put_message(SP_JOB_SOCKET, &a, sizeof(a), fd);
	if (r < 0 && fd >= 0)
		sp_put_message(SP_JOB_SOCKET, &(struct reply){r}, sizeof(a), -1);
}

void sp_broker_run(void)
{
	static struct broker b;
	static struct request q;
	int given;
	if (sp_sandbox_broker() < 0)
		_exit(3);
	for (unsigned i = 0; i < MAX_STARTED; i++)
		b.started[i].pidfd = -1;
	while (take(SP_JOB_SOCKET, &q, sizeof(q), &given) == 0) {
		q.path[sizeof(q.path) - 1] = 0;
		serve(&b, &q, given);
		sp_cleanup_close(&given);
	}
	if (b.beside[0])
		unlink(b.beside);
	_exit(0);
}

/* --- the caller's side --- */
int sp_broker_new(struct sp_broker **ret_broker)
{
	SP_FREE struct sp_broker *b = calloc(1, sizeof(*b));
	int pair[2];
	if (!b)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_fail(-errno, "make a socket pair");
	b->socket = pair[0];
	b->pid = fork();
	if (b->pid == 0)
		sp_worker_begin(SP_ROLE_BROKER, pair[1]);
	close(pair[1]);
	if (b->pid < 0) {
		close(pair[0]);
		return sp_fail(-errno, "fork");
	}
	*ret_broker = sp_take_ptr(b);
	return 0;
}

void sp_broker_free(struct sp_broker *b)
{
	if (!b)
		return;
	close(b->socket); /* it reads the end of it, and ends */
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(b);
}

bool sp_broker_has_ended(const struct sp_broker *b)
{
	struct pollfd end = {.fd = b->socket, .events = 0};

	return poll(&end, 1, 0) > 0 && end.revents & POLLHUP;
}

static int ask(struct sp_broker *b, const struct request *q, int given, int *ret_fd)
{
	struct pollfd answer = {.fd = b->socket, .events = POLLIN};
	struct reply a;
	int r = sp_put_message(b->socket, q, sizeof(*q), given), n = 0;
	while (r >= 0 && (n = poll(&answer, 1, SP_BROKER_MS)) < 0 && errno == EINTR)
		;
	if (r >= 0 && n == 0)
		return sp_fail_said(-ETIMEDOUT, "the broker does not answer");
	*ret_fd = -1;
	r = r < 0 ? r : take(b->socket, &a, sizeof(a), ret_fd);
	return r < 0 ? sp_fail_said(-EPIPE, "the broker has gone") : a.r;
}

static int ask_fd(struct sp_broker *b, const struct request *q, const char *what)
{
	int fd = -1, r = ask(b, q, -1, &fd);
	if (r >= 0 && fd >= 0)
		return fd;
	sp_cleanup_close(&fd);
	return sp_fail(r < 0 ? r : -EPROTO, "%s", what);
}

int sp_broker_array(struct sp_broker *b, uint32_t bytes)
{
	return ask_fd(b, &(struct request){.kind = BROKER_ARRAY, .number = bytes}, "make a BPF array");
}

int sp_broker_event(struct sp_broker *b, const struct perf_event_attr *attr, unsigned cpu)
{
	struct request q = {.kind = BROKER_EVENT, .number = cpu, .attr = *attr};
	return ask_fd(b, &q, "open a perf event");
}

int sp_broker_event_of(struct sp_broker *b, const struct perf_event_attr *attr, int pid)
{
	struct request q = {.kind = BROKER_EVENT, .pid = pid, .attr = *attr};
	return ask_fd(b, &q, "open a perf event");
}

static int set_path(struct request *q, const char *path)
{
	int n = snprintf(q->path, sizeof(q->path), "%s", path);
	return n < (int)sizeof(q->path) ? 0 : sp_fail(-ENAMETOOLONG, "%s", path);
}

int sp_broker_output(struct sp_broker *b, const char *path, unsigned mode)
{
	struct request q = {.kind = BROKER_OUTPUT, .number = mode};
	int r = set_path(&q, path);
	return r < 0 ? r : ask_fd(b, &q, "make a file");
}

int sp_broker_keep_file(struct sp_broker *b, const char *path)
{
	struct request q = {.kind = BROKER_KEEP_FILE};
	int none, r = path[0] == '/' ? set_path(&q, path) : -EINVAL;
	r = r < 0 ? r : ask(b, &q, -1, &none);
	return r < 0 ? sp_fail(r, "keep %s readable", path) : 0;
}

int sp_broker_file(struct sp_broker *b, const char *path)
{
	struct request q = {.kind = BROKER_FILE};
	int r = set_path(&q, path);
	return r < 0 ? r : ask_fd(b, &q, "open a file");
}

int sp_broker_put_in_place(struct sp_broker *b)
{
	int none;
	return ask(b, &(struct request){.kind = BROKER_PLACE}, -1, &none);
}

int sp_broker_seal(struct sp_broker *b)
{
	int none;
	return ask(b, &(struct request){.kind = BROKER_SEAL}, -1, &none);
}

int sp_broker_pid(const struct sp_broker *b)
{
	return b->pid;
}

int sp_broker_start(struct sp_broker *b, enum sp_role role, int socket)
{
	int none;
	return ask(b, &(struct request){.kind = BROKER_START, .number = role}, socket, &none);
}

int sp_broker_kill(struct sp_broker *b, int pid)
{
	int none;
	return ask(b, &(struct request){.kind = BROKER_KILL, .number = (uint32_t)pid}, -1, &none);
}
