/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overview.h: what stands beside an hour's window, and beside a day, for those who look at days and weeks: a pruned
 * tree, and a chart.
 *
 * Written within the transaction of who writes the window or the day. Errors: -ENOMEM, those of the file. Not
 * thread-safe.
 */
#ifndef SP_STORE_ROLLUP_OVERVIEW_H
#define SP_STORE_ROLLUP_OVERVIEW_H

#include "store/format/pruned_tree.h"
#include "store/priv.h"

struct sp_overview {                   /* of an hour */
	struct sp_day_file *from, *to; /* that of its minutes, and its own, which has its chunks by now */
	uint64_t source, generation, begin_ms, end_ms, t_ms, last_chunk;
	uint32_t n_values;
	const struct sp_pruned_tree *pruned;
};
int sp_writer_put_overview(struct sp_store *s, const struct sp_overview *o);

/* The day's tree, in two steps: what it has so far, and the hours since; then it is pruned and written. -ENODATA: there
 * are hours without one, of an older version, and the day has none, either. Begins zeroed. */
struct sp_day_tree {
	struct sp_tree_merge merge;
	uint64_t before_ms, up_to_ms; /* before: up to when it was when it was read */
	size_t n;                     /* trees that are in it */
};
int sp_day_tree_read(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t);
int sp_day_tree_put(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t,
		    uint64_t up_to_ms);
void sp_day_tree_done(struct sp_day_tree *t);

#endif
