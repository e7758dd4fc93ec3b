/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.h: the rows of a window by numbers of a dictionary: (who, node of the call tree) and values; and the arrays that
 * say what these numbers belong to, which is all that steps and rolling up need of a dictionary.
 *
 * Who is a key in windows of 10 s, a group in coarser ones. Rows own their memory; a view borrows it from who makes it
 * (write/dict_builder.h, rollup/decoded_dict.h), and holds until the next window is added there. Errors: -ENOMEM. Not
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
int sp_window_rows_room(struct sp_window_rows *r, size_t n);
/* Sorted by who, node; equal pairs made one. */
int sp_window_rows_sort(struct sp_window_rows *r);
void sp_window_rows_done(struct sp_window_rows *r);
/* Is this value the same multiple of the first one, in all rows? */
bool sp_window_rows_factor(const struct sp_window_rows *r, uint32_t value, int64_t *ret_factor);

/* Rows of small numbers, in a third of the room. */
struct sp_packed_rows {
	uint64_t *words;
	size_t n, capacity;
	uint32_t n_values;
	int64_t factors[SP_MAX_VALUES];
};
/* Adds rows, of whom who_of says (NULL: as they are); -ERANGE: they do not fit, or are not like those before. */
int sp_packed_rows_add(struct sp_packed_rows *p, const struct sp_window_rows *r, const uint32_t *who_of);
/* In place of what ret_rows has: sorted by who, node; equal pairs made one. What they are taken from is in no order. */
int sp_packed_rows_take(struct sp_packed_rows *p, struct sp_window_rows *ret_rows);
void sp_packed_rows_done(struct sp_packed_rows *p);

/* What totals are summed by: of a frame. */
struct sp_frame_owner {
	uint32_t func, library; /* library: a file, the kernel's own for modules */
};
/* Of a frame that is none (a mark). */
#define SP_NO_LIBRARY UINT32_MAX
struct sp_node {
	uint32_t parent, frame;
};
/* A call tree and who its rows are of: all that rolling up asks for. */
struct sp_dict_view {
	const struct sp_node *nodes;
	const struct sp_frame_owner *places; /* by frame */
	const uint32_t *group_of;            /* by key */
	const uint32_t *file_of;             /* by function */
	uint32_t n_nodes, n_frames, n_keys, n_groups, n_files, n_funcs;
};

#endif
