/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intervals.h: for a reader that goes on through a store in time: how far it reaches, and several intervals read at
 * once, since each reading decodes the day's dictionary.
 *
 * Intervals end at multiples of their length, so the first and the last are shorter if the range begins or ends within
 * one. Each has the windows that sp_store_query() finds in it alone. 0 or a negative errno with sp_error_text(). Not
 * thread-safe.
 */
#ifndef SP_STORE_INTERVALS_H
#define SP_STORE_INTERVALS_H

#include "store/store.h"

/* As in struct sp_store_stats, but without counting windows, for which whole files are read. */
struct sp_store_span {
	uint64_t first_ns, last_ns, last_end_ns;
};
int sp_store_span(struct sp_store *s, struct sp_store_span *ret_span);

#define SP_STORE_INTERVALS_NS (UINT64_C(7200) * 1000000000)
struct sp_store_interval {
	uint64_t n_windows, covered_ns, n_lost;
};
static inline size_t sp_store_n_intervals(const struct sp_store_query *q, uint64_t length_ns)
{
	return (size_t)((q->to_ns - 1) / length_ns - q->from_ns / length_ns + 1);
}
/* All that a source has in a range: what is sent to others. */
static inline struct sp_store_query sp_store_query_of_all(const char *source, uint64_t from_ns, uint64_t to_ns)
{
	return (struct sp_store_query){.from_ns = from_ns,
				       .to_ns = to_ns,
				       .source = source,
				       .all_users = true,
				       .resolution = -1,
				       .exact = true,
				       .ends_stay = true,
				       .who = SP_WHO_WHOLE};
}
/*
 * As sp_store_query(); a key's slice is the interval, from 1. ret_intervals: room for sp_store_n_intervals().
 * -EINVAL: the range is longer than SP_STORE_INTERVALS_NS.
 */
int sp_store_intervals(struct sp_store *s, const struct sp_store_query *q, uint64_t length_ns, struct sp_profile *into,
		       struct sp_store_interval *ret_intervals, struct sp_store_answer *ret_answer);

#endif
