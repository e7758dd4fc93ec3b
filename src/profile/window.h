/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h: a profile that lasts while its rows come and go: what is interned stays, window after window.
 *
 * Rows can be cleared, copied out, and added again later, as long as it is the same profile: they name its stacks and
 * keys by number. So windows that cannot be written yet wait as rows, and cost little. The copy is the caller's. How
 * much memory a profile holds tells when it is time for a fresh one, since nothing interned is ever removed. 0 or a
 * negative errno, as in profile.h. Not thread-safe.
 */
#ifndef SP_PROFILE_WINDOW_H
#define SP_PROFILE_WINDOW_H

#include <stddef.h>

struct sp_profile;

struct sp_profile_rows {
	void *rows; /* as the profile has them */
	size_t n, bytes;
};

void sp_profile_clear_rows(struct sp_profile *p);
int sp_profile_keep_rows(const struct sp_profile *p, struct sp_profile_rows *ret_rows);
int sp_profile_put_rows(struct sp_profile *p, const struct sp_profile_rows *rows);
void sp_profile_rows_done(struct sp_profile_rows *rows);

size_t sp_profile_memory_bytes(const struct sp_profile *p);

#endif
