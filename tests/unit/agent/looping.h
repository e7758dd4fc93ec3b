/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * looping.h: runs the agent's loop in tests, with a store in memory that fails on command, and a busy process beside
 * it. in_child() runs a test in a child process, because the agent gives up its privileges. There agent_begin() makes
 * an agent, which the test frees, and run_for() runs it. Failures are cmocka assertions. One agent at a time, one
 * thread. Root only: else the test is skipped.
 */
#ifndef TESTS_UNIT_AGENT_LOOPING_H
#define TESTS_UNIT_AGENT_LOOPING_H

#include "agent/daemon/loop_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "recipe/recipe.h"
#include "store/store.h"
#include "test.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_NOTED = 256 };
struct noted {
	struct sp_store_window window;
	int64_t n_samples, cpu_ns, n_named, n_of_burner, n_named_of_burner, n_burn;
};
struct noted_all {
	struct noted windows[MAX_NOTED];
	size_t n;
	char events[MAX_NOTED][64]; /* kind subject */
	size_t n_events;
	int fails;
	struct sp_store_stats stats;
	size_t n_alive;
};
extern struct noted_all noted;
struct stop {
	struct sp_agent *agent;
	int fd;
};

extern pid_t burner;
extern struct sp_agent_config config; /* of the agent that was made last */

bool has_event(const char *words); /* "KIND SUBJECT" */
/* False: no privileges. */
bool agent_begin(struct sp_agent **ret_agent);
void stop_now(void *stop); /* `ready` of a watch */
void run_for(struct sp_agent *a, struct stop *stop, unsigned ms);
void in_child(void (*test)(void));

#endif
