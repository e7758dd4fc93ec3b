/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.h: the rows of a window: (who, node of the call tree) and values, by numbers of a dictionary. And sp_dict_view:
 * the arrays of a dictionary that sums and roll-ups read.
 *
 * Who is a key in windows of 10 s, a group in coarser ones. Rows own their memory. A view borrows its arrays from
 * write/dict_builder.h or rollup/decoded_dict.h and is valid until the next window is added there. Error: -ENOMEM. Not
 * thread-safe.
 */
#ifndef SP_STORE_FORMAT_ROWS_H
#define SP_STORE_FORMAT_ROWS_H

#include "store/format/dict_items.h"

struct sp_window_rows {
	uint32_t *who, *node;
	int64_t *values[SP_MAX_VALUES];
	uint32_t n, n_values;
	size_t capacity;
};
int sp_window_rows_reserve(struct sp_window_rows *r, size_t n);
/* Sorts by who and node; adds up equal pairs. */
int sp_window_rows_sort(struct sp_window_rows *r);
void sp_window_rows_done(struct sp_window_rows *r);
/* Is this value the same non-negative multiple of the first one in all rows? */
bool sp_window_rows_find_factor(const struct sp_window_rows *r, uint32_t value, int64_t *ret_factor);

/* Rows of small numbers, packed into 8 bytes each. */
struct sp_packed_rows {
	uint64_t *words;
	size_t n, capacity;
	uint32_t n_values;
	int64_t factors[SP_MAX_VALUES];
};
/* Appends rows. who_of: replaces who; NULL: as it is. -ERANGE: they do not fit, or other factors than before. */
int sp_packed_rows_add(struct sp_packed_rows *p, const struct sp_window_rows *r, const uint32_t *who_of);
/* Replaces ret_rows: sorted by who and node, equal pairs added up. Leaves p in no particular order. */
int sp_packed_rows_unpack(struct sp_packed_rows *p, struct sp_window_rows *ret_rows);
void sp_packed_rows_done(struct sp_packed_rows *p);

/* The function and the library that a frame is counted for. */
struct sp_frame_owner {
	uint32_t func, library; /* library: a file; all of the kernel, modules too, is one */
};
/* The library of a mark. */
#define SP_NO_LIBRARY UINT32_MAX
struct sp_node {
	uint32_t parent, frame;
};
/* A call tree, and the owners of its rows and frames. */
struct sp_dict_view {
	const struct sp_node *nodes;
	const struct sp_frame_owner *owners; /* by frame */
	const uint32_t *group_of;            /* by key */
	const uint32_t *file_of;             /* by function */
	uint32_t n_nodes, n_frames, n_keys, n_groups, n_files, n_funcs;
};

#endif
