/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_table_priv.h: the format of name tables (name_table.h), shared by reader, writer and fuzzer.
 *
 * Each block begins a new sequence of spans. A block is closed when it has SP_NAME_BLOCK_BYTES or more, so it is
 * longer by one span at most. `hash` is of the compressed bytes. The index is sorted by `first`. No state.
 */
#ifndef SP_SYMBOL_NAME_TABLE_PRIV_H
#define SP_SYMBOL_NAME_TABLE_PRIV_H

#include "symbol/name_table.h"
#include "symbol/span.h"

enum {
	SP_NAME_BLOCK_BYTES = 4 << 10,
	SP_NAME_BLOCK_MAX_RAW = SP_NAME_BLOCK_BYTES + SP_SPAN_MAX_BYTES,
	SP_NAME_BLOCK_MAX_PACKED = SP_NAME_BLOCK_MAX_RAW + 1024, /* above ZSTD_compressBound() of it */
};

struct sp_name_table_block {
	uint64_t first; /* offset of its first span */
	uint64_t at;    /* in the table */
	uint32_t packed, raw;
	uint64_t hash;
};

uint64_t sp_name_table_hash(const struct sp_name_table_head *h);

#endif
