/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade.h: detects libraries whose build id changed under a program, and measures what that did to its cost.
 *
 * An upgrade is: a program (executable, and its container or else its root) runs a library of the same name, from the
 * same directory, with a build id that it did not run before. Upgrades within ten minutes are one job. A minute, ten
 * minutes, an hour, six hours and a day later a process (this program, executed again as for requests) compares each
 * job's time after the upgrade with as much before it, program by program, by profile/diff.h: shares of the program's
 * time, with intervals from the variance between slices of time. Results are events: "upgrade", once for a library and
 * job, and "change" of a library in a program, once it is significant. The intervals are 1.5 times as wide as usual
 * (about 99.7 %) and changes below half a percent do not count, because five comparisons of many programs would find
 * something by chance. At its start the agent compares with the time before it stopped. Limits: SP_UPGRADE_JOBS (the
 * oldest of the user who has most is dropped, and counted), SP_UPGRADE_SEEN pairs of program and library (then the
 * table is emptied, and upgrades of what it held are missed once). One thread.
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

enum { SP_UPGRADE_JOBS = 16, SP_UPGRADE_COMPARISONS = 5, SP_UPGRADE_SEEN = 65536 };

#define SP_UPGRADE_SEVERAL UINT32_MAX
struct sp_upgrade_job {
	uint64_t from_ns, to_ns; /* wall clock: the upgrades were between these */
	unsigned n_comparisons;  /* comparisons so far */
	uint32_t uid;            /* whose programs run them; or SP_UPGRADE_SEVERAL: of users, or not known */
};
struct sp_upgrade_pair { /* a library in a program: hashes of its last two build ids */
	uint64_t now, before;
};
struct sp_upgrades {
	struct sp_intern *names; /* executable, container, name of a library */
	struct sp_upgrade_pair *pairs;
	size_t n_pairs;
	struct sp_upgrade_job jobs[SP_UPGRADE_JOBS];
	size_t n_jobs;
	uint32_t uid;      /* as a job's, of the last window's upgrades */
	int pipe[2], self; /* the process's output; the program to execute */
	pid_t pid;         /* of the process, 0 = none */
	uint64_t pid_deadline_ns;
	uint64_t cpu_ns;     /* of processes that have ended; who counts it sets it to 0 */
	uint64_t n_given_up; /* jobs that found no room */
	char *line;          /* incomplete line of output */
	size_t n_line;
};

int sp_upgrades_init(struct sp_upgrades *u);
void sp_upgrades_done(struct sp_upgrades *u);
/* The agent starts; the store's last window ended at last_ns, 0 = there is none. */
void sp_upgrades_start(struct sp_upgrades *u, uint64_t last_ns, uint64_t now_ns);
/* For each window, with its begin; returns the number of new upgrades, or a negative errno. */
int sp_upgrades_check_window(struct sp_upgrades *u, const struct sp_profile *p, uint64_t wall_ns);
/* Starts the process of a due job, and reads its events. To be called when pipe[0] is readable, and now and then. */
void sp_upgrades_run(struct sp_upgrades *u, const struct sp_agent_config *c, struct sp_event_queue *events,
		     uint64_t wall_ns);
int sp_upgrades_timeout_ms(const struct sp_upgrades *u); /* -1: the next window is soon enough */

/* In the process: compares span_ns before from_ns with span_ns after to_ns. */
struct sp_upgrade_comparison {
	uint64_t from_ns, to_ns, span_ns;
	const char *source; /* NULL = "cpu" */
};
int sp_upgrade_compare(struct sp_store *s, const struct sp_upgrade_comparison *q,
		       int (*each)(void *arg, const struct sp_store_event *e), void *arg);

#endif
