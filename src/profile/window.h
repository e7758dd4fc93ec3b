/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h: a profile that lasts while its rows come and go: what is interned stays, window after window.
 *
 * Rows can be cleared, taken out, and looked at later, as long as it is the same profile: they name its
 * stacks and keys by number. So windows that cannot be written yet wait as rows, and cost little. They are the
 * caller's. How much memory a profile holds tells when it is time for a fresh one, or to renew it: then stacks, keys,
 * processes, label sets and rows are gone, which are most of it, and what they are made of (strings, files, functions,
 * frames) keeps its numbers. It is another profile then, by its serial number, with the same names, by their own. 0 or
 * a negative errno, as in profile.h. Not thread-safe.
 */
#ifndef SP_PROFILE_WINDOW_H
#define SP_PROFILE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct sp_profile;

struct sp_profile_rows {
	void *rows; /* as the profile has them */
	size_t n, bytes;
};

void sp_profile_clear_rows(struct sp_profile *p);
struct sp_profile_rows sp_profile_take_rows(struct sp_profile *p); /* it has none afterwards */
/*
 * The profile with these rows in place of its own: to be read, until the profile itself is added to. Free it with
 * free().
 */
int sp_profile_with_rows(const struct sp_profile *p, const struct sp_profile_rows *rows, struct sp_profile **ret_view);
void sp_profile_rows_done(struct sp_profile_rows *rows);

/* Makes each 1 << shift slices of the keys (key.h) one. On an error rows are missing. */
int sp_profile_widen_slices(struct sp_profile *p, unsigned int shift);

/* Memory without a file belongs to no process afterwards: what is met again has to be another file. On an error nothing
 * has changed. */
int sp_profile_renew(struct sp_profile *p);
/* Equal in two profiles: the same one before and after a renewal. */
uint64_t sp_profile_names_serial(const struct sp_profile *p);

size_t sp_profile_memory_bytes(const struct sp_profile *p);

#endif
