/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sums.h: exact totals of a window by library and by function, and of a day by name.
 *
 * Self is what ends in a library or function; total what passes through it, once for each sample however often it does.
 * A record has columns: files, functions (0 = the library as a whole), and of each value self and total, both with a
 * sign, or, where all of a value's are the same multiple of the first value's, only that factor. Those of a window use
 * the numbers of its generation's dictionary; a day's record begins with a dictionary of its own (a chunk without
 * nodes), so that it is read alone. Functions of one name in one file count as one only for who adds them up.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUMS_H
#define SP_STORE_FORMAT_SUMS_H

#include "store/format/dict.h"
#include "store/format/id_map.h"
#include "store/format/rows.h"
#include "store/format/subtree_sums.h"

/* Whose sums they are: a file's as a whole (func 0), or a function's. */
struct sp_account {
	uint32_t file, func;
};
struct sp_sums {
	struct sp_account *accounts;
	int64_t *values; /* of each account self and total of each value */
	size_t n, capacity, value_capacity;
	uint32_t n_values; /* set before the first is added */
};
void sp_sums_done(struct sp_sums *s);
/* Self of value v is [2 * v], its total [2 * v + 1]. */
static inline int64_t *sp_sums_at(const struct sp_sums *s, size_t i)
{
	return s->values + i * 2 * s->n_values;
}
/* With sums of 0, which it returns; NULL: -ENOMEM. */
int64_t *sp_sums_add(struct sp_sums *s, uint32_t file, uint32_t func);

enum { SP_SUMS_LIBRARIES = 1, SP_SUMS_FUNCTIONS = 2 };
/* Of rows, sorted or not, behind what s has (also when it fails): s belongs to the caller. */
int sp_sums_make(const struct sp_window_rows *rows, const struct sp_dict_view *shape, int what, struct sp_sums *s);
/* The same in steps, between which the shape may grow and move, and with the call tree's nodes, for who goes on with
 * them: they have the first value's sums. sp_sums_steps_free() in any case. */
struct sp_sums_steps;
int sp_sums_steps_new(const struct sp_window_rows *rows, const struct sp_dict_view *shape, int what,
		      struct sp_sums_steps **ret_summing);
/* So many rows or nodes more. 1: there are others left; 0: all is done. */
int sp_sums_steps_run(struct sp_sums_steps *sum, const struct sp_window_rows *rows, const struct sp_dict_view *shape,
		      uint32_t n);
int sp_sums_steps_end(struct sp_sums_steps *sum, const uint32_t *file_of, struct sp_sums *s);
struct sp_subtree_sums *sp_sums_steps_subtree(struct sp_sums_steps *sum);
void sp_sums_steps_free(struct sp_sums_steps *sum);
/* Those of libraries, from accounts: self and total of each value, by file. Behind what s has. */
int sp_sums_of_libraries(const int64_t *accounts, uint32_t n_files, uint32_t n_values, struct sp_sums *s);
void sp_sums_pack(const struct sp_sums *s, struct sp_packer *p);
int sp_sums_unpack(struct sp_sums *s, struct sp_unpacker *u);

/* A day's: sums whose names come from several dictionaries. */
struct sp_day_totals {
	struct sp_chunk chunk;
	struct sp_id_map seen[SP_FRAMES]; /* strings, files, functions ... */
	struct sp_id_map places;          /* ... and file and function of a total */
	uint32_t n[SP_N_DICT_KINDS];
	struct sp_sums sums;
};
int sp_day_totals_init(struct sp_day_totals *d, uint32_t n_values);
void sp_day_totals_done(struct sp_day_totals *d);
int sp_day_totals_add(struct sp_day_totals *d, const struct sp_dict *dict, const struct sp_sums *s);

#endif
