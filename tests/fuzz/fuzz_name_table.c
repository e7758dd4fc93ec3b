/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_name_table.c: any bytes as spans from a parser, and any bytes as a table of names on disk.
 *
 * The first byte chooses. Spans that are taken make a table that answers every offset, each answer holding its offset,
 * and the same if it is asked alone. A table's head, index and blocks get the hashes that they should have, since
 * nothing else would come past them; what is answered then holds its offset, or nothing is answered.
 */
#include "base/error.h"
#include "base/intern.h"
#include "require.h"
#include "symbol/name_table_priv.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

enum { N_OFFSETS = 48 };

static void check(const struct sp_name *m, uint64_t offset)
{
	if (!m->size) {
		require(!m->name && !m->is_gap && m->start == offset);
		return;
	}
	require(offset >= m->start && offset - m->start < m->size);
	require(offset >= m->from && (offset < m->to || m->to == UINT64_MAX));
	require(!m->name || (!m->is_gap && *m->name && strlen(m->name) < SP_NAME_MAX));
	require(!m->linkage_name || (m->name && strlen(m->linkage_name) < SP_NAME_MAX));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int ask(int fd, const struct sp_name_table_head *h, const uint8_t *data, size_t size)
{
	struct sp_name_table t = {
	    .fd = fd, .n_blocks = h->n_blocks, .index_at = h->index_at, .index_hash = h->index_hash};
	uint64_t offsets[N_OFFSETS] = {0};
	struct sp_name names[N_OFFSETS], alone;
	for (size_t i = 0; i < N_OFFSETS; i++)
		offsets[i] = i < N_OFFSETS / 2 ? i * 7 : size ? (uint64_t)data[i % size] << (i % 56) : UINT64_MAX;
	qsort(offsets, N_OFFSETS, sizeof(*offsets), by_value);
	int r = sp_name_table_find(&t, offsets, N_OFFSETS, names);
	for (size_t i = 0; r == 0 && i < N_OFFSETS; i++)
		check(&names[i], offsets[i]);
	if (r == 0) {
		size_t one = size % N_OFFSETS;
		require(sp_name_table_find(&t, &offsets[one], 1, &alone) == 0);
		require(alone.start == names[one].start && alone.size == names[one].size &&
			alone.from == names[one].from && alone.to == names[one].to);
		sp_names_done(&alone, 1);
		sp_names_done(names, N_OFFSETS);
	}
	return r;
}

static void as_spans(const uint8_t *data, size_t size)
{
	struct sp_name_table_head head = {.file_size = size}, read;
	int from = memfd_create("spans", 0), to = memfd_create("table", 0);
	require(from >= 0 && to >= 0 && write(from, data, size) == (ssize_t)size);
	if (sp_name_table_write(from, size, to, &head) == 0) {
		require(sp_name_table_open(to, &read) == 0 && !memcmp(&read, &head, sizeof(head)));
		require(ask(to, &head, data, size) == 0);
	}
	close(from);
	close(to);
}

/* One block of these bytes, or of these bytes packed, behind a head that fits. */
static void as_table(const uint8_t *data, size_t size, bool packed)
{
	static char out[SP_NAME_BLOCK_MAX_PACKED];
	struct sp_name_table_block b = {.at = sizeof(struct sp_name_table_head), .raw = (uint32_t)size};
	struct sp_name_table_head h = {.magic = SP_NAME_TABLE_MAGIC, .version = SP_NAME_TABLE_VERSION, .n_blocks = 1};
	if (size > SP_NAME_BLOCK_MAX_RAW)
		return;
	size_t n = packed ? ZSTD_compress(out, sizeof(out), data, size, 1) : size;
	if (!packed)
		memcpy(out, data, size);
	b.packed = (uint32_t)n;
	b.hash = sp_hash_bytes(out, n, SP_NAME_TABLE_VERSION);
	h.index_at = sizeof(h) + n;
	h.index_hash = sp_hash_bytes(&b, sizeof(b), SP_NAME_TABLE_VERSION);
	h.bytes = h.index_at + sizeof(b);
	h.hash = sp_name_table_hash(&h);
	int fd = memfd_create("table", 0);
	require(fd >= 0 && write(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) && write(fd, out, n) == (ssize_t)n &&
		write(fd, &b, sizeof(b)) == (ssize_t)sizeof(b));
	struct sp_name_table_head read;
	require(sp_name_table_open(fd, &read) == 0);
	ask(fd, &read, data, size);
	close(fd);
}

/* A head that may be anything, but for what is compared first. */
static void as_head(const uint8_t *data, size_t size)
{
	struct sp_name_table_head h = {0};
	memcpy(&h, data, size < sizeof(h) ? size : sizeof(h));
	h.magic = SP_NAME_TABLE_MAGIC;
	h.version = SP_NAME_TABLE_VERSION;
	h.bytes = size > sizeof(h) ? size : sizeof(h);
	h.hash = sp_name_table_hash(&h);
	int fd = memfd_create("table", 0);
	require(fd >= 0 && write(fd, &h, sizeof(h)) == (ssize_t)sizeof(h));
	if (size > sizeof(h))
		require(write(fd, data + sizeof(h), size - sizeof(h)) == (ssize_t)(size - sizeof(h)));
	if (sp_name_table_open(fd, &h) == 0) {
		require(!memchr(h.own.link, '/', strlen(h.own.link)));
		ask(fd, &h, data, size);
	}
	close(fd);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (*data % 4 == 0)
		as_spans(data + 1, size - 1);
	else if (*data % 4 == 3)
		as_head(data + 1, size - 1);
	else
		as_table(data + 1, size - 1, *data % 4 == 1);
	sp_error_clear();
	return 0;
}
