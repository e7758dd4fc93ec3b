/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bytes.h: rows as ClickHouse's format RowBinary has them, written and read.
 *
 * Numbers are little endian, a date is 16 bits of days and a time 32 bits of seconds since 1970; text and arrays begin
 * with their length in groups of 7 bits. A writer that runs out of memory remembers it (`failed`), and takes nothing
 * more. A reader that meets the end too early sets `bad`, and gives zeros: what a server answers is foreign, so who
 * reads checks that at the end of each row. The owner frees with sp_bytes_done(). No other state; not thread-safe.
 */
#ifndef SP_FLEET_BYTES_H
#define SP_FLEET_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_bytes {
	char *bytes;
	size_t n, capacity;
	bool failed;
};
void sp_bytes_done(struct sp_bytes *b);
void sp_bytes_put(struct sp_bytes *b, const void *bytes, size_t n);
/* Of a size that is known: without a call where there is room. */
static inline void sp_bytes_put_fixed(struct sp_bytes *b, const void *bytes, size_t n)
{
	if (b->failed || b->capacity - b->n <= n) {
		sp_bytes_put(b, bytes, n);
		return;
	}
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}
static inline void sp_bytes_put_u8(struct sp_bytes *b, uint8_t v)
{
	sp_bytes_put_fixed(b, &v, sizeof(v));
}
static inline void sp_bytes_put_u16(struct sp_bytes *b, uint16_t v)
{
	v = htole16(v);
	sp_bytes_put_fixed(b, &v, sizeof(v));
}
static inline void sp_bytes_put_u32(struct sp_bytes *b, uint32_t v)
{
	v = htole32(v);
	sp_bytes_put_fixed(b, &v, sizeof(v));
}
static inline void sp_bytes_put_u64(struct sp_bytes *b, uint64_t v)
{
	v = htole64(v);
	sp_bytes_put_fixed(b, &v, sizeof(v));
}
void sp_bytes_put_length(struct sp_bytes *b, uint64_t n);
void sp_bytes_put_text(struct sp_bytes *b, const char *text);

struct sp_row_reader {
	const char *at, *end;
	bool bad;
};
/* Where none were put, too. */
static inline struct sp_row_reader sp_bytes_rows(const struct sp_bytes *b)
{
	const char *at = b->bytes ? b->bytes : "";

	return (struct sp_row_reader){.at = at, .end = at + b->n};
}
static inline bool sp_row_is_there(const struct sp_row_reader *r)
{
	return !r->bad && r->at < r->end;
}
uint8_t sp_row_u8(struct sp_row_reader *r);
uint16_t sp_row_u16(struct sp_row_reader *r);
uint32_t sp_row_u32(struct sp_row_reader *r);
uint64_t sp_row_u64(struct sp_row_reader *r);
/* A length, and that at least length * size bytes are there; 0 and bad if not. */
size_t sp_row_length(struct sp_row_reader *r, size_t size);
/* Not terminated; valid as long as the bytes. */
const char *sp_row_text(struct sp_row_reader *r, size_t *ret_n);

#endif
