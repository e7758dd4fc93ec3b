/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pbuf.h: protocol buffers, written by hand: varints and length-delimited fields, and a gzip stream to put them in.
 *
 * A buffer grows as it is written. `failed` says that memory ran out, so one test after a whole message is enough. As
 * in proto3, a number 0 outside a packed list is not written. The owner frees `data`.
 * A gzip stream writes to a stdio stream that it does not own; errors stick and come back from sp_gzip_done(), which
 * must be called once after a good sp_gzip_init(). Encoding: protobuf.dev, "Encoding".
 */
#ifndef SP_VIEW_INTERCHANGE_PBUF_H
#define SP_VIEW_INTERCHANGE_PBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct sp_pbuf {
	uint8_t *data;
	size_t capacity, n;
	bool failed;
};

void sp_pbuf_varint(struct sp_pbuf *b, uint64_t value); /* without a field number: an element of a packed list */
void sp_pbuf_number(struct sp_pbuf *b, uint32_t field, uint64_t value);
void sp_pbuf_fixed64(struct sp_pbuf *b, uint32_t field, uint64_t value);
void sp_pbuf_double(struct sp_pbuf *b, uint32_t field, double value);
void sp_pbuf_bytes(struct sp_pbuf *b, uint32_t field, const void *bytes, size_t len);
/* Appends the whole of `from` as a field (a message, or a packed list) and empties it. */
void sp_pbuf_message(struct sp_pbuf *b, uint32_t field, struct sp_pbuf *from);

struct sp_gzip_writer {
	z_stream z;
	FILE *out;
	int error;
	uint8_t chunk[8192];
};

enum { SP_GZIP_FAST = 1, SP_GZIP_USUAL = 6 };
int sp_gzip_init(struct sp_gzip_writer *g, FILE *out, int level);
void sp_gzip_put(struct sp_gzip_writer *g, const void *bytes, size_t len);
int sp_gzip_done(struct sp_gzip_writer *g); /* 0, -ENOMEM or the error of the stream */

#endif
