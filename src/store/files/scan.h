/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h: iterates over the windows of a store in the order of time, as arrays. All queries are built on it.
 *
 * The numbers in a window's rows belong to the dictionary of its generation (format/dict_items.h). Everything returned
 * belongs to the scan and is valid until sp_scan_close(); rows only until the next window. The arrays of a dictionary
 * may move with the next window; numbers do not change. Here a window on disk is given up: one whose record is damaged,
 * and that cannot be salvaged, is left out and counted (handle_damage() in scan.c). Errors: negative errno with
 * sp_error_text(). A scan opens files of its own: a forked child may use one, if its store is read-only.
 */
#ifndef SP_STORE_FILES_SCAN_H
#define SP_STORE_FILES_SCAN_H

#include "store/format/dict_items.h"
#include "store/store.h"

struct sp_scan_value {
	const char *name, *unit;
};
struct sp_scan_window {
	struct sp_store_window w; /* of a roll-up: beginning of its first window; sums of durations and losses */
	uint64_t end_ns;          /* of its last window, wall clock */
	int resolution;
	uint64_t t_ms, generation, day_s; /* its place; of a day: its beginning, generation 0 */
	uint32_t source;                  /* id in this day */
	struct sp_dict *dict;
	uint32_t n_values;
	struct sp_scan_value types[SP_MAX_VALUES];
	uint32_t n_rows;     /* sorted by who and node; each pair once */
	const uint32_t *who; /* 10s: key; 1m, 1h: group */
	const uint32_t *node;
	const int64_t *values[SP_MAX_VALUES];
};

struct sp_scan;
struct sp_scan_options {
	uint64_t from_ns, to_ns; /* windows that begin in it, to_ns excluded; all: 0, UINT64_MAX */
	const char *source;      /* NULL = all */
	int resolution;
	bool no_rows; /* no rows and no dictionary: only the other fields of sp_scan_window */
	/* Where windows are to be missed: 0 = from from_ns, to to_ns. What is read beside it may be long, and a file
	 * that lacks a window is looked through whole. */
	uint64_t missed_from_ns, missed_to_ns;
	/* Return pruned trees in place of the rows of hours that have one; each has a dictionary of its own (is_tree).
	 * With resolution SP_N_RESOLUTIONS: the trees of days that include all of the day's hours. */
	bool trees;
	bool skip_keys;   /* leave keys out of dictionaries */
	bool lazy;        /* dictionaries are lazy (dict.h): sp_dict_narrow() finds the frames ... */
	uint64_t last_ns; /* ... and the last window begins here: dictionaries are read up to it at once */
	/* With `lazy`: of dictionaries only the nodes are read, and sp_dict_pick_load() reads of the rest what is
	 * needed (format/dict_pick.h). One that is not intact is a lazy one. sp_scan_next() fails with -ESTALE if one
	 * grows while it is read. */
	bool nodes_first;
	/* Another scan, whose dictionaries are used and extended. It must be closed later than this one, have the same
	 * `lazy`, and both have skip_keys. NULL: none. */
	struct sp_scan *share_dicts;
	/* Called before dictionary and rows of a window are read. NULL: all are wanted. */
	bool (*is_wanted)(const void *arg, const struct sp_scan_window *w);
	const void *arg;
};
int sp_scan_open(struct sp_store *s, const struct sp_scan_options *o, struct sp_scan **ret_scan);
/*
 * 1: a window; 0: the end. A file that SQLite refuses, or that fails its integrity check after a damaged row or a gap,
 * is salvaged once, and read on. A row whose head or rows fail their CRC is counted and skipped. A missing chunk costs
 * the stacks that need it, not the window.
 */
int sp_scan_next(struct sp_scan *scan, struct sp_scan_window *ret_window);
uint64_t sp_scan_n_damaged(const struct sp_scan *scan); /* windows skipped */
/* Keys of the files that were read only as far as they could be salvaged; each once. */
const uint64_t *sp_scan_salvaged(const struct sp_scan *scan, size_t *ret_n);
void sp_scan_close(struct sp_scan *scan);

/* Exact totals (sums.h), stored with windows of 1m (by library), 1h and days (by function, too). */
struct sp_sums;
struct sp_scan_totals {
	struct sp_scan_window window; /* without rows; a day: all of its windows */
	const struct sp_dict *dict;   /* has only strings, files and functions */
	const struct sp_sums *sums;
};
/* resolution: SP_RES_1M, SP_RES_1H, or SP_N_RESOLUTIONS for days. Stops when each() does not return 0, and returns
 * that. */
int sp_scan_totals(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_totals *t), void *arg);

/* The charts of the hours of a range, whatever the resolution in o; each() as in sp_scan_totals(). */
struct sp_chart_read;
int sp_scan_charts(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c), void *arg);

#endif
