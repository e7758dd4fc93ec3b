/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chart.h: sums by library for each five minutes of an hour, as one record. Charts of a day or a week are made of
 * these.
 *
 * Record: a chunk's columns (names of its own: strings and files); for each slice its beginning (ms since 1970), the
 * time sampled in it (ns) and its number of sums; then the sums of all slices, as in sums.h, slice by slice. The
 * writer adds up the totals stored with an hour's minutes.
 * Both structs own their memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_CHART_H
#define SP_STORE_FORMAT_CHART_H

#include "store/format/sums.h"

enum { SP_CHART_SLICE_S = 300, SP_CHART_MAX_SLICES = 64, SP_CHART_MAX_FILES = 1 << 20 };

struct sp_chart_slice {
	uint64_t begin_ms, duration_ns, n_sums;
};
struct sp_chart_writer {
	struct sp_chart_slice slices[SP_CHART_MAX_SLICES];
	uint32_t n_slices;
	struct sp_sums sums;    /* of the finished slices, one after the other */
	struct sp_sums slice;   /* of the slice being filled */
	uint32_t *slot_of_file; /* by file: 1 + its place in `slice`; 0: not there */
	size_t slot_capacity;
};
int sp_chart_writer_init(struct sp_chart_writer *c, uint32_t n_values);
void sp_chart_writer_done(struct sp_chart_writer *c);
/* Adds the totals of a minute. Minutes come in order of time; all use the file numbers of one dictionary. */
int sp_chart_writer_add(struct sp_chart_writer *c, uint64_t t_ms, uint64_t duration_ns, const struct sp_sums *s);
/* Appends the columns to a record that was begun. names: the dictionary of those file numbers. */
int sp_chart_writer_pack(struct sp_chart_writer *c, const struct sp_dict *names, struct sp_packer *p);

/* Reads a record. sp_chart_read_done() also after an error. */
struct sp_chart_read {
	struct sp_dict_arrays *dict;
	struct sp_chart_slice slices[SP_CHART_MAX_SLICES];
	uint32_t n_slices;
	struct sp_sums sums;
};
int sp_chart_unpack(struct sp_unpacker *u, uint64_t day_s, struct sp_chart_read *ret_chart);
void sp_chart_read_done(struct sp_chart_read *c);

#endif
