/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h: exact sums of a range of time by library and function, and charts of them over time.
 *
 * They come from the sums stored with windows, days and hours, else from rows, and cover the same windows as any query
 * about the range (store.h), of all processes and users. A chart belongs to the caller; what each() gets is valid
 * until it returns. 0, a negative errno with sp_error_text(), or what each() returned. One thread.
 */
#ifndef SP_STORE_TOTALS_H
#define SP_STORE_TOTALS_H

#include "profile/profile.h"
#include "store/store.h"

/* The total of a library or function in a part of the range: a window, a day, or all windows without stored sums. */
struct sp_store_total {
	uint64_t wall_ns;     /* beginning of the part */
	const char *file;     /* name of the library */
	const char *function; /* "" = the library as a whole */
	const uint8_t *build_id;
	uint32_t build_id_len;
	int64_t self[SP_MAX_VALUES], total[SP_MAX_VALUES]; /* by value type */
	uint32_t n_values;
	const char *value_names[SP_MAX_VALUES], *value_units[SP_MAX_VALUES];
};
/* Uses q's range, ends_stay, source and resolution. by_function: sums by function, too. */
int sp_store_totals(struct sp_store *s, const struct sp_store_query *q, bool by_function,
		    int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		    struct sp_store_answer *ret_answer);

/* Sums of one value by library and slice of time, for a stacked chart. All processes and users. */
struct sp_store_chart_library {
	const char *name;
	const uint8_t *build_id;
	uint32_t build_id_len;
	int64_t self, total; /* of all slices */
};
struct sp_store_chart {
	uint64_t from_ns, slice_ns; /* the first slice contains the beginning of the range; a multiple of slice_ns */
	uint32_t n_slices, n_libraries;
	uint64_t *covered_ns;                     /* by slice: time sampled; 0: a gap */
	struct sp_store_chart_library *libraries; /* sorted by self, the largest first */
	int64_t *self, *total;                    /* [slice * n_libraries + library] */
	char value[64], unit[64];                 /* "" = no data */
};
/* q: as above. value: its name, NULL = the first; slice_ns: a multiple of a minute. Windows belong to the slice in
 * which they begin. Free it with sp_store_chart_free(). */
int sp_store_chart(struct sp_store *s, const struct sp_store_query *q, const char *value, uint64_t slice_ns,
		   struct sp_store_chart **ret_chart, struct sp_store_answer *ret_answer);
void sp_store_chart_free(struct sp_store_chart *c);

#endif
