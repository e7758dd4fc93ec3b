/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/verify.h"
#include "base/mem.h"
#include "base/search.h"
#include "unwind/arch.h"
#include "unwind/build.h"
#include "unwind/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BEFORE = 12 << 10, BEHIND = 4 << 10 }; /* bytes read around a place: enough for nearly all functions */

static int add_fde(void *arg, uint64_t start, uint64_t size)
{
	return sp_code_spans_add(arg, start, start + size);
}

static size_t leave_covered(const struct sp_code_spans *fdes, uint64_t *places, size_t n)
{
	size_t n_left = 0;
	for (size_t i = 0, k = 0; i < n; i++) {
		while (k < fdes->n && fdes->at[k].end <= places[i] >> 1)
			k++;
		if (k == fdes->n || places[i] >> 1 < fdes->at[k].start)
			places[n_left++] = places[i];
	}
	return n_left;
}

/* Marks code far from all places as covered. With many places "near" is smaller, so that the code fits the limit. */
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

/* Keeps the places outside FDEs where rows derived from the code around them confirm the frame pointer. */
static int leave_derived(struct sp_elf *e, struct sp_code_spans *covered, uint64_t *places, size_t *n)
{
	struct sp_derived d;
	int r = *n ? add_distant(covered, places, *n) : 0;
	sp_code_spans_join(covered);
	if (r < 0 || !*n)
		return r;
	r = sp_derive_by_fp(e, covered->at, covered->n, &d);
	*n = r == 0 ? leave_verified(&d, places, *n) : 0;
	sp_derived_done(&d);
	return r;
}

/* Moves the offsets in framed functions, which are found fast, to `found` as places; the others remain. */
static int part_framed(struct sp_elf *e, const struct sp_code_spans *covered, uint64_t *offsets, size_t *n,
		       uint64_t *found, size_t *n_found)
{
	SP_FREE bool *has_found = calloc(*n + 1, sizeof(*has_found));
	size_t n_left = 0;
	int r = has_found ? sp_framed(e, covered->at, covered->n, offsets, *n, has_found) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < *n; i++) {
		if (has_found[i])
			found[(*n_found)++] = sp_verify_place(offsets[i], false);
		else
			offsets[n_left++] = offsets[i];
	}
	*n = n_left;
	return r;
}

/* Of unread leaves, the places of those at a function's start go to `found`. */
static int tell_starts(struct sp_elf *e, const struct sp_code_spans *covered, const uint64_t *offsets, size_t n,
		       uint64_t *found, size_t *n_found)
{
	SP_FREE bool *is_start = calloc(n + 1, sizeof(*is_start));
	int r = is_start ? sp_framed_starts(e, covered->at, covered->n, offsets, n, is_start) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (is_start[i])
			found[(*n_found)++] = sp_verify_place(offsets[i], true);
	return r;
}

/* The offsets of places of one kind. */
static size_t take_offsets(const uint64_t *places, size_t n, bool is_unread, uint64_t *ret_offsets)
{
	size_t n_taken = 0;
	for (size_t i = 0; i < n; i++)
		if ((places[i] & 1) == is_unread)
			ret_offsets[n_taken++] = places[i] >> 1;
	return n_taken;
}

/* `found` and `offsets` have room for all places. */
static int tell(struct sp_elf *e, struct sp_code_spans *covered, const uint64_t *places, size_t n, uint64_t *offsets,
		uint64_t *found, size_t *n_found)
{
	size_t n_read;
	int r = tell_starts(e, covered, offsets, take_offsets(places, n, true, offsets), found, n_found);
	n_read = take_offsets(places, n, false, offsets);
	r = r < 0 ? r : part_framed(e, covered, offsets, &n_read, found, n_found);
	r = r < 0 ? r : leave_derived(e, covered, offsets, &n_read);
	for (size_t i = 0; r == 0 && i < n_read; i++)
		found[(*n_found)++] = sp_verify_place(offsets[i], false);
	return r;
}

/* V8's builtins are walked by v8.h, also when a frame is guessed, so they are not examined. */
static int add_builtins(struct sp_elf *e, struct sp_code_spans *covered)
{
	struct sp_code_span builtins;
	int r = sp_v8_find(e, covered->at, covered->n, &builtins);
	r = r < 0 ? r : sp_code_spans_add(covered, builtins.start, builtins.end);
	sp_code_spans_join(covered);
	return r;
}

static int verify(struct sp_elf *e, struct sp_code_spans *covered, uint64_t *places, size_t n, size_t *ret_n)
{
	SP_FREE uint64_t *found = calloc(n + 1, sizeof(*found)), *offsets = calloc(n + 1, sizeof(*offsets));
	size_t n_found = 0;
	int r = found && offsets ? sp_fde_walk(e, add_fde, covered) : -ENOMEM;
	if (r == -ENOMEM)
		return r;
	sp_code_spans_join(covered);
	r = add_builtins(e, covered);
	if (r < 0)
		return r;
	n = leave_covered(covered, places, n);
	r = tell(e, covered, places, n, offsets, found, &n_found);
	if (r < 0 || !n_found)
		return r;
	memcpy(places, found, n_found * sizeof(*found));
	qsort(places, n_found, sizeof(*places), sp_compare_u64);
	*ret_n = n_found;
	return 0;
}

int sp_verify(struct sp_elf *e, uint64_t *places, size_t n, size_t *ret_n)
{
	struct sp_code_spans covered = {0};
	*ret_n = 0;
	int r = verify(e, &covered, places, n, ret_n);
	free(covered.at);
	return r;
}
