/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_blob.c: where V8's embedded builtins lie in a file that exports nothing of V8 (chromium).
 *
 * V8 links its builtins in as two blobs, code and data. The data has two tables, one behind the other: where each
 * builtin is in the code, and how long, by its number; and where each ends, in the order in which they lie there, with
 * its number. So the second table has the numbers 0 to n - 1 in some order, and both tables agree, which no other data
 * does by chance. In the code only int3 lies between two builtins: the place where that holds for all of them is
 * theirs. Two kinds of places are tried: those at which code that has an FDE, beside much code without, would be a
 * builtin (chromium has FDEs for the few that C++ calls), and all pages of code without FDE, unless that is too much to
 * read. Source: V8's src/snapshot/embedded/embedded-data.h, as of V8 12 to 15.
 */
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIN_BUILTINS = 1024, /* 2,384 in node 24, 2,532 in chromium 156 */
	MAX_BUILTINS = 8192,
	MIN_CODE = 512 << 10,
	MAX_CODE = 32 << 20,
	MAX_DATA = 256 << 20, /* bytes of data in a file that are searched for the tables */
	CHUNK = 1 << 20,
	STRIDE = MIN_BUILTINS / 2 * 8, /* each such stretch has an entry of the table of ends, and NEAR more behind */
	NEAR = 16,
	ALIGNMENT = 16, /* of a builtin, at least */
	PAGE = 4096,
	INT3 = 0xcc
};

struct layout { /* a builtin, by its number */
	uint32_t offset, size, metadata;
};
struct end { /* a builtin's end, in the order of the code */
	uint32_t offset, number;
};
struct finder {
	struct sp_elf *elf;
	uint8_t *tables; /* a copy of the part of the data that has both tables */
	const struct layout *layouts;
	const struct end *ends;
	uint32_t n;
};

/* --- the tables --- */

/* Whether one entry of the table of ends may follow the other. */
static bool follow(const struct end *a, const struct end *b)
{
	return b->offset > a->offset && b->offset - a->offset <= MAX_CODE && b->offset % ALIGNMENT == 0 &&
	       b->number < MAX_BUILTINS;
}

static bool all_follow(const struct end *e, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (!follow(&e[i - 1], &e[i]))
			return false;
	return true;
}

/* Whether these n ends, and the n layouts before them, agree about each builtin. */
static bool agree(const struct end *e, uint32_t n)
{
	const struct layout *all = (const struct layout *)e - n;
	uint32_t start = 0;
	for (uint32_t i = 0; i < n; start = e[i++].offset) {
		const struct layout *l = e[i].number < n ? &all[e[i].number] : NULL;
		if (!l || l->offset != start || l->size >= e[i].offset - start)
			return false;
	}
	return true;
}

/*
 * Finds both ends of the table of ends from an entry in its middle. tables: n_before entries' bytes before it, n_behind
 * from it on. The end of the layouts may look like one or two more entries.
 */
static bool find_ends(struct finder *f, const struct end *middle, uint32_t n_before, uint32_t n_behind)
{
	enum { MAY_BE_ONE_MORE = 2 };
	const struct end *first = middle, *last = middle; /* the first and last entry found */
	while ((uint32_t)(middle - first) < n_before && follow(first - 1, first))
		first--;
	while ((uint32_t)(last - middle) + 1 < n_behind && follow(last, last + 1))
		last++;
	for (int i = 0; i <= MAY_BE_ONE_MORE; i++, first++) {
		uint32_t n = 0;
		for (const struct end *e = first; e <= last; e++)
			n = SP_MAX(n, e->number + 1);
		if (n < MIN_BUILTINS || n > (uint32_t)(last - first) + 1 ||
		    (size_t)((const uint8_t *)first - f->tables) < n * sizeof(struct layout) || !agree(first, n))
			continue;
		f->ends = first;
		f->layouts = (const struct layout *)first - n;
		f->n = n;
		return true;
	}
	return false;
}

/* Whether the tables are around position `at` of the data [from, to). 1: found; 0: no. */
static int try_tables(struct finder *f, uint64_t from, uint64_t to, uint64_t at)
{
	const uint64_t ends = MAX_BUILTINS * sizeof(struct end), layouts = MAX_BUILTINS * sizeof(struct layout);
	uint64_t start = at - from > ends + layouts ? at - ends - layouts : from + (at - from) % sizeof(struct end);
	uint64_t end = SP_MIN(at + ends, to);
	void *bytes;
	int r = sp_elf_read(f->elf, start, (size_t)(end - start), &bytes);
	if (r < 0)
		return r;
	free(f->tables);
	f->tables = bytes;
	return find_ends(f, (const struct end *)(f->tables + (at - start)),
			 (uint32_t)(SP_MIN(at - start, ends) / sizeof(struct end)),
			 (uint32_t)((end - at) / sizeof(struct end)));
}

static int look_through(struct finder *f, uint64_t from, uint64_t to, const uint8_t *bytes, uint64_t at, size_t size)
{
	struct end few[NEAR];
	int r = 0;
	for (size_t i = 0; r == 0 && i + sizeof(few) + sizeof(uint32_t) <= size; i += STRIDE)
		for (size_t half = 0; r == 0 && half <= sizeof(uint32_t); half += sizeof(uint32_t)) {
			memcpy(few, bytes + i + half, sizeof(few));
			if (all_follow(few, NEAR))
				r = try_tables(f, from, to, at + i + half);
		}
	return r;
}

/* 1: found; 0: the file has none. */
static int find_tables(struct finder *f)
{
	struct sp_elf_section s;
	if (sp_elf_section(f->elf, ".rodata", &s) < 0 || s.type == SHT_NOBITS || s.size > MAX_DATA)
		return 0;
	int r = 0;
	for (uint64_t at = s.offset; r == 0 && at < s.offset + s.size; at += CHUNK) {
		SP_FREE void *bytes = NULL;
		size_t size = (size_t)SP_MIN((uint64_t)CHUNK, s.offset + s.size - at);
		r = sp_elf_read(f->elf, at, size, &bytes);
		if (r == 0)
			r = look_through(f, s.offset, s.offset + s.size, bytes, at, size);
	}
	return r;
}

/* --- the code --- */

static uint32_t code_size(const struct finder *f)
{
	return f->ends[f->n - 1].offset;
}

/* Whether these bytes are the code of the builtins. */
static bool is_code(const struct finder *f, const uint8_t *code)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct layout *l = &f->layouts[f->ends[i].number];
		for (uint32_t at = l->offset + l->size; at < f->ends[i].offset; at++)
			if (code[at] != INT3)
				return false;
	}
	return true;
}

static int try_code(struct finder *f, uint64_t at)
{
	SP_FREE void *code = NULL;
	int r = sp_elf_read(f->elf, at, code_size(f), &code);
	return r < 0 ? (r == -ENOMEM ? r : 0) : is_code(f, code);
}

/* Tries each builtin that this code with an FDE may be. */
static int try_builtin(struct finder *f, const struct sp_code_span *span, uint64_t *ret_at)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < f->n; i++) {
		const struct layout *l = &f->layouts[i];
		*ret_at = span->start - l->offset;
		if (l->size == span->end - span->start && l->offset < span->start && *ret_at % PAGE == 0)
			r = try_code(f, *ret_at);
	}
	return r;
}

static int try_pages(struct finder *f, uint64_t from, uint64_t to, uint64_t *ret_at)
{
	uint32_t size = code_size(f);
	int r = 0;
	if (to - from < size || to - from > SP_DERIVE_MAX_CODE)
		return 0;
	for (*ret_at = (from + PAGE - 1) / PAGE * PAGE; r == 0 && *ret_at + size <= to; *ret_at += r ? 0 : PAGE) {
		uint8_t padding = 0;
		r = sp_elf_read_into(f->elf, *ret_at + f->ends[0].offset - 1, &padding, 1);
		r = r == 0 && padding == INT3 ? try_code(f, *ret_at) : r;
	}
	return r;
}

static int find_code(struct finder *f, const struct sp_code_span *covered, size_t n, uint64_t *ret_at)
{
	int r = 0;
	for (size_t i = 1; r == 0 && i < n; i++) {
		if (covered[i].start - covered[i - 1].end < MIN_CODE)
			continue;
		r = try_builtin(f, &covered[i - 1], ret_at);
		r = r ? r : try_builtin(f, &covered[i], ret_at);
		r = r ? r : try_pages(f, covered[i - 1].end, covered[i].start, ret_at);
	}
	return r;
}

static bool has_gap(const struct sp_code_span *covered, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (covered[i].start - covered[i - 1].end >= MIN_CODE)
			return true;
	return false;
}

int sp_v8_find(struct sp_elf *e, const struct sp_code_span *covered, size_t n, struct sp_code_span *ret_builtins)
{
	struct finder f = {.elf = e};
	uint64_t at;
	*ret_builtins = (struct sp_code_span){0};
	int r = has_gap(covered, n) ? find_tables(&f) : 0;
	r = r > 0 ? find_code(&f, covered, n, &at) : r;
	if (r > 0)
		*ret_builtins = (struct sp_code_span){at, at + code_size(&f)};
	free(f.tables);
	return r == -ENOMEM ? r : 0;
}
