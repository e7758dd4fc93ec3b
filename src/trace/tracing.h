/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracing.h: a session of `soprof trace`: loads the programs of its events, attaches them, and gives what they have
 * counted or told.
 *
 * Rows are of all that was counted so far; none is removed before the end. Records come by the order of their times,
 * which may be those of several CPUs: what is younger than some ms waits until the next call. Losses are counted. To
 * load and attach needs CAP_BPF and CAP_PERFMON, the rest only the descriptors. 0 or a negative errno with
 * sp_error_text(). One thread.
 */
#ifndef SP_TRACE_TRACING_H
#define SP_TRACE_TRACING_H

#include "trace/spec.h"

struct sp_recipe_object;
struct sp_tracing;

/*
 * Whether a point of a spec is where its stack is walked: of a pair where it ends, if that is in the same thread, since
 * then filters have been asked, else where it begins.
 */
static inline bool sp_trace_walks(const struct sp_trace_spec *s, const struct sp_trace_config *point)
{
	return point->role == SP_TRACE_EVENT ||
	       point->role == (s->config.pair_stays ? SP_TRACE_SECOND : SP_TRACE_FIRST);
}

struct sp_tracing_options {
	const struct sp_trace_spec *specs; /* must outlive the session */
	size_t n_specs;                    /* at most SP_TRACE_POINTS */
	bool tells;
	bool targets; /* only processes that sp_tracing_target_add() names, and, with follow, what they start */
	bool follow;
	uint64_t cgroup; /* 0 = all */
	uint32_t cgroup_level;
	uint32_t max_rows, ring_bytes; /* the latter a power of two */
	int only;                      /* probes: the process that they are for; 0 = all */
	/*
	 * Tells: stacks are walked by a session of sampling, with recipes that have points without names for all kinds
	 * of points that walk (sp_trace_walks()); it is attached before this one, and may be loaded meanwhile
	 * (sp_capture_options.beside). It tells them by the records' numbers. Processes are its to follow, and to add.
	 * NULL: no stacks.
	 */
	const struct sp_recipe_object *stacks;
	bool kernel_stacks;
};

int sp_tracing_new(const struct sp_tracing_options *o, struct sp_tracing **ret_tracing);
int sp_tracing_target_add(struct sp_tracing *t, uint32_t pid, enum sp_target state);
int sp_tracing_attach(struct sp_tracing *t);
void sp_tracing_detach(struct sp_tracing *t); /* when it returns no program runs */
void sp_tracing_free(struct sp_tracing *t);

/* What a key begins with. */
static inline uint32_t sp_trace_key_point(const sp_u64 *key)
{
	return (uint32_t)key[0];
}
static inline uint32_t sp_trace_key_bucket(const sp_u64 *key)
{
	return (uint32_t)(key[0] >> 32);
}
size_t sp_tracing_key_bytes(const struct sp_tracing *t);
int sp_tracing_rows(struct sp_tracing *t, int (*each)(void *arg, const sp_u64 *key, const struct sp_trace_value *sum),
		    void *arg);

int sp_tracing_fd(const struct sp_tracing *t); /* readable when much waits */
/*
 * all: also the youngest. n_lost: how many were lost right before the record, or, without one, at the end. What each
 * returns: 1: not yet, so that the record comes again at the next call.
 */
int sp_tracing_records(struct sp_tracing *t, bool all,
		       int (*each)(void *arg, const struct sp_trace_record *record, uint64_t n_lost), void *arg);
uint64_t sp_tracing_lost(const struct sp_tracing *t, enum sp_trace_counter counter);
/* Hits at which the kernel ran no program of ours, since one was running on that CPU; from Linux 6.7 on. */
uint64_t sp_tracing_missed(const struct sp_tracing *t);
/* Processes that a followed one has started, for which there was no room: what they do is not seen. */
uint64_t sp_tracing_unfollowed(const struct sp_tracing *t);

#endif
