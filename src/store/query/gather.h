/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h: the rows that a question is about, from all windows of its plan, kept small.
 *
 * Rows are (who, node) and values, as scan.h has them; those whose process, user or cgroup is not asked for are left
 * out here already. `who` is a key of the dictionary if all windows are of 10 s, else a group. A value that is the same
 * multiple of the first one throughout a window (ns of samples) takes no room, and values that fit 32 bits take those.
 * Dictionaries are kept open with their scans until sp_gathered_forget(); two scans of one generation's are one here.
 * Globs are those of profile/filter.h. 0 or a negative errno, on which nothing is returned. One thread.
 */
#ifndef SP_STORE_QUERY_GATHER_H
#define SP_STORE_QUERY_GATHER_H

#include "store/files/scan.h"
#include "store/query/plan.h"

struct sp_gathered_run { /* rows of one `who`, by rising node */
	uint32_t who, first;
};
struct sp_gathered_window {
	uint32_t dict, slice; /* index; from 1, 0 = no slices asked for */
	uint32_t n_rows, n_runs, n_values;
	struct sp_gathered_run *runs;
	uint32_t *nodes;
	uint32_t *small; /* value 0; or NULL, and large it is */
	int64_t *large;
	int64_t multiple[SP_MAX_VALUES]; /* of value 0; where columns[] is NULL */
	int64_t *columns[SP_MAX_VALUES];
	uint32_t type[SP_MAX_VALUES]; /* which of the gathered types each value is */
};
struct sp_narrowed {
	uint32_t *ends,
	    n_ends; /* the nodes that rows end at, by rising number, behind the root: so rows name them then */
};
struct sp_gathered_type {
	char *name, *unit;
};
struct sp_gathered {
	const struct sp_dict **dicts;
	size_t n_dicts, dict_capacity;
	struct sp_narrowed *narrowed; /* by dictionary, while they are narrowed */
	struct sp_scan **scans;
	size_t n_scans, scan_capacity;
	struct sp_gathered_window *windows;
	size_t n_windows, window_capacity;
	size_t first; /* of the windows whose rows name what is in the dictionaries at hand */
	struct sp_gathered_type types[SP_MAX_VALUES];
	uint32_t n_types;
	bool by_group;
	enum sp_store_who who; /* NOTHING: `who` is always group 0; THREAD: it is a string */
	uint64_t n_rows, n_damaged, first_ns, slice_ns;
};

/* Before the first call: what all of the plan's windows have in common. */
void sp_gather_begin(struct sp_gathered *g, const struct sp_store_query *q, const struct sp_plan *plan);
/*
 * From the plan's window *at on, which is moved behind what was gathered: to its end, or as many dictionaries as fit a
 * bound. Their rows have to be dealt with then, and the dictionaries given back: sp_gathered_forget().
 */
int sp_gather(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
	      size_t *at);
/*
 * Makes the dictionaries small: of their nodes only those stay that the rows gathered last have in their paths, and
 * rows name their node by its place among those that any row ends at, which are fewer still.
 */
int sp_gathered_narrow(struct sp_gathered *g);
void sp_gathered_forget(struct sp_gathered *g);
void sp_gathered_done(struct sp_gathered *g);

/* Of pruned trees, which are not narrowed, any node may be an end. */
static inline uint32_t sp_n_ends(const struct sp_gathered *g, uint32_t dict)
{
	return g->narrowed[dict].ends != NULL ? g->narrowed[dict].n_ends : g->dicts[dict]->n_nodes;
}
static inline uint32_t sp_end_node(const struct sp_gathered *g, uint32_t dict, uint32_t end)
{
	return g->narrowed[dict].ends != NULL ? g->narrowed[dict].ends[end] : end;
}
void sp_narrowed_free(struct sp_narrowed *n, size_t n_dicts);

static inline int64_t sp_kept_first(const struct sp_gathered_window *w, uint32_t row)
{
	return w->small != NULL ? (int64_t)w->small[row] : w->large[row];
}
/* Value number k of the row; saturates. */
static inline int64_t sp_kept_value(const struct sp_gathered_window *w, uint32_t k, uint32_t row)
{
	int64_t first = sp_kept_first(w, row), v;

	if (k == 0)
		return first;
	if (w->columns[k] != NULL)
		return w->columns[k][row];
	return __builtin_mul_overflow(first, w->multiple[k], &v)
		   ? (first < 0) == (w->multiple[k] < 0) ? INT64_MAX : INT64_MIN
		   : v;
}

#endif
