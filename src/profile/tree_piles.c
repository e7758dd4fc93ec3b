/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_piles.c: the rows of a profile as a tree needs them: those with the same path, of many processes, in one. */
#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/priv.h"

static int64_t value_of(const struct sp_tree_options *o, const struct sp_row *row, uint32_t value)
{
	return o->drawn ? SP_MAX(row->values[value], 0) : row->values[value];
}

struct sp_tree_pile sp_tree_pile_of(const struct sp_profile *p, const struct sp_tree_options *o,
				    const struct sp_identity *same, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(p, row->key);

	return (struct sp_tree_pile){.user = row->user,
				     .kernel = row->kernel,
				     .comm = key->comm != 0 ? key->comm : sp_profile_process(p, key->process)->comm,
				     .value = value_of(o, row, o->value),
				     .second = o->has_second ? value_of(o, row, o->second) : 0,
				     .n_samples = sp_identity_samples_with(same, row, o->value)};
}

bool sp_tree_shows(const struct sp_tree_options *o, const struct sp_tree_pile *pile)
{
	return o->drawn ? pile->value > 0 || pile->second > 0 : pile->value != 0 || pile->second != 0;
}

static void add(struct sp_tree_pile *pile, const struct sp_tree_pile *more)
{
	sp_saturating_add(&pile->value, more->value);
	sp_saturating_add(&pile->second, more->second);
	sp_saturating_add(&pile->n_samples, more->n_samples);
}

int sp_tree_piles_make(const struct sp_profile *p, const struct sp_tree_options *o, const struct sp_identity *same,
		       struct sp_tree_pile **ret_piles, uint32_t *ret_n)
{
	SP_FREE struct sp_tree_pile *piles = NULL;
	struct sp_intern *paths = NULL;
	size_t capacity = 0;
	int r = sp_intern_new(&paths);

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++) {
		struct sp_tree_pile row = sp_tree_pile_of(p, o, same, sp_profile_row(p, i));
		const uint32_t path[] = {row.user, row.kernel, row.comm};
		if (!sp_tree_shows(o, &row))
			continue;
		uint32_t n_before = sp_intern_count(paths);
		int64_t n = sp_intern_add(paths, path, sizeof(path));
		if (n < 0 || sp_grow(&piles, &capacity, (size_t)n + 1, sizeof(*piles)) < 0)
			r = -ENOMEM;
		else if (n == n_before)
			piles[n] = row;
		else
			add(&piles[n], &row);
	}
	*ret_n = sp_intern_count(paths);
	sp_intern_free(paths);
	if (r == 0)
		*ret_piles = sp_take_ptr(piles);
	return r;
}
