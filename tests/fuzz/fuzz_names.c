/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_names.c: any bytes as an ELF file whose functions are to be named, or as a name to be demangled.
 *
 * Whatever the file says, an answer holds its offset, a name is neither empty nor too long, and asking for one offset
 * alone (every eighth input) gives the same answer as asking for it among others. All of its functions, as spans, make
 * a table (every second) that is never refused, and whose answers hold their offsets.
 */
#include "base/error.h"
#include "elf/elf.h"
#include "require.h"
#include "symbol/name_table.h"
#include "symbol/span.h"
#include "unwind/build.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_OFFSETS = 64, ALONE_EVERY = 8, TABLE_EVERY = 2 };

static unsigned n_runs;

static void check_name(const struct sp_name *m, uint64_t offset)
{
	require(!m->linkage_name || m->name);
	if (!m->size) {
		require(!m->name && !m->is_gap && m->start == offset);
		return;
	}
	require(offset >= m->start && offset - m->start < m->size);
	require(!m->name || !m->is_gap);
	require(!m->name || (*m->name && strlen(m->name) < SP_NAME_MAX));
	require(!m->linkage_name || strlen(m->linkage_name) < SP_NAME_MAX);
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Spread over the executable segments, and where symbols of small programs lie. */
static void choose_offsets(const struct sp_elf *e, uint64_t *offsets)
{
	size_t n = sp_elf_n_segments(e);
	for (size_t i = 0; i < N_OFFSETS; i++) {
		const struct sp_elf_segment *g = n ? sp_elf_segment(e, i % n) : NULL;
		uint64_t step = g ? g->file_size / N_OFFSETS + 1 : 1;
		offsets[i] = g && i < N_OFFSETS / 2 ? g->offset + i * step : i * 16;
	}
	qsort(offsets, N_OFFSETS, sizeof(*offsets), by_number);
}

static void name_file(struct sp_elf *e)
{
	uint64_t offsets[N_OFFSETS];
	struct sp_name names[N_OFFSETS], alone;
	choose_offsets(e, offsets);
	if (sp_names_find(e, sp_fde_walk, offsets, N_OFFSETS, names) < 0)
		return;
	for (size_t i = 0; i < N_OFFSETS; i++)
		check_name(&names[i], offsets[i]);
	const size_t one = offsets[0] % N_OFFSETS;
	if (n_runs % ALONE_EVERY == 0 && sp_names_find(e, sp_fde_walk, &offsets[one], 1, &alone) == 0) {
		require(same_text(alone.name, names[one].name) && alone.start == names[one].start &&
			alone.size == names[one].size && alone.is_gap == names[one].is_gap);
		sp_names_done(&alone, 1);
	}
	sp_names_done(names, N_OFFSETS);
}

struct spans_out {
	int fd;
	uint64_t n;
	struct sp_span_state state;
};

static int span_out(void *arg, const struct sp_span *span)
{
	struct spans_out *o = arg;
	uint8_t bytes[SP_SPAN_MAX_BYTES];
	size_t n = sp_span_put(&o->state, span, bytes);
	require(write(o->fd, bytes, n) == (ssize_t)n);
	o->n += n;
	return 0;
}

static void make_table(struct sp_elf *e)
{
	struct sp_names_more more = {.debug = NULL};
	static int from = -1, to = -1; /* kept to the end */

	if (from < 0)
		from = memfd_create("spans", MFD_CLOEXEC), to = memfd_create("table", MFD_CLOEXEC);
	require(from >= 0 && to >= 0 && lseek(from, 0, SEEK_SET) == 0 && ftruncate(to, 0) == 0);
	struct spans_out o = {.fd = from};
	struct sp_name_table_head head = {0};
	uint64_t offsets[N_OFFSETS];
	struct sp_name names[N_OFFSETS];
	choose_offsets(e, offsets);
	if (sp_spans_walk(e, &more, sp_fde_walk, span_out, &o) == 0) {
		require(sp_name_table_write(o.fd, o.n, to, &head) == 0);
		const struct sp_name_table t = {
		    .fd = to, .n_blocks = head.n_blocks, .index_at = head.index_at, .index_hash = head.index_hash};
		require(sp_name_table_find(&t, offsets, N_OFFSETS, names) == 0);
		for (size_t i = 0; i < N_OFFSETS; i++)
			check_name(&names[i], offsets[i]);
		sp_names_done(names, N_OFFSETS);
	}
}

static void demangle(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	if (!name)
		return;
	memcpy(name, data, size);
	name[size] = 0;
	char *shown = sp_demangle(name);
	require(shown && strlen(shown) < SP_NAME_MAX);
	free(shown);
	free(name);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_elf *e = NULL;
	if (size && *data == '_')
		demangle(data, size);
	else if (sp_elf_open_bytes(data, size, &e) == 0) {
		name_file(e);
		if (n_runs % TABLE_EVERY == 0)
			make_table(e);
		n_runs++;
		sp_elf_close(e);
	}
	sp_error_clear();
	return 0;
}
