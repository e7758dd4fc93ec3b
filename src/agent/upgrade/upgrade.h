/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade.h: libraries whose build id changed under a program, and what that did to its cost.
 *
 * sp_upgrades_look() sees each window's rows: where a program (executable, and its container or else the root that its
 * paths begin in) runs a library of a name that it ran before from the same directory, with a build id that it did not,
 * an upgrade is noticed: another root's or directory's other build is none. Upgrades within ten minutes are one job. A
 * job is looked at after a minute, ten minutes, an hour, six hours and a day: a process of its own (this program,
 * executed again as for clients' questions) compares as much time before the upgrade with as much after it, program by
 * program, by profile/diff.h: shares of the program's time, intervals from the variance between slices of the time.
 * What it finds comes back as events: "upgrade", once a library and job, and "change" of a library in a program, once,
 * as soon as it is significant. Five looks at many programs would find something by chance: so the interval is taken
 * half as wide again (about 99.7 %), and a change below half a percent of the program's time is not told. At its start
 * the agent compares with the time before it was stopped. Bounded: SP_UPGRADE_JOBS (the oldest gives way, counted),
 * SP_UPGRADE_SEEN pairs of program and library (then the table begins anew: what was seen before is not missed, only
 * not noticed). One thread.
 */
#ifndef SP_AGENT_UPGRADE_UPGRADE_H
#define SP_AGENT_UPGRADE_UPGRADE_H

#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_agent_config;
struct sp_event_queue;
struct sp_intern;
struct sp_profile;
struct sp_request;

enum { SP_UPGRADE_JOBS = 16, SP_UPGRADE_LOOKS = 5, SP_UPGRADE_SEEN = 65536 };

struct sp_upgrade_job {
	uint64_t from_ns, to_ns; /* wall clock: the upgrades were between these */
	unsigned n_looks;        /* so far */
};
struct sp_upgrade_pair { /* a library in a program: hashes of its build id, now and before */
	uint64_t now, before;
};
struct sp_upgrades {
	struct sp_intern *names; /* executable, container, name of a library */
	struct sp_upgrade_pair *pairs;
	size_t n_pairs;
	struct sp_upgrade_job jobs[SP_UPGRADE_JOBS];
	size_t n_jobs;
	uint64_t n_noticed, n_given_up;
	int pipe[2], self; /* what the process writes comes here; what is executed */
	pid_t pid;         /* of the process, 0 = none */
	uint64_t pid_deadline_ns;
	char *line; /* that is not whole yet */
	size_t n_line;
};

int sp_upgrades_init(struct sp_upgrades *u);
void sp_upgrades_done(struct sp_upgrades *u);
/* The agent samples from now on; the store's last window before ended at last_ns, 0 = there is none. */
void sp_upgrades_begin(struct sp_upgrades *u, uint64_t last_ns, uint64_t now_ns);
/* Of a window that began at wall_ns, with names. The number of upgrades that were noticed, or a negative errno. */
int sp_upgrades_look(struct sp_upgrades *u, const struct sp_profile *p, uint64_t wall_ns);
/* Starts the process of a job that is due, takes in what it found. Called when pipe[0] is readable, and at times. */
void sp_upgrades_turn(struct sp_upgrades *u, const struct sp_agent_config *c, struct sp_event_queue *events,
		      uint64_t wall_ns);
int sp_upgrades_timeout_ms(const struct sp_upgrades *u); /* -1: it is called at a window's end anyway */

/* In the process. span_ns before from_ns is compared with as much from to_ns on. */
struct sp_upgrade_question {
	uint64_t from_ns, to_ns, span_ns;
	const char *source; /* NULL = "cpu" */
};
int sp_upgrade_compare(struct sp_store *s, const struct sp_upgrade_question *q,
		       int (*each)(void *arg, const struct sp_store_event *e), void *arg);

#endif
