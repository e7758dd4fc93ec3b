/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sums.h: exact totals of a window by library and by function, and of a day by name.
 *
 * Self is what ends in a library or function; total what passes through it, once for each sample however often it does.
 * A record has columns: files, functions (0 = the library as a whole), and of each value self and total, both with a
 * sign, or, where all of a value's are the same multiple of the first value's, only that factor. Those of a window use
 * the numbers of its generation's dictionary; a day's record begins with a dictionary of its own (a chunk without
 * nodes), so that it is read alone. Functions of one name in one file count as one only for who adds them up.
 * Owns its memory. Errors: -ENOMEM, -EBADMSG. Not thread-safe.
 */
#ifndef SP_STORE_SUMS_H
#define SP_STORE_SUMS_H

#include "store/dict.h"
#include "store/number.h"

struct sp_sums {
	struct sp_scan_total *totals;
	size_t n, capacity;
	uint32_t n_values;
};
void sp_sums_done(struct sp_sums *s);
enum { SP_SUMS_LIBRARIES = 1, SP_SUMS_FUNCTIONS = 2 };
/* Of rows, sorted or not, behind what s has (also when it fails): s belongs to the caller. */
int sp_sums_make(const struct sp_window_rows *rows, const struct sp_shape *shape, int what, struct sp_sums *s);
void sp_sums_pack(const struct sp_sums *s, struct sp_packer *p);
int sp_sums_unpack(struct sp_sums *s, struct sp_unpacker *u);

/* A day's: sums whose names come from several dictionaries. */
struct sp_digest {
	struct sp_chunk chunk;
	struct sp_seen seen[SP_FRAMES]; /* strings, files, functions ... */
	struct sp_seen places;          /* ... and file and function of a total */
	uint32_t n[SP_N_THINGS];
	struct sp_sums sums;
};
int sp_digest_init(struct sp_digest *d, uint32_t n_values);
void sp_digest_done(struct sp_digest *d);
int sp_digest_add(struct sp_digest *d, const struct sp_dict *dict, const struct sp_sums *s);

#endif
