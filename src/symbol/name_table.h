/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_table.h: all functions of one file, written down once, so that a look-up is a few reads and no parsing.
 *
 * A table is a file: a head, blocks of spans (span.h), each of about 4 KiB and packed by zstd, and an index of where
 * each block begins. Whoever has parsed the file hands over its spans in a descriptor; they are checked one by one
 * here, and packed here, so that no packed byte comes from a parser. Reading: the index, and a block for each stretch
 * of offsets that is asked for; everything that is read has a hash, which is compared, and positions are checked again
 * when they are used, so that damage anywhere is -EBADMSG and nothing worse. Numbers are as in memory: a table belongs
 * to its machine. Memory: the index (32 bytes for 4 KiB), one block, zstd's. Descriptors stay the caller's. Reentrant.
 */
#ifndef SP_SYMBOL_NAME_TABLE_H
#define SP_SYMBOL_NAME_TABLE_H

#include "elf/debug.h"
#include "symbol/names.h"

#define SP_NAME_TABLE_MAGIC 0x544e5053u /* "SPNT" */
enum { SP_NAME_TABLE_VERSION = 3 };     /* of the format and of what names.h makes of a file */
enum { SP_NAME_TABLE_MAX_BYTES = 64 << 20, SP_NAME_TABLE_MAX_BLOCKS = 1 << 18, SP_NAME_TABLE_WARNING = 160 };

struct sp_name_table_head {
	uint32_t magic, version;
	uint64_t bytes; /* of the whole table */
	uint64_t n_spans, n_blocks;
	uint64_t index_at, index_hash;
	/* Of the file that it is of: */
	uint64_t file_size;
	uint64_t ranges;                   /* the version of who told its ranges: another one's table may have others */
	uint32_t build_id_len, with_debug; /* with_debug: what its separate debug file says is in it */
	uint8_t build_id[32];
	struct sp_elf_debug own;
	char warning[SP_NAME_TABLE_WARNING]; /* what could not be used though it is there; "" = nothing */
	uint64_t hash;                       /* of all above */
};

/*
 * Makes a table, in an empty file, of the spans in the first from_bytes of from_fd. The caller has filled in the head
 * from file_size on; the rest comes back. -EBADMSG: these are no spans; -EFBIG: the table would be too large.
 */
int sp_name_table_write(int from_fd, uint64_t from_bytes, int to_fd, struct sp_name_table_head *head);

/* -EBADMSG: no table, or damaged. */
int sp_name_table_open(int fd, struct sp_name_table_head *ret_head);
/*
 * names[i] belongs to offsets[i], sorted ascending, as with sp_names_find(); n_blocks, index_at and index_hash are the
 * head's. -EBADMSG: damaged; names are then all empty.
 */
struct sp_name_table {
	int fd;
	uint64_t n_blocks, index_at, index_hash;
	struct sp_name_scratch *scratch; /* memory to work in, of who asks often; NULL: made for this time */
};
int sp_name_scratch_new(struct sp_name_scratch **ret_scratch);
void sp_name_scratch_free(struct sp_name_scratch *s);
int sp_name_table_find(const struct sp_name_table *t, const uint64_t *offsets, size_t n, struct sp_name *names);

#endif
