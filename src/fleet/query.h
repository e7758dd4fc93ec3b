/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query.h: questions to a fleet: a range of time over its hosts as one profile, and how the hosts are.
 *
 * The server adds up the windows that begin in the range, by process and stack; what comes back becomes a profile as a
 * store's query makes it. Hosts, labels, libraries, functions and processes are chosen here, by the same globs as
 * everywhere, and named to the server by number. Processes have no pid: those of one program, user and cgroup are one.
 * 0 or a negative errno with sp_error_text(): as in client.h; -ENODATA: nothing of the range; -E2BIG: more stacks than
 * SP_FLEET_MAX_ROWS, with what would make it fewer. Not thread-safe.
 */
#ifndef SP_FLEET_QUERY_H
#define SP_FLEET_QUERY_H

#include "fleet/client.h"
#include "store/store.h"

struct sp_profile;

enum { SP_FLEET_MAX_ROWS = 4000000 };

/* Which hosts: NULL = all. */
struct sp_fleet_filter {
	const char *host;  /* glob of its name */
	const char *label; /* NAME=GLOB, or NAME: those that have it */
	bool by_host;      /* the rows' keys have a label, host, and are more */
	bool leaves_only;  /* stacks are their leaf alone: for what libraries and functions cost themselves */
};
struct sp_fleet_answer {
	struct sp_store_answer all; /* n_damaged: windows that hosts could not read */
	uint64_t n_hosts;
	int64_t n_missing;  /* samples that windows announce and the tables do not have */
	uint64_t n_unknown; /* stacks, names and processes that rows name and the tables do not have */
};
int sp_fleet_query(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		   struct sp_profile **ret_profile, struct sp_fleet_answer *ret_answer);

/*
 * How much of each slice of time the host sampled that sampled the most of it, 0 where nothing was sent; whatever the
 * query's filters leave of it. ret_covered_ns: room for n.
 */
struct sp_fleet_slices {
	uint64_t from_ns, each_ns; /* whole seconds */
	uint32_t n;
};
int sp_fleet_covered(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		     const struct sp_fleet_slices *slices, uint64_t *ret_covered_ns);

/* A build of a library on a host: cost of samples whose leaf is in it, that have it anywhere; all cost of the host. */
struct sp_fleet_library {
	const char *name, *path, *build_id, *package, *version, *host;
	int64_t n_samples, self, total, of_host;
};
struct sp_fleet_globs {
	const char *const *globs; /* of names and paths as in profile/filter.h; or whole build ids */
	size_t n;
};
/* Of the query: range and source. -E2BIG: too many builds match; -ENOENT: none does, with the nearest name. */
int sp_fleet_libraries(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		       const struct sp_fleet_globs *globs,
		       int (*each)(void *arg, const struct sp_fleet_library *library), void *arg);

/* What a host's source cost in the range, and how far it is behind. Of two names or labels the last. */
struct sp_fleet_host {
	const char *name, *labels;              /* labels: with newlines between */
	uint64_t n_windows, covered_ns, n_lost; /* in the range */
	int64_t n_samples, cost;
	bool is_recent;    /* it has sent something since yesterday, by the server's clock */
	uint64_t behind_s; /* of its last window's end, if it is recent */
};
struct sp_fleet_hosts { /* what `cost` is */
	char cost_name[64], cost_unit[64];
};
/* Those of the filter, also if they have sent nothing of that time; of the query: range and source. By falling cost. */
int sp_fleet_hosts(struct sp_fleet *f, const struct sp_fleet_filter *filter, const struct sp_store_query *q,
		   struct sp_fleet_hosts *ret_hosts, int (*each)(void *arg, const struct sp_fleet_host *h), void *arg);

/* A host's source, of today and yesterday by the server's clock. */
struct sp_fleet_host_status {
	const char *name, *source, *labels; /* labels: with newlines between */
	uint64_t last_s;                    /* the end of its last window, by its own clock */
	int64_t ahead_s; /* the most that a window ended after it came, by the server's clock; < 0: before */
	uint64_t n_windows, missing_s; /* seconds between first and last of which there is none */
	uint64_t n_rows, n_lost, n_left_out;
};
struct sp_fleet_status {
	uint64_t now_s; /* of the server */
	uint64_t bytes, n_rows;
};
int sp_fleet_status(struct sp_fleet *f, struct sp_fleet_status *ret_status,
		    int (*each)(void *arg, const struct sp_fleet_host_status *h), void *arg);

#endif
