/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pack.h: columns of numbers as a record of bytes, and back: what blobs in day files are.
 *
 * Record: "SP", type, version (a byte each), CRC-32 (of what it is bound to, and of all that follows), then LEB128: the
 * number of columns, the length of each, the length of the zstd frame; the frame; bits. In the frame stands a byte for
 * each number: below 16 itself, else 16 + 4 (e - 4) + m, where e is the number's highest bit and m the two below it;
 * the e - 2 bits below those stand in `bits`, lowest bit first, those of all columns one after the other, 8 bytes of
 * zeros behind. Columns of bytes stand in the frame as they are. Large columns begin a new zstd block, so that each has
 * its own code. A record is bound to its place by two words, so that it cannot be taken for another one.
 * The packer keeps its memory from record to record. Errors: -ENOMEM, -EBADMSG: damaged; a column that is asked for
 * but not there is bad, too. At most 2^27 numbers a record. Not thread-safe.
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
/* Columns, in order. What fails is told by sp_packer_end(). */
void sp_packer_begin(struct sp_packer *p);
void sp_pack_u64(struct sp_packer *p, const uint64_t *v, size_t n);
void sp_pack_u32(struct sp_packer *p, const uint32_t *v, size_t n);
void sp_pack_bytes(struct sp_packer *p, const void *bytes, size_t n);
void sp_packer_fail(struct sp_packer *p, int error);
/* The record, which belongs to the packer until its next one. */
int sp_packer_end(struct sp_packer *p, enum sp_store_record type, const uint64_t bound_to[2], const void **ret_record,
		  size_t *ret_len);
size_t sp_packer_memory(const struct sp_packer *p);

struct sp_unpacker {
	uint8_t *symbols;
	size_t n_symbols, at; /* of symbols: those of the columns that were taken */
	const uint8_t *bits;
	uint64_t bit, n_bits;
	size_t *lengths, n_columns, column;
	bool bad;
};
/* Is it one, of this type and place, as its CRC says? */
bool sp_record_is_sound(enum sp_store_record type, const uint64_t bound_to[2], const void *record, size_t len);
/* The bytes must stay until sp_unpack_done(). */
int sp_unpack_begin(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2], const void *record,
		    size_t len);
/* Only the first columns: the rest is not even decompressed. */
int sp_unpack_begin_columns(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2],
			    const void *record, size_t len, size_t n_columns);
void sp_unpack_done(struct sp_unpacker *u);
/* The length of the next column; 0 if there is none. */
size_t sp_unpack_length(const struct sp_unpacker *u);
/* Take the next column, which must have n numbers, else all are 0 and the record bad, as with one that does not fit. */
void sp_unpack_u64(struct sp_unpacker *u, uint64_t *ret_v, size_t n);
void sp_unpack_u32(struct sp_unpacker *u, uint32_t *ret_v, size_t n);
void sp_unpack_bytes(struct sp_unpacker *u, void *ret_bytes, size_t n);

/* Numbers below 0 among others. */
static inline uint64_t sp_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t sp_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

#endif
