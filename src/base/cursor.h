/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cursor.h: bounds-checked reading of untrusted bytes.
 *
 * A cursor walks a buffer that it does not own. The first read that does not fit sets `bad` and returns 0, and so
 * does every later one, so a parser may read a whole structure and test `bad` once. Little-endian. LEB128 of more
 * than 10 bytes, or that overflows 64 bits, is bad. No state but the struct; no other errors.
 */
#ifndef SP_BASE_CURSOR_H
#define SP_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_cursor {
	const uint8_t *data;
	size_t size, at;
	bool bad;
};

struct sp_cursor sp_cursor_on(const void *data, size_t size);
/* A cursor on the next len bytes of c, which c skips; bad and empty if c has fewer. */
struct sp_cursor sp_cursor_sub(struct sp_cursor *c, size_t len);
size_t sp_cursor_left(const struct sp_cursor *c);
void sp_cursor_skip(struct sp_cursor *c, size_t len);
void sp_cursor_seek(struct sp_cursor *c, size_t at);
uint8_t sp_cursor_u8(struct sp_cursor *c);
uint16_t sp_cursor_u16(struct sp_cursor *c);
uint32_t sp_cursor_u32(struct sp_cursor *c);
uint64_t sp_cursor_u64(struct sp_cursor *c);
uint64_t sp_cursor_uleb(struct sp_cursor *c);
int64_t sp_cursor_sleb(struct sp_cursor *c);
/* A NUL-terminated string in the buffer; skips the NUL. "" and bad if there is no NUL. */
const char *sp_cursor_str(struct sp_cursor *c);

/* The other way: writes a number as LEB128, and returns its length, at most SP_ULEB_MAX. */
enum { SP_ULEB_MAX = 10 };
static inline size_t sp_put_uleb(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

#endif
