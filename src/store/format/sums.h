/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sums.h: exact totals of a window by library and by function, and of a day.
 *
 * Self is what the leaf's library or function has; total is what passes through it, each sample counted once however
 * often the library is on its stack. Record: columns of files and functions (0: the library as a whole); then for each
 * value self and total (signed), or only a factor if all of its sums are the same multiple of the first value's. A
 * window's totals use the numbers of its generation's dictionary. A day's record begins with a dictionary of its own
 * (a chunk without nodes), and its functions of the same name and file are one.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_SUMS_H
#define SP_STORE_FORMAT_SUMS_H

#include "store/format/dict.h"
#include "store/format/id_map.h"
#include "store/format/rows.h"
#include "store/format/subtree_sums.h"

/* What a sum is of: a library (func 0) or a function. */
struct sp_account {
	uint32_t file, func;
};
struct sp_sums {
	struct sp_account *accounts;
	int64_t *values; /* by account, then by value: self, total */
	size_t n, capacity, value_capacity;
	uint32_t n_values; /* set it before the first account is added */
};
void sp_sums_done(struct sp_sums *s);
/* Self of value v is at [2 * v], its total at [2 * v + 1]. */
static inline int64_t *sp_sums_at(const struct sp_sums *s, size_t i)
{
	return s->values + i * 2 * s->n_values;
}
/* Appends an account with zero sums and returns them; NULL: -ENOMEM. */
int64_t *sp_sums_add(struct sp_sums *s, uint32_t file, uint32_t func);

enum { SP_SUMS_LIBRARIES = 1, SP_SUMS_FUNCTIONS = 2 };
/* Appends the sums of rows to s, which stays the caller's also after an error. what: SP_SUMS_*. */
int sp_sums_of_rows(const struct sp_window_rows *rows, const struct sp_dict_view *view, int what, struct sp_sums *s);
/* The same in steps. The view may grow and move in between. Always call sp_sums_steps_free(). */
struct sp_sums_steps;
int sp_sums_steps_new(const struct sp_window_rows *rows, const struct sp_dict_view *view, int what,
		      struct sp_sums_steps **ret_steps);
/* Processes about n rows or nodes. 1: call again; 0: done. */
int sp_sums_steps_run(struct sp_sums_steps *steps, const struct sp_window_rows *rows, const struct sp_dict_view *view,
		      uint32_t n);
int sp_sums_steps_end(struct sp_sums_steps *steps, const uint32_t *file_of, struct sp_sums *s);
/* The nodes, with the sums of the first value: valid once all steps are done. */
struct sp_subtree_sums *sp_sums_steps_subtree(struct sp_sums_steps *steps);
void sp_sums_steps_free(struct sp_sums_steps *steps);
/* Appends the non-zero library sums of an array: self and total of each value, by file. */
int sp_sums_of_libraries(const int64_t *accounts, uint32_t n_files, uint32_t n_values, struct sp_sums *s);
void sp_sums_pack(const struct sp_sums *s, struct sp_packer *p);
int sp_sums_unpack(struct sp_sums *s, struct sp_unpacker *u);

/* The totals of a day: sums whose names come from several dictionaries. */
struct sp_day_totals {
	struct sp_chunk chunk;
	struct sp_id_map ids[SP_FRAMES]; /* numbers of strings, files and functions */
	struct sp_id_map account_ids;    /* 1 + the account of (file, function) */
	uint32_t next[SP_N_DICT_KINDS];
	struct sp_sums sums;
};
int sp_day_totals_init(struct sp_day_totals *d, uint32_t n_values);
void sp_day_totals_done(struct sp_day_totals *d);
int sp_day_totals_add(struct sp_day_totals *d, const struct sp_dict *dict, const struct sp_sums *s);

#endif
