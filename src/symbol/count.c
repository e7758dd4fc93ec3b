/* SPDX-License-Identifier: GPL-2.0-or-later */
/* count.c: spans of code, in file offsets, collected, sorted and walked over once. */
#include "symbol/count.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/debug.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "symbol/priv.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

struct span {
	uint64_t start, end;
};
struct spans {
	struct span *at;
	size_t n, capacity;
};
struct counting {
	struct sp_elf *elf;
	struct sp_symbol_counts *counts;
	uint64_t *n_symbols; /* of the table that is walked */
	struct spans code, ranges, symbols;
	bool is_other; /* not the table of the file itself: its symbols are counted, their places are not used */
};

static int span_add(struct spans *s, uint64_t start, uint64_t size)
{
	uint64_t end;

	if (__builtin_add_overflow(start, size, &end))
		return 0;
	return SP_APPEND(s->at, s->n, s->capacity, (struct span){start, end});
}

static int count_compare_starts(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return SP_RISING(x->start, y->start) ?: SP_RISING(x->end, y->end);
}

static void sort(struct spans *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), count_compare_starts);
}

/* --- what there is --- */

static int code_sections(struct counting *c)
{
	const uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
	struct sp_elf_section s;
	int r = 0;

	for (size_t i = 0; r == 0 && !sp_elf_section_at(c->elf, i, &s); i++)
		if ((s.flags & flags) == flags && s.type != SHT_NOBITS)
			r = span_add(&c->code, s.offset, s.size);
	return r;
}

static int code_find(struct counting *c)
{
	int r = code_sections(c);

	for (size_t i = 0; r == 0 && !c->code.n && i < sp_elf_n_segments(c->elf); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(c->elf, i);
		if (s->executable)
			r = span_add(&c->code, s->offset, s->file_size);
	}
	sort(&c->code);
	return r;
}

static int note_range(void *arg, uint64_t start, uint64_t size)
{
	struct counting *c = arg;
	c->counts->n_ranges++;
	return span_add(&c->ranges, start, size);
}

static int note_symbol(void *arg, const struct sp_symbol *s)
{
	struct counting *c = arg;
	uint64_t offset;

	++*c->n_symbols;
	if (c->is_other || sp_elf_offset_of(c->elf, s->vaddr, &offset) < 0)
		return 0;
	return span_add(&c->symbols, offset, s->size);
}

static int count_table(struct counting *c, struct sp_elf *e, bool dynamic, uint64_t *n_symbols)
{
	struct sp_symtab *table;
	int r = sp_symtab_open(e, dynamic, &table);

	if (r == 0) {
		c->n_symbols = n_symbols;
		r = sp_symtab_walk(table, note_symbol, c);
		sp_symtab_close(table);
	}
	sp_error_clear();
	return r == -ENOMEM ? r : 0;
}

static int count_packed(struct counting *c)
{
	SP_FREE void *bytes = NULL;
	struct sp_elf *packed = NULL;
	size_t size;
	int r = sp_elf_debugdata(c->elf, &bytes, &size);

	if (r == -ENOENT)
		return 0;
	c->counts->has_debugdata = 1;
	if (r == 0)
		r = sp_elf_open_bytes(bytes, size, &packed);
	c->counts->debugdata_bad = r < 0;
	sp_error_clear();
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	c->is_other = true;
	r = count_table(c, packed, false, &c->counts->n_debugdata);
	sp_elf_close(packed);
	return r;
}

static int count_go(struct counting *c)
{
	struct sp_go_func f;
	struct sp_go *go;
	int r = sp_go_open(c->elf, &go);

	sp_error_clear();
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r == 0 && i < sp_go_n_funcs(go); i++) {
		uint64_t offset;
		if (!sp_go_func(go, i, &f) || sp_elf_offset_of(c->elf, f.start, &offset) < 0)
			continue;
		c->counts->n_go++;
		r = span_add(&c->symbols, offset, sp_go_code_end(go, &f) - f.start);
	}
	sp_go_close(go);
	return r;
}

/* --- what lies where --- */

static void count_unnamed(struct counting *c)
{
	size_t k = 0;

	for (size_t i = 0; i < c->ranges.n; i++) {
		while (k < c->symbols.n && c->symbols.at[k].start < c->ranges.at[i].start)
			k++;
		c->counts->n_unnamed += k == c->symbols.n || c->symbols.at[k].start >= c->ranges.at[i].end;
	}
}

static void note_gap(struct counting *c, uint64_t start, uint64_t end)
{
	if (end <= start || end - start < SP_GAP_BYTES)
		return;
	c->counts->n_gaps++;
	c->counts->gap_bytes += end - start;
}

/* Ranges and symbols are now one sorted list; `next` is the first entry that may reach behind `at`. */
static void count_gaps(struct counting *c, const struct spans *all)
{
	uint64_t at = 0, end = 0; /* ends of what is covered, and of the code before */
	size_t next = 0;

	for (size_t i = 0; i < c->code.n; i++) {
		const struct span *code = &c->code.at[i];
		if (code->end <= end)
			continue;
		c->counts->code_bytes += code->end - SP_MAX(end, code->start);
		at = SP_MAX(at, SP_MAX(end, code->start));
		end = code->end;
		for (; next < all->n && all->at[next].start < code->end; next++) {
			note_gap(c, at, all->at[next].start);
			at = SP_MAX(at, all->at[next].end);
		}
		note_gap(c, at, code->end);
		at = SP_MAX(at, code->end);
	}
}

static int count_places(struct counting *c)
{
	struct spans all = {0};
	int r = 0;

	sort(&c->ranges);
	sort(&c->symbols);
	count_unnamed(c);
	for (size_t i = 0; r == 0 && i < c->ranges.n; i++)
		r = span_add(&all, c->ranges.at[i].start, c->ranges.at[i].end - c->ranges.at[i].start);
	for (size_t i = 0; r == 0 && i < c->symbols.n; i++)
		if (c->symbols.at[i].end > c->symbols.at[i].start)
			r = span_add(&all, c->symbols.at[i].start, c->symbols.at[i].end - c->symbols.at[i].start);
	sort(&all);
	if (r == 0)
		count_gaps(c, &all);
	free(all.at);
	return r;
}

int sp_symbols_count(struct sp_elf *e, sp_range_walk *walk, struct sp_symbol_counts *ret_counts)
{
	struct sp_symbol_counts counts = {.is_cut = sp_elf_is_cut(e)};
	struct counting c = {.elf = e, .counts = &counts};
	int r = code_find(&c);

	if (r == 0)
		r = walk(e, note_range, &c);
	if (r == 0 || r == -EFBIG || r == -EBADMSG)
		r = count_table(&c, e, false, &counts.n_symtab);
	if (r == 0)
		r = count_table(&c, e, true, &counts.n_dynsym);
	if (r == 0)
		r = count_go(&c);
	if (r == 0)
		r = count_packed(&c);
	if (r == 0)
		r = count_places(&c);
	free(c.code.at);
	free(c.ranges.at);
	free(c.symbols.at);
	if (r == 0)
		*ret_counts = counts;
	return r;
}
