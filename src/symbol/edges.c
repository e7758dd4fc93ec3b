/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edges.c: the offsets or addresses where the answer may change, collected, sorted and searched. */
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"

#include <stdlib.h>

int sp_edge_add(struct sp_edges *e, uint64_t at)
{
	return SP_APPEND(e->at, e->n, e->capacity, at);
}

void sp_edges_sort(struct sp_edges *e)
{
	size_t n = 0;
	if (!e->n)
		return;
	qsort(e->at, e->n, sizeof(*e->at), sp_compare_u64);
	for (size_t i = 0; i < e->n; i++)
		if (!n || e->at[n - 1] != e->at[i])
			e->at[n++] = e->at[i];
	e->n = n;
}

size_t sp_edges_up_to(const struct sp_edges *e, uint64_t at)
{
	return sp_n_up_to(e->at, e->n, at);
}
