/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roll.h: rolls up windows of one source and generation into one of a coarser file. Shared by roll.c (which periods;
 * minutes) and hour.c (an hour, in parts).
 *
 * A coarser window has a fixed place, so writing it twice replaces it. Its trees and charts are written first, so that
 * no reader finds a window without them.
 * Owns its rows; not the decoded dictionary. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_ROLL_H
#define SP_STORE_ROLLUP_ROLL_H

#include "store/format/sums.h"
#include "store/priv.h"
#include "store/rollup/decoded_dict.h"

/* From windows of file `from` to one window of file `to`. */
struct sp_roll {
	struct sp_day_file *from, *to;
	uint64_t source, generation, begin_ms, end_ms;
	struct sp_head head;
	struct sp_window_rows rows;
	struct sp_packed_rows packed; /* most of the rows, until sp_roll_sort() */
	size_t n_windows;             /* read so far */
	struct sp_decoded_dict *decoded;
	struct sp_chunk chunk; /* chunks being joined, up to last_seq */
	uint64_t last_seq, copied_seq;
	bool copying;
};
uint64_t sp_roll_period_ms(int resolution);
/* The first window at or after from_ms; UINT64_MAX: none. */
int sp_roll_find_first(const struct sp_roll *roll, uint64_t from_ms, uint64_t *ret_t_ms);
/* Reads the windows from from_ms up to to_ms, and appends their rows. */
int sp_roll_read(struct sp_store *s, struct sp_roll *roll, uint64_t from_ms, uint64_t to_ms);
/* After the last read. */
int sp_roll_sort(struct sp_roll *roll);
void sp_roll_done(struct sp_roll *roll);
/* Copies the chunks that the rows need: about n_bytes in each call. 1: call again; 0: done. */
int sp_roll_copy_chunks(struct sp_store *s, struct sp_roll *roll, size_t n_bytes);
/* Writes the window and its totals. */
int sp_roll_write_window(struct sp_store *s, struct sp_roll *roll, const struct sp_sums *sums);

/* hour.c: a whole hour at once. */
int sp_roll_hour(struct sp_store *s, const struct sp_roll *roll);
/* Does the next part of the hour that is being rolled up, or begins one; at_once: all parts, and the day's sums. */
int sp_roll_hour_step(struct sp_store *s, uint64_t source, uint64_t t_ms, bool at_once);

#endif
