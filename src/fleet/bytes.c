/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/bytes.h"
#include "base/mem.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

void sp_bytes_done(struct sp_bytes *b)
{
	free(b->bytes);
	*b = (struct sp_bytes){0};
}

/* Without zeroing, so that what is not used yet takes no memory; there is always room for a NUL behind. */
static bool bytes_reserve(struct sp_bytes *b, size_t n)
{
	size_t capacity = SP_MAX(SP_MAX(b->capacity + b->capacity / 2, n + 1), 64);
	char *bytes = n < b->capacity ? b->bytes : realloc(b->bytes, capacity);

	if (!bytes)
		return false;
	b->capacity = n < b->capacity ? b->capacity : capacity;
	b->bytes = bytes;
	return true;
}

void sp_bytes_put(struct sp_bytes *b, const void *bytes, size_t n)
{
	b->failed = b->failed || n >= PTRDIFF_MAX - b->n || !bytes_reserve(b, b->n + n);
	if (b->failed || !n)
		return;
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

void sp_bytes_put_length(struct sp_bytes *b, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		sp_bytes_put_u8(b, (uint8_t)(n | 0x80));
	sp_bytes_put_u8(b, (uint8_t)n);
}

void sp_bytes_put_text(struct sp_bytes *b, const char *text)
{
	size_t n = strlen(text);

	sp_bytes_put_length(b, n);
	sp_bytes_put(b, text, n);
}

static void row_take(struct sp_row_reader *r, void *ret_bytes, size_t n)
{
	memset(ret_bytes, 0, n);
	r->bad = r->bad || (size_t)(r->end - r->at) < n;
	if (r->bad)
		return;
	memcpy(ret_bytes, r->at, n);
	r->at += n;
}

uint8_t sp_row_u8(struct sp_row_reader *r)
{
	uint8_t v;

	row_take(r, &v, sizeof(v));
	return v;
}

uint16_t sp_row_u16(struct sp_row_reader *r)
{
	uint16_t v;

	row_take(r, &v, sizeof(v));
	return le16toh(v);
}

uint32_t sp_row_u32(struct sp_row_reader *r)
{
	uint32_t v;

	row_take(r, &v, sizeof(v));
	return le32toh(v);
}

uint64_t sp_row_u64(struct sp_row_reader *r)
{
	uint64_t v;

	row_take(r, &v, sizeof(v));
	return le64toh(v);
}

size_t sp_row_length(struct sp_row_reader *r, size_t size)
{
	uint64_t n = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t part = sp_row_u8(r);
		r->bad = r->bad || shift > 56;
		if (r->bad)
			return 0;
		n |= (uint64_t)(part & 0x7f) << shift;
		if (!(part & 0x80))
			break;
	}
	r->bad = n > (size_t)(r->end - r->at) / size;
	return r->bad ? 0 : (size_t)n;
}

const char *sp_row_text(struct sp_row_reader *r, size_t *ret_n)
{
	const char *text;

	*ret_n = sp_row_length(r, 1);
	text = r->at;
	r->at += *ret_n;
	return text;
}
