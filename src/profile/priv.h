/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of this layer share: sums that stay at the ends of 64 bits, and the second half of making a
 * tree, which tree.c calls when all paths are in. Threads and ownership: as tree.h.
 */
#ifndef SP_PROFILE_PRIV_H
#define SP_PROFILE_PRIV_H

#include <stdint.h>

#include "profile/tree.h"

/* Foreign profiles may hold any number: a sum that does not fit stays at the end of the range. */
static inline void sp_saturating_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/*
 * From nodes that know parent, label, self, second_self and n_samples (of self) to what tree.h says: totals,
 * thresholds, order. 0 or -ENOMEM.
 */
int sp_tree_shape(const struct sp_profile *p, const struct sp_tree_options *o, struct sp_tree *t);

#endif
