/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/files/memory_reader.h"
#include "base/error.h"
#include "base/mem.h"
#include "worker/broker.h"
#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_MS = 1000, MAX_ABANDONED = 3 };

struct request {
	uint64_t addr;
	size_t bytes;
	pid_t pid;
};

static _Noreturn void child_run(int socket, void *memory)
{
	struct request q;

	signal(SIGINT, SIG_IGN); /* of the terminal: the parent ends us */
	signal(SIGTERM, SIG_DFL);
	if (dup2(socket, 3) < 0 || syscall(SYS_close_range, 4U, ~0U, 0) || sp_sandbox_reader() < 0)
		_exit(1);
	while (recv(3, &q, sizeof(q), 0) == sizeof(q)) {
		struct iovec to = {memory, q.bytes}, from = {(void *)q.addr, q.bytes}; // NOLINT
		ssize_t n = process_vm_readv(q.pid, &to, 1, &from, 1, 0);

		if (n < 0)
			n = -errno;
		if (send(3, &n, sizeof(n), MSG_NOSIGNAL) != sizeof(n))
			break;
	}
	_exit(0);
}

static int child_start(struct sp_memory_reader *reader)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	reader->child = fork();
	if (!reader->child)
		child_run(pair[1], reader->memory);
	close(pair[1]);
	if (reader->child < 0) {
		int r = -errno;

		close(pair[0]);
		reader->child = 0;
		return r;
	}
	reader->socket = pair[0];
	return 0;
}

int sp_memory_reader_begin(struct sp_memory_reader *ret_reader)
{
	void *memory =
	    mmap(NULL, SP_READER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	*ret_reader = (struct sp_memory_reader){0};
	if (memory == MAP_FAILED)
		return sp_fail(-errno, "make room for the memory of others");
	ret_reader->memory = memory;
	r = child_start(ret_reader);
	if (r < 0) {
		sp_memory_reader_end(ret_reader);
		return sp_fail(r, "start a process that reads memory");
	}
	return 0;
}

/* Ends the child if it can be ended. What hangs in the kernel is init's, once we have gone. */
static void child_end(struct sp_memory_reader *reader, int flags)
{
	close(reader->socket);
	kill(reader->child, SIGKILL);
	waitpid(reader->child, NULL, flags);
	reader->child = 0;
}

/* The child writes to its old memory whenever it goes on: the next one gets another. */
static int child_abandon(struct sp_memory_reader *reader)
{
	child_end(reader, WNOHANG);
	if (++reader->n_abandoned == MAX_ABANDONED)
		return -ETIMEDOUT;
	if (mmap(reader->memory, SP_READER_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	child_start(reader);
	return -ETIMEDOUT;
}

ssize_t sp_memory_reader_read(struct sp_memory_reader *reader, pid_t pid, uint64_t addr, size_t bytes)
{
	struct request q = {.addr = addr, .bytes = SP_MIN(bytes, (size_t)SP_READER_BYTES), .pid = pid};
	struct pollfd fd = {.fd = reader->socket, .events = POLLIN};
	ssize_t n;
	int ready;

	if (!reader->child)
		return -ETIMEDOUT;
	if (send(reader->socket, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		return -errno;
	do
		ready = poll(&fd, 1, DEADLINE_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return child_abandon(reader);
	return recv(reader->socket, &n, sizeof(n), 0) == sizeof(n) ? n : -EPIPE;
}

void sp_memory_reader_end(struct sp_memory_reader *reader)
{
	if (reader->child)
		child_end(reader, 0);
	if (reader->memory)
		munmap(reader->memory, SP_READER_BYTES);
	*reader = (struct sp_memory_reader){0};
}
