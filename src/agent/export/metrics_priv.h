/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics_priv.h: struct sp_metrics. Private to src/agent.
 *
 * metrics.c has the counters and writes them; metrics_fold.c sums a window by library and function; metrics_room.c
 * drops series for others. struct sp_metrics owns everything. 0 or -ENOMEM. One thread.
 */
#ifndef SP_AGENT_EXPORT_METRICS_PRIV_H
#define SP_AGENT_EXPORT_METRICS_PRIV_H

#include "agent/config.h"
#include "agent/export/metrics.h"
#include "agent/export/series.h"
#include "bpf/wire.h"

enum { SP_METRICS_CLASSES = 4, SP_METRICS_MAX_EVENTS = 16 };

struct sp_metrics_source {
	char name[32];
	uint64_t n_samples[SP_METRICS_CLASSES]; /* by enum sp_stack_class */
	uint64_t n_cut[SP_N_STOPS];
	uint64_t last_end_ns; /* wall clock: of the last window that was counted */
};

struct sp_metrics {
	const char *functions[SP_AGENT_MAX_GLOBS]; /* globs */
	size_t n_functions;
	enum sp_metrics_by by;
	struct sp_series_budget budget;
	struct sp_series_table libraries, functions_table;
	struct sp_series_table infos; /* by library: labels with package and version, once known */
	uint32_t greedy_uid;          /* metrics_room.c: gets no more than its share; 0 = nobody */
	uint64_t n_failed;            /* windows */
	struct sp_metrics_source sources[SP_AGENT_MAX_SOURCES];
	size_t n_sources;
	uint64_t n_events[SP_METRICS_MAX_EVENTS];
	struct {
		void (*write)(void *arg, struct sp_expo *x);
		void *arg;
	} others[SP_METRICS_MAX_OTHERS];
	size_t n_others;
	/* metrics_fold.c: by function of the profile, whether it matches: 0 = unknown, 1 no, 2 yes */
	uint8_t *matches;
	size_t n_matches;
	uint64_t matches_of; /* serial number of the profile's names */
};

/*
 * metrics_room.c: the users whose libraries or functions found no room in a window; and room for them in the next one.
 */
enum { SP_METRICS_REFUSED = 16 };
struct sp_metrics_refused {
	size_t n; /* the first so many users, each once */
	uint32_t owners[SP_METRICS_REFUSED];
};
void sp_metrics_note_refused(struct sp_metrics_refused *x, uint32_t owner);
bool sp_metrics_may_have_series(const struct sp_metrics *m, uint32_t owner);
int sp_metrics_make_room(struct sp_metrics *m, const struct sp_metrics_refused *x, const struct sp_series_span *now);

/* value: the profile's value that is CPU time. */
int sp_metrics_fold(struct sp_metrics *m, const struct sp_profile *p, const struct sp_store_window *w, uint32_t value);

#endif
