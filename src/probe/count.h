/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.h: the programs that count calls at probes, and what they have counted.
 *
 * sp_counting_new() loads them; who attaches them (probe/attach.h) gives each place the cookie SP_PROBED_COOKIE(number,
 * pushed, is_stepped), where there are cookies. Where there are none, rows tell a function by its place in the file.
 * With times a call is counted when it returns, and sp_counting_entered() tells how many have begun. Rows stay while
 * their processes live. What found no room is counted: sp_counting_lost(). Memory: a row takes 120 to 630 bytes of the
 * kernel's, from when it is made; their index 16 bytes for each that may be, up to a power of two, at once.
 * sp_counting_new() needs CAP_BPF and CAP_PERFMON, the rest only the descriptors. 0 or a negative errno with
 * sp_error_text(). One thread.
 */
#ifndef SP_PROBE_COUNT_H
#define SP_PROBE_COUNT_H

#include "probe/attach.h"
#include "probe/count_wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_counting;

struct sp_counting_options {
	bool times, callers;
	bool users;      /* told by the call, not by when the process made its first one */
	bool functions;  /* rows tell nothing else: not which process, nor whose. Not without cookies */
	bool no_cookies; /* probes will have none (sp_probe_has()) */
	bool guarded;    /* hits are counted, and the session can be closed */
	const uint32_t *pids;
	size_t n_pids; /* 0 = all processes */
	uint64_t cgroup;
	uint32_t cgroup_level;
	const char *comm; /* of the thread; NULL = any */
	uint32_t max_functions, max_rows;
	/* Of a session that samples: what sp_capture_targets_fd() gives, into which processes are put when they call.
	 */
	bool samples;
	int sampled_fd;
};

int sp_counting_new(const struct sp_counting_options *o, struct sp_counting **ret_counting);
void sp_counting_free(struct sp_counting *c);

/* What is to be attached at each place: one, or with times and without sessions two, the return first. */
size_t sp_counting_programs(const struct sp_counting *c, struct sp_probe_program ret_programs[2]);

struct sp_counted {
	struct sp_probed_key key;
	struct sp_probed_who who;
	struct sp_probed_times times;
	struct sp_probed_places places;
	uint32_t at; /* where it is, for sp_counting_take() */
};
/* Calls `each` for every row until it gives a negative number, which is then the result. */
int sp_counting_read(struct sp_counting *c, int (*each)(void *arg, const struct sp_counted *row), void *arg);
/* Whether the table is so full that the rows of processes that have ended should be taken out. Not with `functions`. */
bool sp_counting_is_crowded(const struct sp_counting *c);
/* Takes out a row of a process that has ended, so that nothing adds to it. -ENOENT: there is none. */
int sp_counting_take(struct sp_counting *c, const struct sp_counted *row, struct sp_counted *ret_row);
/* What could be taken out was: it is crowded again when some more are there. */
void sp_counting_relieved(struct sp_counting *c);
/* Calls of function `number` that have begun; without cookies, of all, by number 0. Only with times. */
uint64_t sp_counting_entered(const struct sp_counting *c, uint32_t number);
/* Only if guarded: hits of all that is probed, by is_stepped; without cookies all are the first. */
void sp_counting_hits(const struct sp_counting *c, uint64_t ret_hits[2]);
/* Only if guarded: no call that begins while it is closed is counted. It is open at first. */
void sp_counting_close(struct sp_counting *c, bool is_closed);
uint64_t sp_counting_lost(const struct sp_counting *c, enum sp_probed_counter i);

/* Readable when a file of calling code is met for the first time; `each` gets it then. -1: there are no callers. */
int sp_counting_fd(const struct sp_counting *c);
void sp_counting_files(struct sp_counting *c, void (*each)(void *arg, const struct sp_probed_file *file), void *arg);

#endif
