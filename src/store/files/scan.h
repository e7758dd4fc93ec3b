/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h: the windows of a store as arrays, in the order of time: what questions are answered from.
 *
 * A window's rows name things by numbers of its generation's dictionary (format/dict_items.h).
 * Everything handed out belongs to the scan and lives until sp_scan_close(), rows only until the next window. Arrays of
 * a dictionary may move with the next window, as it grows; numbers stay. Errors: negative errno with sp_error_text().
 * A scan opens files of its own: it may be used in a forked child, where its store is only read.
 */
#ifndef SP_STORE_FILES_SCAN_H
#define SP_STORE_FILES_SCAN_H

#include "store/format/dict_items.h"
#include "store/store.h"

struct sp_scan_value {
	const char *name, *unit;
};
struct sp_scan_window {
	struct sp_store_window w; /* of a roll-up: the first one's beginning, the sum of durations and losses */
	uint64_t end_ns;          /* of the last one, wall clock */
	int resolution;
	uint64_t t_ms, generation, day_s; /* where it stands; a day: at its beginning, of no generation */
	uint32_t source;                  /* of this day's sources */
	struct sp_dict *dict;
	uint32_t n_values;
	struct sp_scan_value types[SP_MAX_VALUES];
	uint32_t n_rows;     /* sorted by who, node; each pair once */
	const uint32_t *who; /* 10s: key; 1m, 1h: group */
	const uint32_t *node;
	const int64_t *values[SP_MAX_VALUES];
};

struct sp_scan;
struct sp_scan_options {
	uint64_t from_ns, to_ns; /* windows that begin in it, to_ns not included; all of them: 0, UINT64_MAX */
	const char *source;      /* NULL = all */
	int resolution;
	bool no_rows; /* nor dictionary: only what is in sp_scan_window beside them */
	/* Of hours, rows of their pruned trees where they have some, each with a dictionary of its own (is_tree); of
	 * SP_N_RESOLUTIONS, those of days, as far as they have all that their hours do. */
	bool trees;
	bool no_keys;     /* in dictionaries */
	bool lazy;        /* a dictionary's frames by node are no such, but for sp_dict_narrow() (dict.h) ... */
	uint64_t last_ns; /* ... and the last window that is wanted begins then: dictionaries are read for it at once */
	/* Its dictionaries are used, and go on growing, as if they were this scan's: it is closed later, and alike in
	 * lazy. Both have no_keys: coarser files do without them. NULL: none. */
	struct sp_scan *beside;
	/* Whether this one is to be read, of which all is known but dictionary and rows. NULL: all are. */
	bool (*is_wanted)(const void *arg, const struct sp_scan_window *w);
	const void *arg;
};
int sp_scan_open(struct sp_store *s, const struct sp_scan_options *o, struct sp_scan **ret_scan);
/* 1: a window; 0: there are no more. What is damaged is counted and passed over. */
int sp_scan_next(struct sp_scan *scan, struct sp_scan_window *ret_window);
uint64_t sp_scan_n_damaged(const struct sp_scan *scan);
void sp_scan_close(struct sp_scan *scan);

/* Exact totals (sums.h), kept beside windows of 1m (libraries), 1h and days (functions, too). */
struct sp_sums;
struct sp_scan_totals {
	struct sp_scan_window window; /* without rows; a day: of all its windows */
	const struct sp_dict *dict;   /* has strings, files and functions only */
	const struct sp_sums *sums;
};
/* resolution: SP_RES_1M, SP_RES_1H, SP_N_RESOLUTIONS: days. Calls each() until it does not return 0, and returns that.
 */
int sp_scan_totals(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_totals *t), void *arg);

/* The charts beside hours of a range (o's resolution is not looked at); each() as in sp_scan_totals(). */
struct sp_chart_read;
int sp_scan_charts(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_window *w, const struct sp_chart_read *c), void *arg);

#endif
