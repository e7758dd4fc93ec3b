/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overview.h: what is stored with an hour and a day for long ranges: a pruned tree and, with an hour, a chart.
 *
 * Written within the transaction that writes the window or the day. Errors: -ENOMEM, those of the file. Not thread-
 * safe.
 */
#ifndef SP_STORE_ROLLUP_OVERVIEW_H
#define SP_STORE_ROLLUP_OVERVIEW_H

#include "store/format/pruned_tree.h"
#include "store/priv.h"

struct sp_overview {                   /* of an hour */
	struct sp_day_file *from, *to; /* the file of its minutes; that of hours, which has the hour's chunks already */
	uint64_t source, generation, begin_ms, end_ms, t_ms, last_chunk;
	uint32_t n_values;
	const struct sp_pruned_tree *pruned;
};
int sp_writer_write_overview(struct sp_store *s, const struct sp_overview *o);

/* The tree of a day, in two steps: read what it has and the hours since; prune and write. -ENODATA: hours of an older
 * version have no tree. Zero-initialized. */
struct sp_day_tree {
	struct sp_tree_merge merge;
	uint64_t before_ms, up_to_ms; /* before: last hour in it when it was read */
	size_t n;                     /* number of trees in it */
};
int sp_day_tree_read(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t);
int sp_day_tree_write(struct sp_store *s, struct sp_day_file *f, uint64_t source, struct sp_day_tree *t,
		      uint64_t up_to_ms);
void sp_day_tree_done(struct sp_day_tree *t);

#endif
