/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pack.h: records. A record is columns of numbers packed into bytes: the BLOBs of day files.
 *
 * Record: "SP", type, version (a byte each); a CRC-32 of the two words the record is bound to and of all that follows;
 * as LEB128 the number of columns, the length of each, the length of the zstd frame; the frame; the bits. The frame
 * has one byte, a symbol, for each number: below 16 the number itself, else 16 + 4 (e - 4) + m, where e is the
 * number's highest set bit and m the two bits below it. The e - 2 bits below those are in the bits, lowest first,
 * column after column, followed by 8 bytes of zeros. Columns of bytes are in the frame as they are. A large column
 * begins a new zstd block, so that it gets an entropy code of its own. The two words bind a record to its place: it is
 * not valid in another one.
 * A packer reuses its memory. Errors: -ENOMEM, -EBADMSG: damaged, or a column is missing. At most 2^27 numbers a
 * record. Not thread-safe.
 */
#ifndef SP_STORE_FORMAT_PACK_H
#define SP_STORE_FORMAT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sp_store_record {
	SP_RECORD_CHUNK = 1,
	SP_RECORD_WINDOW,
	SP_RECORD_HEAD,
	SP_RECORD_TOTALS,
	SP_RECORD_DAY,
	SP_RECORD_TREE,
	SP_RECORD_CHART
};

struct sp_packer;
int sp_packer_new(struct sp_packer **ret_packer);
void sp_packer_free(struct sp_packer *p);
/* Append columns. sp_packer_end() returns the first error. */
void sp_packer_begin(struct sp_packer *p);
void sp_pack_u64(struct sp_packer *p, const uint64_t *v, size_t n);
void sp_pack_u32(struct sp_packer *p, const uint32_t *v, size_t n);
void sp_pack_bytes(struct sp_packer *p, const void *bytes, size_t n);
void sp_packer_fail(struct sp_packer *p, int error);
/* The record belongs to the packer and is valid until the next one is begun. */
int sp_packer_end(struct sp_packer *p, enum sp_store_record type, const uint64_t bound_to[2], const void **ret_record,
		  size_t *ret_len);

struct sp_unpacker {
	uint8_t *symbols;
	size_t n_symbols, at; /* at: symbols consumed */
	const uint8_t *bits;
	uint64_t bit, n_bits;
	size_t *lengths, n_columns, column;
	bool bad;
};
/* Checks type, version and CRC. */
bool sp_record_is_valid(enum sp_store_record type, const uint64_t bound_to[2], const void *record, size_t len);
/* The bytes must stay valid until sp_unpack_done(), which is called also after an error. */
int sp_unpack_begin(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2], const void *record,
		    size_t len);
/* Unpacks only the first n_columns; the rest is not decompressed. */
int sp_unpack_begin_columns(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2],
			    const void *record, size_t len, size_t n_columns);
void sp_unpack_done(struct sp_unpacker *u);
/* Frees what this thread keeps for its next record. */
void sp_unpack_forget(void);
/* The length of the next column; 0: there is none. */
size_t sp_unpack_length(const struct sp_unpacker *u);
/* Read the next column. If its length is not n, or a number does not fit, u->bad is set; for a wrong length ret is
 * zeroed. */
void sp_unpack_u64(struct sp_unpacker *u, uint64_t *ret_v, size_t n);
void sp_unpack_u32(struct sp_unpacker *u, uint32_t *ret_v, size_t n);
void sp_unpack_bytes(struct sp_unpacker *u, void *ret_bytes, size_t n);
/* Leave the next column out: of n numbers, or of bytes. */
void sp_unpack_skip(struct sp_unpacker *u, size_t n);
void sp_unpack_skip_bytes(struct sp_unpacker *u);
/* If they are n zeros; false: they are not, and are still to be read. */
bool sp_unpack_skip_zeros(struct sp_unpacker *u, size_t n);

/* Signed numbers as unsigned ones: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
static inline uint64_t sp_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t sp_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

#endif
