/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_table.h: a file with all functions of one ELF file, so that a look-up takes a few reads and no parsing.
 *
 * A table has a head, blocks of spans (span.h) of about 4 KiB each, compressed by zstd, and an index with the start
 * of each block. A parser process hands over its spans in a descriptor; they are validated and compressed here, so no
 * compressed bytes come from a parser. A look-up reads the index, and one block for each stretch of offsets asked
 * for. Everything read has a hash, which is compared, and positions are checked when they are used: damage gives
 * -EBADMSG and nothing worse. Numbers are in host byte order: a table belongs to its machine. Memory: the index (32
 * bytes per 4 KiB), one block, zstd's. Descriptors stay the caller's. Reentrant.
 */
#ifndef SP_SYMBOL_NAME_TABLE_H
#define SP_SYMBOL_NAME_TABLE_H

#include "elf/debug.h"
#include "symbol/names.h"

#define SP_NAME_TABLE_MAGIC 0x544e5053u /* "SPNT" */
enum { SP_NAME_TABLE_VERSION = 5 };     /* of the format and of what names.h makes of a file */
enum { SP_NAME_TABLE_MAX_BYTES = 64 << 20, SP_NAME_TABLE_MAX_BLOCKS = 1 << 18, SP_NAME_TABLE_WARNING = 160 };

struct sp_name_table_head {
	uint32_t magic, version;
	uint64_t bytes; /* of the whole table */
	uint64_t n_spans, n_blocks;
	uint64_t index_at, index_hash;
	/* About the ELF file: */
	uint64_t file_size;
	uint64_t ranges;                   /* version of the code that found its ranges: another may find others */
	uint32_t build_id_len, with_debug; /* with_debug: symbols of its separate debug file are included */
	uint8_t build_id[32];
	struct sp_elf_debug own;
	char warning[SP_NAME_TABLE_WARNING]; /* what exists but could not be used; "" = nothing */
	uint64_t hash;                       /* of all above */
};

/*
 * Makes a table, in an empty file, of the spans in the first from_bytes of from_fd. The caller sets the head from
 * file_size on; the other fields are returned. -EBADMSG: invalid spans; -EFBIG: the table would be too large.
 */
int sp_name_table_write(int from_fd, uint64_t from_bytes, int to_fd, struct sp_name_table_head *head);

/* -EBADMSG: not a table, or damaged. */
int sp_name_table_open(int fd, struct sp_name_table_head *ret_head);
/*
 * names[i] is for offsets[i], sorted ascending, as in sp_names_find(); n_blocks, index_at and index_hash are the
 * head's. -EBADMSG: damaged; all names are empty then.
 */
struct sp_name_table {
	int fd;
	uint64_t n_blocks, index_at, index_hash;
	struct sp_name_scratch *scratch; /* working memory, for repeated look-ups; NULL: allocated by each call */
};
int sp_name_scratch_new(struct sp_name_scratch **ret_scratch);
void sp_name_scratch_free(struct sp_name_scratch *s);
int sp_name_table_find(const struct sp_name_table *t, const uint64_t *offsets, size_t n, struct sp_name *names);

#endif
