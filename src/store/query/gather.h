/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather.h: collects the rows for a query from all windows of its plan, in compact form.
 *
 * Rows are (who, node) and values, as in scan.h. Rows of processes, users and cgroups that are not asked for are
 * dropped. `who` is a key if all windows are of 10 s, else a group. Values of 32 bits take 4 bytes; a value that is
 * the same multiple of the first one throughout a window (CPU time) takes none. Dictionaries stay open with their
 * scans until sp_gathered_release(); if two scans read the same generation, the larger dictionary is used for both.
 * Globs: profile/filter.h. 0 or a negative errno. sp_gathered_done(), also after an error. One thread.
 */
#ifndef SP_STORE_QUERY_GATHER_H
#define SP_STORE_QUERY_GATHER_H

#include "store/files/scan.h"
#include "store/query/plan.h"
#include "store/stored.h"

struct sp_gathered_run { /* rows of one `who`, sorted by node */
	uint32_t who, first;
};
struct sp_gathered_window {
	uint32_t dict, slice; /* dict: an index; slice: from 1, 0 = no slices */
	uint32_t n_rows, n_runs, n_values;
	struct sp_gathered_run *runs;
	uint32_t *nodes;
	uint32_t *small; /* first value; NULL: it is in `large` */
	int64_t *large;
	int64_t multiple[SP_MAX_VALUES]; /* factor of the first value, if columns[] is NULL */
	int64_t *columns[SP_MAX_VALUES];
	uint32_t type[SP_MAX_VALUES]; /* by value: index in the gathered types */
};
struct sp_narrowed {
	uint32_t *ends, n_ends; /* nodes with rows, sorted, after the root. Rows then have an index in this array (an
				   "end") for node */
};
struct sp_gathered {
	const struct sp_dict **dicts;
	size_t n_dicts, dict_capacity;
	struct sp_narrowed *narrowed; /* by dictionary; NULL: not narrowed */
	struct sp_scan **scans;
	size_t n_scans, scan_capacity;
	struct sp_gathered_window *windows;
	size_t n_windows, window_capacity;
	size_t first; /* of the windows that use the open dictionaries */
	struct sp_stored_type types[SP_MAX_VALUES];
	uint32_t n_types;
	bool by_group;
	bool nodes_first;      /* dictionaries are read in two goes, if they are intact */
	bool types_of_all;     /* types of windows without rows, or with damaged ones, too */
	bool one_dict;         /* no two dictionaries are open at once */
	enum sp_store_who who; /* NOTHING: `who` is 0; THREAD: a string */
	uint64_t n_rows, first_ns, slice_ns;
	uint64_t n_damaged, n_incomplete; /* as in struct sp_store_answer */
	uint64_t *salvaged; /* files of all scans (sp_scan_salvaged()), each once: parts may be of the same file */
	size_t n_salvaged, salvaged_capacity;
};

/* Call it first: sets what is common to all windows of the plan. */
void sp_gather_begin(struct sp_gathered *g, const struct sp_store_query *q, const struct sp_plan *plan);
/*
 * Gathers windows from *at on, until the end of the plan or until the open dictionaries reach their limit, and advances
 * *at. Process these rows, then call sp_gathered_release(), before the next call.
 */
int sp_gather(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q, const struct sp_plan *plan,
	      size_t *at);
/*
 * Reduces the dictionaries to the nodes in paths of the rows gathered last. Rows get indices of ends in place of nodes.
 * -ESTALE, as from sp_gather(): only with nodes_first; after sp_gathered_release() it can be done without.
 */
int sp_gathered_narrow(struct sp_gathered *g, struct sp_store *s);
/*
 * Both, with dictionaries of which nodes are read first, for names are more than nodes, and rows need few of them: that
 * takes half of the memory. If files are not then as they were, all is read once more, at once.
 */
int sp_gather_narrowed(struct sp_gathered *g, struct sp_store *s, const struct sp_store_query *q,
		       const struct sp_plan *plan, size_t *at);
/* Gives the rows gathered last, after sp_gathered_narrow(); dictionaries are numbered from n_dicts_before + 1. */
int sp_gathered_visit(const struct sp_gathered *g, uint64_t n_dicts_before, const struct sp_stored_reader *reader);
void sp_gathered_release(struct sp_gathered *g);
void sp_gathered_done(struct sp_gathered *g);

/* In pruned trees, which are not narrowed, an end is a node. */
static inline uint32_t sp_gathered_n_ends(const struct sp_gathered *g, uint32_t dict)
{
	return g->narrowed[dict].ends ? g->narrowed[dict].n_ends : g->dicts[dict]->n_nodes;
}
static inline uint32_t sp_gathered_end_node(const struct sp_gathered *g, uint32_t dict, uint32_t end)
{
	return g->narrowed[dict].ends ? g->narrowed[dict].ends[end] : end;
}
void sp_narrowed_free(struct sp_narrowed *n, size_t n_dicts);

static inline int64_t sp_gathered_first_value(const struct sp_gathered_window *w, uint32_t row)
{
	return w->small ? (int64_t)w->small[row] : w->large[row];
}
/* Value k of the row, with saturation. */
static inline int64_t sp_gathered_value(const struct sp_gathered_window *w, uint32_t k, uint32_t row)
{
	int64_t first = sp_gathered_first_value(w, row), v;

	if (k == 0)
		return first;
	if (w->columns[k])
		return w->columns[k][row];
	return __builtin_mul_overflow(first, w->multiple[k], &v)
		   ? (first < 0) == (w->multiple[k] < 0) ? INT64_MAX : INT64_MIN
		   : v;
}

#endif
