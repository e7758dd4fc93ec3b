/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * roll.h: windows of one source and generation that become one of a coarser file: what roll.c (which periods there are,
 * minutes) and hour.c (an hour, in parts) share.
 *
 * A coarser window is found again by its place: whatever is written twice is replaced. What stands beside it in a table
 * that it is found by comes first, so that nobody sees a window without.
 * Owns its rows; the decoded is somebody else's. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_ROLLUP_ROLL_H
#define SP_STORE_ROLLUP_ROLL_H

#include "store/format/sums.h"
#include "store/priv.h"
#include "store/rollup/decoded_dict.h"

/* Windows of the file `from`, to be one of the file `to`. */
struct sp_roll {
	struct sp_day_file *from, *to;
	uint64_t source, generation, begin_ms, end_ms;
	struct sp_head head;
	struct sp_window_rows rows;
	struct sp_packed_rows packed; /* most of them, until they are sorted */
	size_t n_windows;             /* that were read */
	struct sp_decoded_dict *decoded;
	struct sp_chunk chunk; /* of those that are being copied, as many as follow each other, up to last_seq */
	uint64_t last_seq, copied_seq;
	bool copying;
};
uint64_t sp_roll_period_ms(int resolution);
/* The first window from there on; UINT64_MAX: none. */
int sp_roll_first_from(const struct sp_roll *roll, uint64_t from_ms, uint64_t *ret_t_ms);
/* Those from from_ms up to to_ms, behind what there is. */
int sp_roll_read(struct sp_store *s, struct sp_roll *roll, uint64_t from_ms, uint64_t to_ms);
/* When all are read. */
int sp_roll_sort(struct sp_roll *roll);
void sp_roll_done(struct sp_roll *roll);
/* The chunks that its rows need, so many bytes and one more: 1: there are others left; 0: all are there. */
int sp_roll_copy_chunks(struct sp_store *s, struct sp_roll *roll, size_t n_bytes);
/* The window, with its sums. */
int sp_roll_put_window(struct sp_store *s, struct sp_roll *roll, const struct sp_sums *sums);

/* hour.c: all of an hour at once. */
int sp_roll_hour(struct sp_store *s, const struct sp_roll *roll);
/* A part of what is under way, or begun now; at_once: all that is left of it, and of the day's sums. */
int sp_roll_part_of_hour(struct sp_store *s, uint64_t source, uint64_t t_ms, bool at_once);

#endif
