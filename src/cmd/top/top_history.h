/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_history.h: what each library's share was in the last minute, as `soprof top` has shown it.
 *
 * A moment is kept for each picture: the shares of the libraries in it, by the words of top_page.h, down to a
 * two-thousandth. Moments of more than a minute ago go, so memory depends on what a minute shows. The times are the
 * caller's, of any clock that does not go back. Zero is an empty history. 0 or -ENOMEM; then the moment is missing.
 * Not thread-safe.
 */
#ifndef SP_CMD_TOP_TOP_HISTORY_H
#define SP_CMD_TOP_TOP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_TOP_CELLS = 15, SP_TOP_HISTORY_S = 60 };

struct sp_profile;
struct sp_top_moment;

struct sp_top_history {
	struct sp_top_moment *moments; /* oldest first */
	size_t n, capacity;
};

/* interval_ns: how long it stands for, until the next. */
int sp_top_history_add(struct sp_top_history *h, const struct sp_profile *p, uint64_t now_ns, uint64_t interval_ns);
void sp_top_history_done(struct sp_top_history *h);
/*
 * The library's shares, of the whole, in cells of equal length that end with the last moment; below 0: nothing was
 * shown then. total: with what it called, else its own.
 */
void sp_top_history_of(const struct sp_top_history *h, const char *what, bool total, double ret_cells[SP_TOP_CELLS]);

#endif
