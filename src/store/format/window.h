/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h: a window's rows and what stands beside them, as bytes.
 *
 * Rows: a record (pack.h) of these columns: who, as distances; how many rows each has; nodes, as distances within one
 * who; how many values, and of each how it is written, with its factor; the values: all 0, as they are, with a sign, or
 * the first value times a factor (cpu time, where each sample stands for as much), which takes no column.
 * Head: LEB128 numbers and a CRC-32, short because there is one for each window: it can be read without the rows.
 * Both are bound to the window's time and generation. Errors: -ENOMEM, -EBADMSG. No state.
 */
#ifndef SP_STORE_FORMAT_WINDOW_H
#define SP_STORE_FORMAT_WINDOW_H

#include "store/format/pack.h"
#include "store/format/rows.h"

struct sp_head {
	uint64_t wall_ns, boot_ns, duration_ns, length_ns; /* length: to the end of the last window in it */
	uint64_t rate_millihertz, n_lost, n_rows;
	uint64_t last_chunk; /* the chunks up to this one name all that the rows do */
	uint32_t n_cpus;
};
enum { SP_HEAD_MAX = 96 };
/* Where a window stands. */
struct sp_window_id {
	uint64_t t_ms, generation;
};
/* A day's head and totals stand by their source. */
static inline struct sp_window_id sp_day_id(uint64_t day_s, uint64_t source)
{
	return (struct sp_window_id){day_s * 1000, source};
}
size_t sp_head_pack(const struct sp_head *h, struct sp_window_id id, uint8_t ret_bytes[SP_HEAD_MAX]);
int sp_head_unpack(struct sp_window_id id, const void *bytes, size_t len, struct sp_head *ret_head);

/* Of windows put together in the order of their times. */
void sp_head_add(struct sp_head *sum, const struct sp_head *h, bool first);

int sp_window_rows_pack(const struct sp_window_rows *r, struct sp_window_id id, struct sp_packer *p,
			const void **ret_record, size_t *ret_len);
/* Behind those that are there; they must have the same number of values, unless there are none. */
int sp_window_rows_unpack(struct sp_window_rows *r, struct sp_window_id id, const void *record, size_t len);
/* The same as columns of a record that has others before them. */
void sp_window_rows_put(const struct sp_window_rows *r, struct sp_packer *p);
int sp_window_rows_take(struct sp_window_rows *r, struct sp_unpacker *u);

#endif
