/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbuf.c: see pbuf.h. */
#include "view/interchange/pbuf.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, MAX_VARINT = 10 };

static uint8_t *room(struct sp_pbuf *b, size_t len)
{
	if (b->failed || sp_grow(&b->data, &b->capacity, b->n + len, 1) < 0) {
		b->failed = true;
		return NULL;
	}
	return b->data + b->n;
}

void sp_pbuf_varint(struct sp_pbuf *b, uint64_t value)
{
	uint8_t *at = room(b, MAX_VARINT);

	if (!at)
		return;
	for (; value >= 0x80; value >>= 7) {
		*at++ = (uint8_t)(value | 0x80);
		b->n++;
	}
	*at = (uint8_t)value;
	b->n++;
}

void sp_pbuf_number(struct sp_pbuf *b, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	sp_pbuf_varint(b, field << 3 | WIRE_VARINT);
	sp_pbuf_varint(b, value);
}

/* Little-endian, as we are. */
void sp_pbuf_fixed64(struct sp_pbuf *b, uint32_t field, uint64_t value)
{
	uint8_t *at;

	if (!value)
		return;
	sp_pbuf_varint(b, field << 3 | WIRE_FIXED64);
	at = room(b, sizeof(value));
	if (!at)
		return;
	memcpy(at, &value, sizeof(value));
	b->n += sizeof(value);
}

void sp_pbuf_double(struct sp_pbuf *b, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	sp_pbuf_fixed64(b, field, value == 0 ? 0 : bits);
}

void sp_pbuf_bytes(struct sp_pbuf *b, uint32_t field, const void *bytes, size_t len)
{
	uint8_t *at;

	sp_pbuf_varint(b, field << 3 | WIRE_BYTES);
	sp_pbuf_varint(b, len);
	at = room(b, len);
	if (!at || !len)
		return;
	memcpy(at, bytes, len);
	b->n += len;
}

void sp_pbuf_message(struct sp_pbuf *b, uint32_t field, struct sp_pbuf *from)
{
	b->failed |= from->failed;
	sp_pbuf_bytes(b, field, from->data, from->n);
	from->n = 0;
}

int sp_gzip_init(struct sp_gzip_writer *g, FILE *out, int level)
{
	enum { GZIP_WINDOW = 15 + 16, MEMORY = 8 };

	*g = (struct sp_gzip_writer){.out = out};
	if (deflateInit2(&g->z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	return 0;
}

static void deflate_all(struct sp_gzip_writer *g, int flush)
{
	int r;

	do {
		size_t n;

		g->z.next_out = g->chunk;
		g->z.avail_out = sizeof(g->chunk);
		r = deflate(&g->z, flush);
		n = sizeof(g->chunk) - g->z.avail_out;
		errno = EIO; /* unless the stream sets another: ENOSPC, EPIPE */
		if (n && fwrite(g->chunk, 1, n, g->out) != n)
			g->error = -errno;
	} while (!g->error && r == Z_OK && !g->z.avail_out);
}

void sp_gzip_put(struct sp_gzip_writer *g, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len && !g->error) {
		size_t n = SP_MIN(len, (size_t)INT_MAX);

		g->z.next_in = (uint8_t *)(uintptr_t)at; /* zlib's pointer is not const, but it only reads */
		g->z.avail_in = (uInt)n;
		deflate_all(g, Z_NO_FLUSH);
		at += n;
		len -= n;
	}
}

int sp_gzip_done(struct sp_gzip_writer *g)
{
	if (!g->error)
		deflate_all(g, Z_FINISH);
	deflateEnd(&g->z);
	return g->error;
}
