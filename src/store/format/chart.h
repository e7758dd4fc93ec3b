/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chart.h: sums by library of each five minutes of an hour, in one record: what a chart of a day or a week is made of.
 *
 * A record has a chunk's columns (its own names: strings and files), then of each slice when it begins (ms since
 * 1970), how much of it was sampled (ns) and how many sums it has, then these as totals have them (sums.h),
 * slice by slice. Made from the totals beside an hour's minutes: sp_charting_*; told again by sp_chart_unpack().
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_CHART_H
#define SP_STORE_FORMAT_CHART_H

#include "store/format/sums.h"

enum { SP_CHART_SLICE_S = 300, SP_CHART_MAX_SLICES = 64, SP_CHART_MAX_FILES = 1 << 20 };

struct sp_chart_slice {
	uint64_t begin_ms, duration_ns, n_sums; /* begin: since 1970 */
};
struct sp_chart_writer {
	struct sp_chart_slice slices[SP_CHART_MAX_SLICES];
	uint32_t n_slices;
	struct sp_sums sums;  /* of all slices, one after the other */
	struct sp_sums slice; /* the last one's, which is under way */
	uint32_t *at;         /* by file: 1 + where in the last slice's */
	size_t at_capacity;
};
int sp_chart_writer_init(struct sp_chart_writer *c, uint32_t n_values);
void sp_chart_writer_done(struct sp_chart_writer *c);
/* A minute's totals, in the order of time: of the files of one dictionary. */
int sp_chart_writer_add(struct sp_chart_writer *c, uint64_t t_ms, uint64_t duration_ns, const struct sp_sums *s);
/* Into a record that was begun. */
int sp_chart_writer_pack(struct sp_chart_writer *c, const struct sp_dict *names, struct sp_packer *p);

/* Back: the names are a dictionary (free it); the slices as they were. */
struct sp_chart_read {
	struct sp_dict_arrays *dict;
	struct sp_chart_slice slices[SP_CHART_MAX_SLICES];
	uint32_t n_slices;
	struct sp_sums sums;
};
int sp_chart_unpack(struct sp_unpacker *u, uint64_t day_s, struct sp_chart_read *ret_chart);
void sp_chart_read_done(struct sp_chart_read *c);

#endif
