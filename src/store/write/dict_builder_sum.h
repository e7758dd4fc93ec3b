/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder_sum.h: what each library has of a window's rows, added up as they are numbered, when the lists of their
 * stacks' libraries are at hand.
 *
 * Only the first value is added, as long as the others are the same multiples of it: sp_dict_builder_sum() multiplies
 * the sums, and comes to what adding each value would, at the ends of 64 bits, too. Else it goes through the rows
 * again. A row's two lists, the user's and the kernel's, together have each library once, and begin with the innermost.
 * Part of a dict_builder: threads, ownership and errors are as in number.h; what does not fit into memory is not summed
 * here, but in sp_dict_builder_sum().
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_SUM_H
#define SP_STORE_WRITE_DICT_BUILDER_SUM_H

#include "store/write/dict_builder.h"

struct sp_row_sums {
	struct sp_items accounts; /* int64_t: of the first value, self and total by library */
	struct sp_items late;     /* uint32_t: rows that are not in it yet */
	int64_t factors[SP_MAX_VALUES], sum;
	uint32_t n_rows;
	bool are_multiples;
};
void sp_dict_builder_begin_sums(struct sp_dict_builder *n);
void sp_dict_builder_sum_row(struct sp_dict_builder *n, const struct sp_row *row, uint32_t n_values);
void sp_dict_builder_done_sums(struct sp_dict_builder *n);

#endif
