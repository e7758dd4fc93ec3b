/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * minute.h: totals of minutes and hours from what was summed before, so that no call tree need be walked for them.
 *
 * A window's totals by library are those of its rows, added while its stacks are at hand (sp_minute_add); an hour's are
 * those of its minutes, which stand in the file. They are exactly what sp_sums_of_rows() finds in the rows. Where a
 * window is not among them (a restart, damage), the caller walks the tree instead: -ENODATA. Owns its memory. Errors:
 * -ENOMEM, -ENODATA, those of files. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_MINUTE_H
#define SP_STORE_ROLLUP_MINUTE_H

#include "store/files/file.h"
#include "store/format/sums.h"
#include "store/format/window.h"
#include "store/write/dict_builder.h"

/* Of the generation that is written. */
struct sp_minute {
	uint64_t begin_ms;
	size_t n_windows;
	uint32_t n_values;
	struct sp_items accounts; /* int64_t: as sp_dict_builder_sum() has them */
	/* Of the first n_kept windows, so that they need not be read again: all of them, or they are of no use. */
	size_t n_kept;
	uint64_t sum_ms; /* of when they stand */
	struct sp_head head;
	struct sp_packed_rows rows; /* by group */
};
/* A window that was written, of which the dict_builder still has the profile. */
int sp_minute_add(struct sp_minute *m, uint64_t t_ms, struct sp_dict_builder *n, const struct sp_profile *p);
/* Its rows, after that: it stands at t_ms. -ENODATA: those before were not kept; -ERANGE, -ENOMEM: nor is this one. */
int sp_minute_keep(struct sp_minute *m, uint64_t t_ms, const struct sp_head *h, const struct sp_window_rows *rows,
		   const uint32_t *group_of);
/* The rows of the minute and its head, if it is of so many windows in the file, whose times have this sum. */
int sp_minute_rows(struct sp_minute *m, size_t n_windows, uint64_t sum_ms, struct sp_head *ret_head,
		   struct sp_window_rows *ret_rows);
/* What was kept is not needed any more. */
void sp_minute_give_back(struct sp_minute *m);
void sp_minute_forget(struct sp_minute *m);
void sp_minute_done(struct sp_minute *m);
/* Of a minute that has so many windows in the file. */
int sp_minute_sums(const struct sp_minute *m, uint64_t begin_ms, size_t n_windows, struct sp_sums *s);

/* Those of the minutes in a file of minutes. */
struct sp_minutes {
	struct sp_day_file *file;
	uint64_t source, generation, begin_ms, end_ms;
	size_t n_windows; /* so many there must be */
	uint32_t n_values, n_files;
};
int sp_minutes_sums(const struct sp_minutes *m, struct sp_sums *s);

#endif
