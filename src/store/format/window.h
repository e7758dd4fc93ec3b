/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h: the rows and the head of a window as bytes.
 *
 * Rows are a record (pack.h) with the columns: who, as distances; the number of rows of each; nodes, as distances
 * within one who; for each value its coding and its factor; the values. A value is all zeros, plain, signed, or a
 * multiple of the first value, which takes no column (CPU time, if each sample stands for the same time).
 * A head is LEB128 numbers and a CRC-32. It can be read without the rows. Both are bound to the window's time and
 * generation.
 * Errors: -ENOMEM, -EBADMSG. No state.
 */
#ifndef SP_STORE_FORMAT_WINDOW_H
#define SP_STORE_FORMAT_WINDOW_H

#include "store/format/pack.h"
#include "store/format/rows.h"

struct sp_head {
	uint64_t wall_ns, boot_ns, duration_ns, length_ns; /* length: up to the end of the last window in it */
	uint64_t rate_millihertz, n_lost, n_rows;
	uint64_t last_chunk; /* the chunks up to this one define all numbers in the rows */
	uint32_t n_cpus;
};
enum { SP_HEAD_MAX = 96 };
/* A window's id: column t, and its generation. */
struct sp_window_id {
	uint64_t t_ms, generation;
};
/* The id of a day's head and totals. */
static inline struct sp_window_id sp_day_id(uint64_t day_s, uint64_t source)
{
	return (struct sp_window_id){day_s * 1000, source};
}
size_t sp_head_pack(const struct sp_head *h, struct sp_window_id id, uint8_t ret_bytes[SP_HEAD_MAX]);
int sp_head_unpack(struct sp_window_id id, const void *bytes, size_t len, struct sp_head *ret_head);

/* Adds the head of the next window of a roll-up. */
void sp_head_add(struct sp_head *sum, const struct sp_head *h, bool first);

int sp_window_rows_pack(const struct sp_window_rows *r, struct sp_window_id id, struct sp_packer *p,
			const void **ret_record, size_t *ret_len);
/* Appends to r. The number of values must be the same, unless r is empty. */
int sp_window_rows_unpack(struct sp_window_rows *r, struct sp_window_id id, const void *record, size_t len);
/* The same, as columns of a record that has others before them. */
void sp_window_rows_pack_columns(const struct sp_window_rows *r, struct sp_packer *p);
int sp_window_rows_unpack_columns(struct sp_window_rows *r, struct sp_unpacker *u);

#endif
