/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cursor.h"

#include <string.h>

struct sp_cursor sp_cursor_on(const void *data, size_t size)
{
	return (struct sp_cursor){.data = data, .size = size};
}

size_t sp_cursor_left(const struct sp_cursor *c)
{
	return c->bad ? 0 : c->size - c->at;
}

/* The next len bytes, consumed; NULL if they are not there. */
static const uint8_t *cursor_read_bytes(struct sp_cursor *c, size_t len)
{
	if (len > sp_cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	const uint8_t *bytes = c->data + c->at;
	c->at += len;
	return bytes;
}

struct sp_cursor sp_cursor_sub(struct sp_cursor *c, size_t len)
{
	struct sp_cursor sub = {.data = c->data};

	if (c->bad || len > sp_cursor_left(c)) {
		c->bad = sub.bad = true;
		return sub;
	}
	if (len > 0)
		sub.data = cursor_read_bytes(c, len);
	sub.size = len;
	return sub;
}

void sp_cursor_skip(struct sp_cursor *c, size_t len)
{
	if (len > sp_cursor_left(c))
		c->bad = true;
	else
		c->at += len;
}

void sp_cursor_seek(struct sp_cursor *c, size_t at)
{
	if (c->bad || at > c->size)
		c->bad = true;
	else
		c->at = at;
}

uint8_t sp_cursor_u8(struct sp_cursor *c)
{
	const uint8_t *b = cursor_read_bytes(c, 1);

	return !b ? 0 : b[0];
}

/* Byte by byte: compilers make one load of it where the machine is little-endian. */
static uint64_t little(const uint8_t *b, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++)
		v |= (uint64_t)b[i] << (8 * i);
	return v;
}

uint16_t sp_cursor_u16(struct sp_cursor *c)
{
	const uint8_t *b = cursor_read_bytes(c, 2);

	return !b ? 0 : (uint16_t)little(b, 2);
}

uint32_t sp_cursor_u32(struct sp_cursor *c)
{
	const uint8_t *b = cursor_read_bytes(c, 4);

	return !b ? 0 : (uint32_t)little(b, 4);
}

uint64_t sp_cursor_u64(struct sp_cursor *c)
{
	const uint8_t *b = cursor_read_bytes(c, 8);

	return !b ? 0 : little(b, 8);
}

/* The tenth byte of an unsigned number may hold bit 63 only, of a signed one that bit and its sign. */
uint64_t sp_cursor_uleb(struct sp_cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		const uint8_t *b = cursor_read_bytes(c, 1);
		if (!b || (shift == 63 && *b > 1))
			break;
		v |= (uint64_t)(*b & 0x7f) << shift;
		if ((*b & 0x80) == 0)
			return v;
	}
	c->bad = true;
	return 0;
}

int64_t sp_cursor_sleb(struct sp_cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		const uint8_t *b = cursor_read_bytes(c, 1);
		if (!b || (shift == 63 && *b != 0 && *b != 0x7f))
			break;
		v |= (uint64_t)(*b & 0x7f) << shift;
		if ((*b & 0x80) != 0)
			continue;
		if ((*b & 0x40) != 0 && shift < 63)
			v |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)v;
	}
	c->bad = true;
	return 0;
}

const char *sp_cursor_str(struct sp_cursor *c)
{
	size_t left = sp_cursor_left(c);
	const uint8_t *end = left == 0 ? NULL : memchr(c->data + c->at, '\0', left);

	if (!end) {
		c->bad = true;
		return "";
	}
	const char *s = (const char *)c->data + c->at;
	c->at += (size_t)(end - (const uint8_t *)s) + 1;
	return s;
}
