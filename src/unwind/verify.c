/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/verify.h"
#include "base/mem.h"
#include "unwind/build.h"
#include "unwind/step_types.h"
#include "unwind/x86_64/derive.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BEFORE = 12 << 10, BEHIND = 4 << 10 }; /* of a place: nearly all functions that have it */

static int add_fde(void *arg, uint64_t start, uint64_t size)
{
	return sp_code_spans_add(arg, start, start + size);
}

static size_t leave_covered(const struct sp_code_spans *fdes, uint64_t *places, size_t n)
{
	size_t n_left = 0;
	for (size_t i = 0, k = 0; i < n; i++) {
		while (k < fdes->n && fdes->at[k].end <= places[i])
			k++;
		if (k == fdes->n || places[i] < fdes->at[k].start)
			places[n_left++] = places[i];
	}
	return n_left;
}

/* What is far from all places is taken as covered. With many places less is near, so that all of it is looked at. */
static int add_distant(struct sp_code_spans *s, const uint64_t *places, size_t n)
{
	uint64_t at = 0, share = SP_DERIVE_MAX_CODE / n;
	uint64_t before = SP_MIN((uint64_t)BEFORE, share / 3 * 2), behind = SP_MIN((uint64_t)BEHIND, share / 3);
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = sp_code_spans_add(s, at, places[i] > before ? places[i] - before : 0);
		at = places[i] + behind;
	}
	return r == 0 ? sp_code_spans_add(s, at, UINT64_MAX) : r;
}

static bool is_by_fp(const struct sp_rule *r)
{
	return r->cfa == SP_CFA_REG && r->reg == SP_REG_FP && r->off == 16 && r->fp == SP_FP_CFA && r->fp_off == -16;
}

static size_t leave_verified(const struct sp_derived *d, uint64_t *places, size_t n)
{
	size_t n_left = 0;
	for (size_t i = 0, k = 0; i < n && d->n_rows; i++) {
		while (k + 1 < d->n_rows && d->rows[k + 1].offset <= places[i])
			k++;
		if (d->rows[k].offset <= places[i] && is_by_fp(&d->rules[d->rows[k].rule]))
			places[n_left++] = places[i];
	}
	return n_left;
}

static int verify(struct sp_elf *e, struct sp_code_spans *covered, uint64_t *places, size_t n, size_t *ret_n)
{
	struct sp_derived d;
	int r = sp_fde_walk(e, add_fde, covered);
	if (r == -ENOMEM)
		return r;
	sp_code_spans_join(covered);
	n = leave_covered(covered, places, n);
	r = n ? add_distant(covered, places, n) : 0;
	sp_code_spans_join(covered);
	if (r == 0 && n) {
		r = sp_derive_by_fp(e, covered->at, covered->n, &d);
		*ret_n = r == 0 ? leave_verified(&d, places, n) : 0;
		sp_derived_done(&d);
	}
	return r;
}

int sp_verify(struct sp_elf *e, uint64_t *places, size_t n, size_t *ret_n)
{
	struct sp_code_spans covered = {0};
	*ret_n = 0;
	int r = verify(e, &covered, places, n, ret_n);
	free(covered.at);
	return r;
}
