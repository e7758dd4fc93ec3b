/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_table.c: look-ups in name tables; name_table_write.c makes them. */
#include "symbol/name_table.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/io.h"
#include "base/search.h"
#include "symbol/name_table_priv.h"
#include "symbol/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

_Static_assert(sizeof(struct sp_name_table_block) == 32, "part of the format");

uint64_t sp_name_table_hash(const struct sp_name_table_head *h)
{
	return sp_hash_bytes(h, offsetof(struct sp_name_table_head, hash), SP_NAME_TABLE_VERSION);
}

static int name_table_read_bytes(int fd, void *bytes, size_t size, uint64_t at)
{
	int r = sp_read_at(fd, bytes, size, at);
	return r == -ENODATA ? -EBADMSG : r;
}

static bool head_is_sound(const struct sp_name_table_head *h, uint64_t size)
{
	return h->magic == SP_NAME_TABLE_MAGIC && h->version == SP_NAME_TABLE_VERSION &&
	       h->hash == sp_name_table_hash(h) && h->bytes == size && size <= SP_NAME_TABLE_MAX_BYTES &&
	       h->n_blocks >= 1 && h->n_blocks <= SP_NAME_TABLE_MAX_BLOCKS && h->index_at >= sizeof(*h) &&
	       h->index_at <= size && size - h->index_at == h->n_blocks * sizeof(struct sp_name_table_block) &&
	       h->build_id_len <= sizeof(h->build_id) && h->own.build_id_len <= sizeof(h->own.build_id) &&
	       memchr(h->own.link, 0, sizeof(h->own.link)) && memchr(h->warning, 0, sizeof(h->warning)) &&
	       (!*h->own.link || sp_debuglink_is_name(h->own.link));
}

int sp_name_table_open(int fd, struct sp_name_table_head *ret_head)
{
	struct sp_name_table_head h;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	int r = name_table_read_bytes(fd, &h, sizeof(h), 0);
	if (r < 0 || !head_is_sound(&h, (uint64_t)st.st_size))
		return r < 0 ? r : -EBADMSG;
	*ret_head = h;
	return 0;
}

/* --- looking up --- */

struct sp_name_scratch {
	uint8_t packed[SP_NAME_BLOCK_MAX_PACKED], raw[SP_NAME_BLOCK_MAX_RAW];
	ZSTD_DCtx *zstd;
};

int sp_name_scratch_new(struct sp_name_scratch **ret_scratch)
{
	struct sp_name_scratch *s = calloc(1, sizeof(*s));
	if (s)
		s->zstd = ZSTD_createDCtx();
	if (!s || !s->zstd) {
		free(s);
		return -ENOMEM;
	}
	*ret_scratch = s;
	return 0;
}

void sp_name_scratch_free(struct sp_name_scratch *s)
{
	if (s)
		ZSTD_freeDCtx(s->zstd);
	free(s);
}

struct reading {
	const struct sp_name_table *t;
	struct sp_name_scratch *scratch;
	struct sp_name_table_block *index;
	size_t block; /* the block in raw; n_blocks = none */
	struct sp_cursor c;
	struct sp_span_state state;
	struct sp_span span, next; /* next.at: where span ends */
	bool has_next;
};

static int index_read(struct reading *d)
{
	size_t size = d->t->n_blocks * sizeof(*d->index);
	if (d->t->n_blocks > SP_NAME_TABLE_MAX_BLOCKS)
		return -EBADMSG;
	d->block = d->t->n_blocks;
	d->index = malloc(size + 1);
	int r = d->index ? 0 : -ENOMEM;
	if (r == 0 && !d->scratch)
		r = sp_name_scratch_new(&d->scratch);
	r = r < 0 ? r : name_table_read_bytes(d->t->fd, d->index, size, d->t->index_at);
	if (r < 0)
		return r;
	return sp_hash_bytes(d->index, size, SP_NAME_TABLE_VERSION) == d->t->index_hash ? 0 : -EBADMSG;
}

static void reading_done(struct reading *d)
{
	free(d->index);
	if (!d->t->scratch)
		sp_name_scratch_free(d->scratch);
}

/* The last block that begins at or before the offset; n_blocks = none. */
static size_t block_of(const struct reading *d, uint64_t offset)
{
	size_t low = SP_N_UP_TO(d->index, d->t->n_blocks, first, offset);
	return low ? low - 1 : d->t->n_blocks;
}

/* Moves on to the next span; after the last of a block, `next` says where the next block begins. */
static int name_table_next_span(struct reading *d)
{
	d->span = d->next;
	d->has_next = sp_cursor_left(&d->c) != 0;
	if (d->has_next)
		return sp_span_get(&d->state, &d->c, &d->next) ? 0 : -EBADMSG;
	d->next.at = d->block + 1 < d->t->n_blocks ? d->index[d->block + 1].first : UINT64_MAX;
	return 0;
}

static int block_read(struct reading *d, size_t i)
{
	const struct sp_name_table_block *b = &d->index[i];
	if (i >= d->t->n_blocks || b->packed > SP_NAME_BLOCK_MAX_PACKED || b->raw > SP_NAME_BLOCK_MAX_RAW ||
	    b->at > SP_NAME_TABLE_MAX_BYTES)
		return -EBADMSG;
	int r = name_table_read_bytes(d->t->fd, d->scratch->packed, b->packed, b->at);
	if (r < 0)
		return r;
	if (sp_hash_bytes(d->scratch->packed, b->packed, SP_NAME_TABLE_VERSION) != b->hash ||
	    ZSTD_decompressDCtx(d->scratch->zstd, d->scratch->raw, SP_NAME_BLOCK_MAX_RAW, d->scratch->packed,
				b->packed) != b->raw)
		return -EBADMSG;
	d->block = i;
	d->c = sp_cursor_on(d->scratch->raw, b->raw);
	d->state = (struct sp_span_state){0};
	if (!sp_span_get(&d->state, &d->c, &d->next) || d->next.at != b->first)
		return -EBADMSG;
	return name_table_next_span(d);
}

static int seek(struct reading *d, uint64_t offset)
{
	size_t i = block_of(d, offset);
	int r = i == d->block && i < d->t->n_blocks ? 0 : block_read(d, i);
	while (r == 0 && offset >= d->next.at && d->has_next)
		r = name_table_next_span(d);
	if (r < 0)
		return r;
	return offset >= d->span.at && (offset < d->next.at || d->next.at == UINT64_MAX) ? 0 : -EBADMSG;
}

static int name_table_copy_span(const struct sp_span *x, uint64_t to, uint64_t offset, struct sp_name *ret_name)
{
	if (!x->size) {
		*ret_name = (struct sp_name){.start = offset};
		return 0;
	}
	if (offset - x->start >= x->size)
		return -EBADMSG;
	char *name = x->name ? strndup(x->name, x->name_len) : NULL;
	char *linkage = x->linkage ? strndup(x->linkage, x->linkage_len) : NULL;
	if ((x->name && !name) || (x->linkage && !linkage)) {
		free(name);
		free(linkage);
		return -ENOMEM;
	}
	*ret_name = (struct sp_name){.name = name,
				     .linkage_name = linkage,
				     .start = x->start,
				     .size = x->size,
				     .vaddr = x->vaddr,
				     .is_gap = x->is_gap,
				     .from = x->at,
				     .to = to};
	return 0;
}

int sp_name_table_find(const struct sp_name_table *t, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct reading d = {.t = t, .scratch = t->scratch};
	memset(names, 0, n * sizeof(*names));
	int r = index_read(&d);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = seek(&d, offsets[i]);
		if (r == 0)
			r = name_table_copy_span(&d.span, d.next.at, offsets[i], &names[i]);
	}
	reading_done(&d);
	if (r < 0)
		sp_names_done(names, n);
	return r < 0 ? sp_fail(r, "read a table of names") : 0;
}
