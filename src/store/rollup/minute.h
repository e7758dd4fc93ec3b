/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * minute.h: totals of minutes and hours from sums that exist already, without walking the call tree.
 *
 * The totals by library of a minute are added up while its windows are written (sp_minute_add()); those of an hour are
 * the sums of its minutes' totals in the file. Both equal what sp_sums_of_rows() computes. If a window is missing from
 * them (after a restart or damage), -ENODATA: the caller walks the tree.
 * Owns its memory. Errors: -ENOMEM, -ENODATA, those of files. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_MINUTE_H
#define SP_STORE_ROLLUP_MINUTE_H

#include "store/files/file.h"
#include "store/format/sums.h"
#include "store/format/window.h"
#include "store/write/dict_builder.h"

/* A minute of the generation being written. */
struct sp_minute {
	uint64_t begin_ms;
	size_t n_windows;
	uint32_t n_values;
	struct sp_items accounts; /* int64_t: as sp_dict_builder_sum_libraries() has them */
	/* Rows of the first n_with_rows windows, to save reading them. Used only if these are all. */
	size_t n_with_rows;
	uint64_t sum_ms; /* sum of their t */
	struct sp_head head;
	struct sp_packed_rows rows; /* by group */
};
/* Adds the totals of a window just written; n still has the rows of its profile. */
int sp_minute_add(struct sp_minute *m, uint64_t t_ms, struct sp_dict_builder *n, const struct sp_profile *p);
/* Then adds its rows. t_ms: its place. -ENODATA: earlier rows are missing; -ERANGE, -ENOMEM: these do not fit; all
 * rows are dropped then. */
int sp_minute_add_rows(struct sp_minute *m, uint64_t t_ms, const struct sp_head *h, const struct sp_window_rows *rows,
		       const uint32_t *group_of);
/* Returns head and rows, if the file has exactly these windows: their number and the sum of their t. */
int sp_minute_rows(struct sp_minute *m, size_t n_windows, uint64_t sum_ms, struct sp_head *ret_head,
		   struct sp_window_rows *ret_rows);
/* Drops the rows, not the totals. */
void sp_minute_drop_rows(struct sp_minute *m);
void sp_minute_reset(struct sp_minute *m);
void sp_minute_done(struct sp_minute *m);
/* n_windows: number of the minute's windows in the file. */
int sp_minute_sums(const struct sp_minute *m, uint64_t begin_ms, size_t n_windows, struct sp_sums *s);

/* The minutes of an hour, in their file. */
struct sp_minutes {
	struct sp_day_file *file;
	uint64_t source, generation, begin_ms, end_ms;
	size_t n_windows; /* number of minutes there must be */
	uint32_t n_values, n_files;
};
int sp_minutes_sums(const struct sp_minutes *m, struct sp_sums *s);

#endif
