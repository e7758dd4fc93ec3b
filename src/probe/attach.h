/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h: breakpoints of a BPF program at many places of a file, for every process that maps it or will.
 *
 * Where the kernel has them by one link for all places (uprobe_multi, Linux 6.6; sessions, which run at a call's
 * beginning and end, 6.13), which goes with its descriptor. Else by one event of tracefs that has all places; such an
 * event outlives its maker, without doing anything, so its name tells whose it is, and sp_probe_clean() removes those
 * of the dead. Never by an event for each place: the kernel takes 0.1 s to remove one.
 * One place that the kernel refuses costs no other: it is found by bisection, and counted. Attaching needs CAP_BPF and
 * CAP_PERFMON for loading only where there are links; tracefs is root's. 0 or a negative errno with sp_error_text();
 * -EOPNOTSUPP: this kernel has no such probes. A link is the caller's. No state but the number of the last event.
 */
#ifndef SP_PROBE_ATTACH_H
#define SP_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sp_probe_kind {
	SP_PROBE_ENTRY,
	SP_PROBE_RETURN,
	SP_PROBE_SESSION, /* both, in one program (bpf_session_is_return()): only where sp_probe_has(it) */
};
struct sp_broker;

/* What a hit costs beside the program, where the kernel runs its instruction itself, and where it steps it; and the end
 * of a call. */
enum { SP_PROBE_EMULATED_NS = 700, SP_PROBE_STEPPED_NS = 9300, SP_PROBE_RETURN_NS = 450 };

struct sp_probe_program { /* of the type BPF_PROG_TYPE_KPROBE, loaded with sp_probe_attach_type() */
	int fd;
	enum sp_probe_kind kind;
	struct sp_broker *broker; /* opens the events of tracefs; NULL: this process does */
};
struct sp_probe_at {
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies; /* what bpf_get_attach_cookie() gives at each; NULL = none. By tracefs an event for
				    each different one, so they are few */
	const uint64_t
	    *semaphores; /* offsets of counters that are raised while attached, 0 = none; NULL = none at all */
	size_t n;
};
struct sp_probe_link {
	enum sp_probe_kind kind;
	int *fds; /* of links, or of perf events */
	size_t n_fds, fds_capacity;
	char **events; /* of tracefs */
	size_t n_events, events_capacity;
	size_t n_refused;     /* places where the kernel takes no breakpoint */
	size_t refused_place; /* the first of them: its index */
};

/* Whether the kernel has such links; RETURN and ENTRY are the same. SESSION needs links, the others need them not. */
bool sp_probe_has(enum sp_probe_kind kind);
/* expected_attach_type of a program that is to be attached so. All programs that tail-call each other must have it. */
unsigned sp_probe_attach_type(enum sp_probe_kind kind);

/* Whether the kernel replaces a nop of 5 bytes by a call of its own, which costs no trap (Linux 6.18). */
bool sp_probe_nop5_is_fast(void);

/* file: any descriptor of it. pid: only this process pays and is seen; 0 = all. */
int sp_probe_attach(const struct sp_probe_program *program, int file, const struct sp_probe_at *at, pid_t pid,
		    struct sp_probe_link *ret_link);
/* Nothing runs any more when this returns, which takes the kernel 40 ms for each; some are as fast as one. */
void sp_probe_detach(struct sp_probe_link *link);
void sp_probe_detach_some(struct sp_probe_link *const *links, size_t n);

/* Removes the events of tracefs whose makers are dead. *ret_n: how many. A machine without tracefs has none. */
int sp_probe_clean(size_t *ret_n);

#endif
