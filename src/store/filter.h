/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter.h: what a query wants of a profile that came by another way than from the store: the agent's current window,
 * a fleet's answer.
 *
 * The rules are those of sp_store_query(). 0 or a negative errno, on which *p may have lost some rows. No state.
 */
#ifndef SP_STORE_FILTER_H
#define SP_STORE_FILTER_H

#include "store/store.h"

/* Leaves in *p, in a new profile in its place if there is one, the rows of whom the query is about. */
int sp_store_filter(const struct sp_store_query *q, struct sp_profile **p);

#endif
