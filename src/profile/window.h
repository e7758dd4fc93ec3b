/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h: profiles that last over windows: rows come and go, what is interned stays.
 *
 * Rows can be cleared, or taken out and read later, as long as it is the same profile, since they refer to its stacks
 * and keys by number. So windows that cannot be written yet wait as rows, which take little memory. The caller owns
 * them. A renewal removes stacks, keys, processes, label sets and rows, which are most of a profile's memory; strings,
 * files, functions and frames keep their numbers. Afterwards sp_profile_serial() differs, since old rows are invalid,
 * while sp_profile_names_serial() is the same. sp_profile_memory_bytes() tells when it is time for a renewal, or for a
 * new profile. Errors: 0 or a negative errno, as in profile.h. Not thread-safe.
 */
#ifndef SP_PROFILE_WINDOW_H
#define SP_PROFILE_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct sp_profile;

struct sp_profile_rows {
	void *rows; /* struct sp_row with values, n of equal size */
	size_t n, bytes;
};

void sp_profile_clear_rows(struct sp_profile *p);
struct sp_profile_rows sp_profile_take_rows(struct sp_profile *p); /* the profile has none afterwards */
/*
 * A view of the profile with these rows in place of its own, valid until the profile is added to. Free it with free().
 */
int sp_profile_with_rows(const struct sp_profile *p, const struct sp_profile_rows *rows, struct sp_profile **ret_view);
static inline void sp_profile_rows_done(struct sp_profile_rows *rows)
{
	free(rows->rows);
	*rows = (struct sp_profile_rows){0};
}

/* Joins each 1 << shift slices of the keys (key.h) into one. On an error some rows are missing. */
int sp_profile_widen_slices(struct sp_profile *p, unsigned int shift);

/*
 * Removes what a renewal removes. Files of kind ANON have no process afterwards: memory that is sampled again must be
 * added as another file. On an error nothing has changed.
 */
int sp_profile_renew(struct sp_profile *p);
/* Equal before and after a renewal. */
uint64_t sp_profile_names_serial(const struct sp_profile *p);

size_t sp_profile_memory_bytes(const struct sp_profile *p);

#endif
