/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"
#include "profile/window.h"

static int64_t widen_key(struct sp_profile *p, uint32_t number, unsigned int shift)
{
	struct sp_key key = *sp_profile_key(p, number);

	if (key.slice == 0)
		return number;
	key.slice = ((key.slice - 1) >> shift) + 1;
	return sp_profile_add_key(p, &key);
}

static int add_widened(struct sp_profile *p, const struct sp_row *row, unsigned int shift)
{
	int64_t key = widen_key(p, row->key, shift);

	return key < 0 ? (int)key : sp_profile_add(p, (uint32_t)key, row->user, row->kernel, row->values);
}

int sp_profile_widen_slices(struct sp_profile *p, unsigned int shift)
{
	struct sp_profile_rows rows = sp_profile_take_rows(p);
	int r = 0;

	sp_profile_info(p)->slice_ns <<= shift;
	for (size_t i = 0; i < rows.n && r == 0; i++)
		r = add_widened(p, (const void *)((const char *)rows.rows + i * (rows.bytes / rows.n)), shift);
	sp_profile_rows_done(&rows);
	return r;
}
