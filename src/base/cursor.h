/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cursor.h: reading foreign bytes without ever leaving them.
 *
 * A cursor walks a buffer that it does not own. Every read checks the bounds; the first read that does not fit sets
 * `bad` and returns 0, and so does every read after it, so that a parser may read a whole structure and test `bad`
 * once. Little-endian. LEB128 longer than 10 bytes, or that overflows 64 bits, is bad. No state but the struct.
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
/* A cursor on the next len bytes of c, which c skips; bad (and empty) if they are not there. */
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
/* A NUL-terminated string inside the buffer, the NUL consumed; "" and bad if none. */
const char *sp_cursor_str(struct sp_cursor *c);

#endif
