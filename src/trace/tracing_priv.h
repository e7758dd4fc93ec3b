/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracing_priv.h: what the two parts of a session of `soprof trace` share: tracing.c, what it has counted or told, and
 * points.c, the programs of its attach points.
 *
 * The struct owns all that it names, and is freed by tracing.c. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_TRACE_TRACING_PRIV_H
#define SP_TRACE_TRACING_PRIV_H

#include "base/aside.h"
#include "trace/tracing.h"

struct bpf_link;

enum { SP_TRACE_FOLLOWERS = 3 };

struct sp_tracing_point {
	const struct sp_recipe_point *point;
	const char *name;
	const struct sp_trace_config *config;
	size_t spec;            /* the number of its spec */
	struct trace_bpf *skel; /* NULL: not opened */
	struct bpf_link *link;
	int event; /* of a classic tracepoint: the kernel's, closed last (sp_point_attach()); 0: none */
	struct sp_aside detaching;
};

struct sp_tracing {
	struct sp_tracing_options o;
	struct sp_tracing_point points[SP_TRACE_POINTS * (SP_TRACE_FIRSTS + 2)];
	size_t n_points, key_bytes, value_bytes;
	struct trace_follow_bpf *follow; /* NULL: no command is followed */
	struct bpf_link *followers[SP_TRACE_FOLLOWERS];
	struct ring_buffer *ring;
	int n_cpus;
	bool has_pairs, is_attached;
	/* Records that were read and not given yet: copies, ours. */
	struct sp_trace_record **waiting;
	size_t n_waiting, capacity;
	uint64_t n_told_lost;
	int failure;
};

int sp_tracing_points_load(struct sp_tracing *t);
int sp_tracing_points_attach(struct sp_tracing *t);
void sp_tracing_points_detach(struct sp_tracing *t);
void sp_tracing_points_free(struct sp_tracing *t);
/* The maps that all points share. */
enum sp_trace_map { SP_TRACE_MAP_ROWS, SP_TRACE_MAP_RECORDS, SP_TRACE_MAP_LOSSES, SP_TRACE_MAP_TARGETS };
int sp_tracing_map(const struct sp_tracing *t, enum sp_trace_map which); /* its descriptor */
int sp_tracing_program(const struct sp_tracing_point *p);                /* likewise */

#endif
