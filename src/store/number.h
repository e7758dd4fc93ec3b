/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * number.h: what the rows of profiles name, as numbers of a generation's dictionary.
 *
 * Of what has been written only hashes are kept (seen.h), and of the call tree parent and frame of each node. What is
 * new waits in `pending` until a window was committed with it, also when a commit fails. Numbers of the profile that
 * was added last are remembered: a stack costs its frames only once, as long as the same profile comes again with rows
 * cleared. Frames and files that were named since are seen, and what they occur in is numbered anew.
 * Addresses are not kept: those of the kernel and of memory without a file mean nothing later; a frame of a file that
 * has a function is that function. Labels of keys, time slices and lines of calls are not kept.
 * Owns its memory. Errors: -ENOMEM, after which it goes on as it was. Not thread-safe.
 */
#ifndef SP_STORE_NUMBER_H
#define SP_STORE_NUMBER_H

#include "store/chunk.h"
#include "store/seen.h"

/* What totals are summed by: of a frame. */
struct sp_place {
	uint32_t func, library; /* library: a file, the kernel's own for modules */
};
/* Of a frame that is none (a mark). */
#define SP_NO_LIBRARY UINT32_MAX
struct sp_node {
	uint32_t parent, frame;
};
/* A call tree and who its rows are of: all that rolling up asks for. */
struct sp_shape {
	const struct sp_node *nodes;
	const struct sp_place *places; /* by frame */
	const uint32_t *group_of;      /* by key */
	const uint32_t *file_of;       /* by function */
	uint32_t n_nodes, n_frames, n_keys, n_groups, n_files, n_funcs;
};
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

struct sp_numbering;
int sp_numbering_new(struct sp_numbering **ret_numbering);
void sp_numbering_free(struct sp_numbering *n);
/* The profile's rows, by key and node, sorted. */
int sp_numbering_rows(struct sp_numbering *n, const struct sp_profile *p, struct sp_window_rows *ret_rows);
/* After that, of the same rows: adds what each library has itself, and what passes through it, to int64_t accounts: 2
 * of each value by library. */
int sp_numbering_sum(struct sp_numbering *n, const struct sp_profile *p, struct sp_items *accounts);
struct sp_chunk *sp_numbering_pending(struct sp_numbering *n);
/* What is pending was written. */
void sp_numbering_written(struct sp_numbering *n);
struct sp_shape sp_numbering_shape(const struct sp_numbering *n);
/* How many there are, pending ones included. */
const uint32_t *sp_numbering_counts(const struct sp_numbering *n);
/* No more nodes have room: it is time for another generation. */
bool sp_numbering_is_full(const struct sp_numbering *n);
size_t sp_numbering_memory(const struct sp_numbering *n);

#endif
