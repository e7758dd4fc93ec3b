/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_stacks.c: merges the rows of a profile that have the same stack and thread name, of whatever process. */
#include "base/intern.h"
#include "base/mem.h"
#include "profile/priv.h"

#include <stdlib.h>

static int64_t row_value(const struct sp_tree_options *o, const struct sp_row *row, uint32_t value)
{
	return o->drawn ? SP_MAX(row->values[value], 0) : row->values[value];
}

struct sp_tree_stack sp_tree_stack_of_row(const struct sp_profile *p, const struct sp_tree_options *o,
					  const struct sp_identity *same, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(p, row->key);

	return (struct sp_tree_stack){.user = row->user,
				      .kernel = row->kernel,
				      .comm = key->comm != 0 ? key->comm : sp_profile_process(p, key->process)->comm,
				      .value = row_value(o, row, o->value),
				      .second = o->has_second ? row_value(o, row, o->second) : 0,
				      .n_samples = sp_identity_samples_with(same, row, o->value)};
}

bool sp_tree_stack_has_value(const struct sp_tree_options *o, const struct sp_tree_stack *stack)
{
	return o->drawn ? stack->value > 0 || stack->second > 0 : stack->value != 0 || stack->second != 0;
}

static void tree_stack_sum(struct sp_tree_stack *stack, const struct sp_tree_stack *more)
{
	sp_saturating_add(&stack->value, more->value);
	sp_saturating_add(&stack->second, more->second);
	sp_saturating_add(&stack->n_samples, more->n_samples);
}

int sp_tree_stacks_make(const struct sp_profile *p, const struct sp_tree_options *o, const struct sp_identity *same,
			struct sp_tree_stack **ret_stacks, uint32_t *ret_n)
{
	SP_FREE struct sp_tree_stack *stacks = NULL;
	struct sp_intern *paths = NULL;
	size_t capacity = 0;
	int r = sp_intern_new(&paths);

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++) {
		struct sp_tree_stack row = sp_tree_stack_of_row(p, o, same, sp_profile_row(p, i));
		const uint32_t path[] = {row.user, row.kernel, row.comm};
		if (!sp_tree_stack_has_value(o, &row))
			continue;
		bool is_new;
		int64_t n = sp_intern_add_to(paths, path, sizeof(path), &stacks, &capacity, sizeof(*stacks), &is_new);
		if (n < 0)
			r = (int)n;
		else if (is_new)
			stacks[n] = row;
		else
			tree_stack_sum(&stacks[n], &row);
	}
	*ret_n = sp_intern_count(paths);
	sp_intern_free(paths);
	if (r == 0)
		*ret_stacks = sp_take_ptr(stacks);
	return r;
}
