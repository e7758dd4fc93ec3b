/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * multiples.h: values that are the same multiple of another value in every row (CPU time is samples times the period).
 * Only the base values are summed; the others are multiplied at the end.
 *
 * A value counts as a multiple only if no sum of any rows can overflow 64 bits. Every other value is a base value and
 * is summed itself, with saturation (base/sum.h).
 * No state. Error: -ENOMEM.
 */
#ifndef SP_STORE_FORMAT_MULTIPLES_H
#define SP_STORE_FORMAT_MULTIPLES_H

#include "store/format/rows.h"

struct sp_multiples {
	uint32_t n_values, n_base;       /* base: those that are summed */
	uint32_t base_of[SP_MAX_VALUES]; /* by value: the base value it is, or is a multiple of ... */
	int64_t factor[SP_MAX_VALUES];
};
/* Treats all values as base values. */
struct sp_multiples sp_multiples_none(uint32_t n_values);
struct sp_multiples sp_multiples_of(const struct sp_window_rows *rows);
/* The rows with their base values only. Borrows the memory of `rows`. */
struct sp_window_rows sp_multiples_base_rows(const struct sp_multiples *m, const struct sp_window_rows *rows);
/* Computes the other values. rows: with base values only. */
int sp_multiples_expand(const struct sp_multiples *m, struct sp_window_rows *rows);

#endif
