/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder_sum.h: sums by library, added up while rows are numbered, when the library lists of their stacks are at
 * hand.
 *
 * As long as all values are the same multiples of the first, only the first is added, and
 * sp_dict_builder_sum_libraries() multiplies the sums: the same result, saturation included. Otherwise it goes through
 * the rows again, each value apart. The lists of a row's user and kernel stack together have each library once, after
 * duplicates are skipped, innermost first.
 * Part of a dict_builder: threads, ownership and errors as in dict_builder.h. If memory runs out here,
 * sp_dict_builder_sum_libraries() starts over.
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_SUM_H
#define SP_STORE_WRITE_DICT_BUILDER_SUM_H

#include "store/write/dict_builder.h"

struct sp_row_sums {
	struct sp_items accounts; /* int64_t: self and total of the first value by library */
	struct sp_items deferred; /* uint32_t: rows whose lists are not known yet */
	int64_t factors[SP_MAX_VALUES], sum;
	uint32_t n_rows;
	bool are_multiples;
};
void sp_dict_builder_begin_sums(struct sp_dict_builder *builder);
void sp_dict_builder_sum_row(struct sp_dict_builder *builder, const struct sp_row *row, uint32_t n_values);
void sp_dict_builder_done_sums(struct sp_dict_builder *builder);

#endif
