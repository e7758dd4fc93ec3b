/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_table_write.c: spans from a parser, checked, into the blocks of a table. */
#include "base/error.h"
#include "base/intern.h"
#include "base/io.h"
#include "base/mem.h"
#include "symbol/name_table_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { INPUT_BYTES = 128 << 10, LEVEL = 1 /* blocks are small, and it is the session that compresses them */ };
_Static_assert(ZSTD_COMPRESSBOUND(SP_NAME_BLOCK_MAX_RAW) <= SP_NAME_BLOCK_MAX_PACKED, "a block always fits");

struct writing {
	int from, to;
	uint64_t left, read_at; /* input bytes not read yet, and where they begin */
	uint8_t *in;
	size_t in_room, n_in, at_in;
	struct sp_span_state read, write;
	uint64_t n_spans;
	uint64_t end; /* of the last span's function; UINT64_MAX if it has none */
	uint8_t *raw, *packed;
	size_t n_raw;
	ZSTD_CCtx *zstd;
	struct sp_name_table_block *blocks;
	size_t n_blocks, capacity;
	uint64_t bytes; /* written so far */
};

/* --- what the parser says --- */

/* Reads as much as fits, behind the bytes that are not used yet. */
static int refill(struct writing *w)
{
	memmove(w->in, w->in + w->at_in, w->n_in - w->at_in);
	w->n_in -= w->at_in;
	w->at_in = 0;
	size_t want = SP_MIN(w->left, (uint64_t)(w->in_room - w->n_in));
	int r = sp_read_at(w->from, w->in + w->n_in, want, w->read_at);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	w->n_in += want;
	w->read_at += want;
	w->left -= want;
	return 0;
}

/* 1: a span, whose strings point into the input; 0: the end. */
static int next_span(struct writing *w, struct sp_span *x)
{
	int r = w->n_in - w->at_in < SP_SPAN_MAX_BYTES && w->left ? refill(w) : 0;
	if (r < 0 || w->at_in == w->n_in)
		return r;
	struct sp_cursor c = sp_cursor_on(w->in + w->at_in, w->n_in - w->at_in);
	bool first = !w->read.any;
	if (!sp_span_get(&w->read, &c, x) || (first ? x->at != 0 : x->at > w->end))
		return -EBADMSG;
	w->end = x->size ? x->start + x->size : UINT64_MAX;
	w->at_in += c.at;
	return 1;
}

/* --- blocks --- */

static int block_close(struct writing *w)
{
	if (!w->n_raw)
		return 0;
	if (w->n_blocks > SP_NAME_TABLE_MAX_BLOCKS)
		return -EFBIG;
	struct sp_name_table_block *b = &w->blocks[w->n_blocks - 1];
	size_t n = ZSTD_compressCCtx(w->zstd, w->packed, SP_NAME_BLOCK_MAX_PACKED, w->raw, w->n_raw, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	b->at = w->bytes;
	b->raw = (uint32_t)w->n_raw;
	b->packed = (uint32_t)n;
	b->hash = sp_hash_bytes(w->packed, n, SP_NAME_TABLE_VERSION);
	w->n_raw = 0;
	w->bytes += n;
	if (w->bytes > SP_NAME_TABLE_MAX_BYTES)
		return -EFBIG;
	return sp_write_at(w->to, w->packed, n, b->at);
}

static int block_begin(struct writing *w, uint64_t first)
{
	int r = sp_grow(&w->blocks, &w->capacity, w->n_blocks + 1, sizeof(*w->blocks));
	if (r == 0)
		w->blocks[w->n_blocks++] = (struct sp_name_table_block){.first = first};
	w->write = (struct sp_span_state){0};
	return r;
}

static int name_table_write_span(struct writing *w, const struct sp_span *x)
{
	int r = w->n_raw >= SP_NAME_BLOCK_BYTES ? block_close(w) : 0;
	if (r == 0 && !w->n_raw)
		r = block_begin(w, x->at);
	if (r == 0)
		w->n_raw += sp_span_put(&w->write, x, w->raw + w->n_raw);
	w->n_spans += r == 0;
	return r;
}

static int write_blocks(struct writing *w)
{
	struct sp_span x;
	int r;
	while ((r = next_span(w, &x)) > 0) {
		r = name_table_write_span(w, &x);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : w->n_blocks && w->end == UINT64_MAX ? block_close(w) : -EBADMSG;
}

static int name_table_write_index(struct writing *w, struct sp_name_table_head *h)
{
	size_t size = w->n_blocks * sizeof(*w->blocks);
	h->magic = SP_NAME_TABLE_MAGIC;
	h->version = SP_NAME_TABLE_VERSION;
	h->n_spans = w->n_spans;
	h->n_blocks = w->n_blocks;
	h->index_at = w->bytes;
	h->index_hash = sp_hash_bytes(w->blocks, size, SP_NAME_TABLE_VERSION);
	h->bytes = w->bytes + size;
	h->hash = sp_name_table_hash(h);
	int r = h->bytes > SP_NAME_TABLE_MAX_BYTES ? -EFBIG : sp_write_at(w->to, w->blocks, size, w->bytes);
	return r < 0 ? r : sp_write_at(w->to, h, sizeof(*h), 0);
}

static int writing_init(struct writing *w)
{
	w->in_room = (size_t)SP_MAX(SP_MIN(w->left, (uint64_t)INPUT_BYTES), UINT64_C(1));
	w->in = malloc(w->in_room);
	w->raw = malloc(SP_NAME_BLOCK_MAX_RAW);
	w->packed = malloc(SP_NAME_BLOCK_MAX_PACKED);
	w->zstd = ZSTD_createCCtx();
	return w->in && w->raw && w->packed && w->zstd ? 0 : -ENOMEM;
}

int sp_name_table_write(int from_fd, uint64_t from_bytes, int to_fd, struct sp_name_table_head *head)
{
	struct writing w = {.from = from_fd, .to = to_fd, .left = from_bytes, .bytes = sizeof(*head)};
	int r = writing_init(&w);
	r = r < 0 ? r : write_blocks(&w);
	r = r < 0 ? r : name_table_write_index(&w, head);
	free(w.in);
	free(w.raw);
	free(w.packed);
	free(w.blocks);
	ZSTD_freeCCtx(w.zstd);
	return r < 0 ? sp_fail(r, "write a table of names") : 0;
}
