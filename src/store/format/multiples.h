/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * multiples.h: values of rows that are the same multiple of the first value in every row, so that sums need not be made
 * of them: they are the first one's, times the factor.
 *
 * That is so only where no sum of any of the rows can go beyond 64 bits, which is looked at, too: where one could, or
 * where a value is no multiple, it has sums of its own, which stay at the end of the range (base/sum.h).
 * Threads: no state. Errors: -ENOMEM.
 */
#ifndef SP_STORE_FORMAT_MULTIPLES_H
#define SP_STORE_FORMAT_MULTIPLES_H

#include "store/format/rows.h"

struct sp_multiples {
	uint32_t n_values, n_own;   /* own: those that sums are made of */
	uint32_t of[SP_MAX_VALUES]; /* by value: which of the own ones it is, or is a multiple of ... */
	int64_t factor[SP_MAX_VALUES];
};
/* All are their own. */
struct sp_multiples sp_multiples_none(uint32_t n_values);
struct sp_multiples sp_multiples_of(const struct sp_window_rows *rows);
/* The rows with their own values only: it has no memory of its own. */
struct sp_window_rows sp_multiples_own(const struct sp_multiples *m, const struct sp_window_rows *rows);
/* Rows of own values get all of them. */
int sp_multiples_expand(const struct sp_multiples *m, struct sp_window_rows *rows);

#endif
