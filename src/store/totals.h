/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h: exact sums of a range of time by library and function, and charts of them over time.
 *
 * They come from what stands beside windows, days and hours, else from rows, and are of the windows that any question
 * about the range is about (store.h); of everybody's processes, whoever asks. A chart is the caller's; what each() is
 * given lives until it returns. 0, a negative errno with sp_error_text(), or what each() returned. One thread.
 */
#ifndef SP_STORE_TOTALS_H
#define SP_STORE_TOTALS_H

#include "store/store.h"

/* Exact totals by library or function, each part of the range apart: of a window, of a day, or of the windows that have
 * none beside them. Whole machine only. */
struct sp_store_total {
	uint64_t wall_ns;     /* when the part begins */
	const char *file;     /* name of the library */
	const char *function; /* "" = the library as a whole */
	const uint8_t *build_id;
	uint32_t build_id_len;
	int64_t self[8], total[8]; /* by value type */
	uint32_t n_values;
	const char *value_names[8], *value_units[8];
};
/* q: the range, its ends, the source and the resolution are looked at. by_function: beside libraries. */
int sp_store_totals(struct sp_store *s, const struct sp_store_query *q, bool by_function,
		    int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		    struct sp_store_answer *ret_answer);

/* Sums by library of equally long slices of time, of one value: for a stacked chart. Whole machine only. */
struct sp_store_chart_library {
	const char *name;
	const uint8_t *build_id;
	uint32_t build_id_len;
	int64_t self, total; /* of all slices */
};
struct sp_store_chart {
	uint64_t from_ns, slice_ns; /* the first slice begins at or before the range, at a multiple of the length */
	uint32_t n_slices, n_libraries;
	uint64_t *covered_ns;                     /* by slice: sampled; 0: a gap */
	struct sp_store_chart_library *libraries; /* by falling self */
	int64_t *self, *total;                    /* [slice * n_libraries + library] */
	char value[64], unit[64];                 /* "" = there is nothing */
};
/* q: as of totals. value: its name, NULL = the first; slice_ns: a multiple of a minute. Slices have what begins in
 * them. Free it: sp_store_chart_free(). */
int sp_store_chart(struct sp_store *s, const struct sp_store_query *q, const char *value, uint64_t slice_ns,
		   struct sp_store_chart **ret_chart, struct sp_store_answer *ret_answer);
void sp_store_chart_free(struct sp_store_chart *c);

#endif
