/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * looping.h: the agent's loop for tests: with a store that only takes notes (and fails when it is told to) in place of
 * the real one, and a busy process beside it. in_child() runs a test in a process of its own, as the agent gives up its
 * privileges; in it agent_begin() makes an agent, which the test frees, and run_for() runs it. For cmocka programs:
 * failures are assertions. One agent at a time, one thread. By root only: else the test is skipped.
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
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

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
extern struct sp_agent_config config; /* of the agent that was begun last */

bool has_event(const char *words); /* "KIND SUBJECT" */
/* False: not allowed. */
bool agent_begin(struct sp_agent **ret_agent);
void stop_now(void *stop); /* a watch's */
void run_for(struct sp_agent *a, struct stop *stop, unsigned ms);
void in_child(void (*test)(void));

#endif
