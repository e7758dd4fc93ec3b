/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/x86_64/derive_doubt.h"
#include "base/mem.h"
#include "base/search.h"
#include <stdlib.h>

void sp_doubt_lift(struct sp_doubts *d, uint32_t doubt)
{
	if (!doubt || (d->n_lifted && d->lifted[d->n_lifted - 1] == doubt))
		return;
	if (sp_grow(&d->lifted, &d->lifted_capacity, d->n_lifted + 1, sizeof(*d->lifted)) < 0)
		d->short_of_memory = true;
	else
		d->lifted[d->n_lifted++] = doubt;
}

void sp_doubt_link(struct sp_doubts *d, uint32_t from, uint32_t to)
{
	if (!from || from == to)
		return;
	if (!to)
		sp_doubt_lift(d, from);
	else if (sp_grow(&d->links, &d->links_capacity, d->n_links + 1, sizeof(*d->links)) < 0)
		d->short_of_memory = true;
	else
		d->links[d->n_links++] = (struct sp_doubt_link){from, to};
}

static void sort(struct sp_doubts *d)
{
	size_t n = 0;
	if (d->n_lifted)
		qsort(d->lifted, d->n_lifted, sizeof(*d->lifted), sp_compare_u32);
	for (size_t i = 0; i < d->n_lifted; i++)
		if (!n || d->lifted[n - 1] != d->lifted[i])
			d->lifted[n++] = d->lifted[i];
	d->n_lifted = n;
}

SP_ORDER_BY(by_to, struct sp_doubt_link, to);

/* Lifts all doubts that are linked to this one; each link is followed once. */
static void follow_links(struct sp_doubts *d, uint32_t doubt)
{
	for (size_t i = SP_N_BELOW(d->links, d->n_links, to, doubt); i < d->n_links && d->links[i].to == doubt; i++) {
		sp_doubt_lift(d, d->links[i].from);
		d->links[i].from = 0;
	}
}

void sp_doubt_prove(struct sp_doubts *d, uint32_t doubt, uint32_t since)
{
	if (sp_grow(&d->proofs, &d->proofs_capacity, d->n_proofs + 1, sizeof(*d->proofs)) < 0)
		d->short_of_memory = true;
	else
		d->proofs[d->n_proofs++] = (struct sp_doubt_link){doubt, since};
}

void sp_doubts_settle(struct sp_doubts *d, bool with_proofs)
{
	for (size_t i = 0; with_proofs && i < d->n_proofs; i++)
		sp_doubt_link(d, d->proofs[i].from, d->proofs[i].to);
	if (d->n_links)
		qsort(d->links, d->n_links, sizeof(*d->links), by_to);
	sort(d);
	for (size_t i = 0; i < d->n_lifted; i++) /* the list grows meanwhile */
		follow_links(d, d->lifted[i]);
	sort(d);
}

bool sp_in_doubt(const struct sp_doubts *d, uint32_t doubt)
{
	return doubt && !(d->n_lifted && bsearch(&doubt, d->lifted, d->n_lifted, sizeof(*d->lifted), sp_compare_u32));
}

void sp_doubts_clear(struct sp_doubts *d)
{
	d->n_lifted = d->n_links = d->n_proofs = 0;
}

void sp_doubts_free(struct sp_doubts *d)
{
	free(d->lifted);
	free(d->links);
	free(d->proofs);
}
