/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool.h: what the tests of the workers share: how many descriptors and children this process has, waiting, and a main
 * that serves as the worker's program too. A test program has one of each, so all of it is static inline.
 */
#ifndef TEST_WORKER_TOOL_H
#define TEST_WORKER_TOOL_H

#include "test.h"
#include "worker/broker.h"
#include "worker/worker.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline unsigned count_fds(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static pid_t other_child; /* one that is no worker */

/* The first worker's number, or 0; *ret_n children in all. */
static inline pid_t children(unsigned *ret_n)
{
	char path[64];
	int pid = 0, first = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	for (*ret_n = 0; fscanf(f, "%d", &pid) == 1; (*ret_n)++)
		first = first || pid == other_child ? first : pid;
	fclose(f);
	return first;
}

/* From here on this process has no privileges, and a child that is no worker. */
static inline struct sp_broker *start_broker(void)
{
	struct sp_broker *broker;
	unsigned n;
	if (sp_broker_new(&broker) < 0 || sp_privileges_drop(broker) < 0)
		exit(1);
	other_child = children(&n);
	return broker;
}

static inline double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Nothing of the workers is left over: run as the teardown of every test. */
struct baseline {
	unsigned n_fds, n_children;
};
static inline int remember(void **state)
{
	struct baseline *b = malloc(sizeof(*b));
	b->n_fds = count_fds();
	children(&b->n_children);
	*state = b;
	return 0;
}
static inline int compare(void **state)
{
	struct baseline *b = *state;
	unsigned n_children;
	pid_t child = children(&n_children);
	unsigned n_fds = count_fds();
	int bad = n_fds != b->n_fds || n_children != b->n_children;
	if (bad)
		fprintf(stderr, "left over: %u descriptors (%u before), %u children (%u before; %d)\n", n_fds, b->n_fds,
			n_children, b->n_children, (int)child);
	free(b);
	return bad;
}
#define CLEAN_TEST(f) cmocka_unit_test_setup_teardown(f, remember, compare)

#endif
