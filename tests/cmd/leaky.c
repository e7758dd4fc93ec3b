/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaky.c: leaky [-] N: a server that leaks. Four threads answer N requests that a client sends them over sockets; some
 * of what these have allocated is never freed: sessions, values, log lines. Prints what each kind has leaked, as "KIND
 * BLOCKS BYTES", by its own ledger. With "-" it says "ready" first, and waits for a line.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
enum { N_SERVERS = 4, MAX_BYTES = 4096 };
enum { SESSION, STORED, LOGGED, N_KINDS };

struct request {
	uint32_t kind, size, number;
};
struct leaked {
	const char *name;
	unsigned long blocks, bytes;
};
static struct leaked leaked[N_KINDS] = {{.name = "open_session"}, {.name = "store_value"}, {.name = "log_line"}};

static void keep(unsigned kind, size_t bytes)
{
	__atomic_add_fetch(&leaked[kind].blocks, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&leaked[kind].bytes, bytes, __ATOMIC_RELAXED);
}

static void *check(void *block)
{
	if (!block)
		abort();
	return block;
}

/* One in four is forgotten. */
APART static void open_session(const struct request *q)
{
	size_t bytes = 200 + q->size / 8;
	void *session = check(calloc(1, bytes));

	if (q->number % 4 == 0)
		keep(SESSION, bytes);
	else
		free(session);
}

/* It grows as it comes in; one in eight is lost. */
APART static void store_value(const struct request *q)
{
	size_t bytes = 64;
	char *value = check(malloc(bytes));

	while (bytes < q->size) {
		bytes = 2 * bytes < q->size ? 2 * bytes : q->size;
		value = check(realloc(value, bytes));
	}
	memset(value, 1, bytes);
	if (q->number % 8 == 0)
		keep(STORED, bytes);
	else
		free(value);
}

/* The first of two lines, and the second of one in three. */
APART static void log_line(const struct request *q)
{
	char text[128];
	size_t bytes = (size_t)snprintf(text, sizeof(text), "request %u of %u bytes", q->number, q->size) + 1;
	char *line = check(malloc(bytes)), *again = check(malloc(2 * bytes));

	memcpy(line, text, bytes);
	keep(LOGGED, bytes);
	if (q->number % 3 == 0)
		keep(LOGGED, 2 * bytes);
	else
		free(again);
}

/* Requests come directly, or by way of a proxy, so that each kind leaks in two stacks. */
APART static void answer(const struct request *q)
{
	switch (q->kind) {
	case SESSION:
		open_session(q);
		break;
	case STORED:
		store_value(q);
		break;
	default:
		log_line(q);
	}
	__asm__ volatile("");
}

APART static void answer_proxied(const struct request *q)
{
	answer(q);
	__asm__ volatile("");
}

static void *serve(void *arg)
{
	int socket = *(int *)arg;
	struct request q;

	while (recv(socket, &q, sizeof(q), 0) == sizeof(q)) {
		if (q.number % 5 == 0)
			answer_proxied(&q);
		else
			answer(&q);
		if (send(socket, &q.number, sizeof(q.number), 0) != sizeof(q.number))
			break;
	}
	return NULL;
}

/* One request to each server is on its way at a time. */
static void ask(const int *sockets, uint32_t n)
{
	uint32_t x = 1, said;

	for (uint32_t i = 0; i < n + N_SERVERS; i++) {
		int to = sockets[i % N_SERVERS];
		struct request q = {.number = i, .kind = i % N_KINDS};

		if (i >= N_SERVERS && recv(to, &said, sizeof(said), 0) != sizeof(said))
			abort();
		x = x * 1103515245 + 12345;
		q.size = 1 + x / 65536 % MAX_BYTES;
		if (i < n && send(to, &q, sizeof(q), 0) != sizeof(q))
			abort();
	}
}

int main(int argc, char **argv)
{
	int ends[N_SERVERS][2], clients[N_SERVERS];
	pthread_t threads[N_SERVERS];
	char line[8];

	for (int i = 0; i < N_SERVERS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[i]) ||
		    pthread_create(&threads[i], NULL, serve, &ends[i][1]))
			abort();
		clients[i] = ends[i][0];
	}
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	ask(clients, (uint32_t)strtoul(argv[argc - 1], NULL, 10));
	for (int i = 0; i < N_SERVERS; i++) {
		shutdown(clients[i], SHUT_RDWR);
		pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < N_KINDS; i++)
		printf("%s %lu %lu\n", leaked[i].name, leaked[i].blocks, leaked[i].bytes);
	return 0;
}
