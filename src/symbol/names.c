/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.c: which function lies at each of some offsets, in two passes over a symbol table that is never kept.
 *
 * The first pass finds where the function at each offset starts: the latest start of all symbols that cover the offset
 * by their size; failing that, the latest start before it, if the symbols there have no size. The second pass chooses
 * among the symbols at these starts. Everything is compared in virtual addresses, as the table has them. Every function
 * that passes by, those of .eh_frame too, narrows the gaps for the offsets that will belong to none.
 */
#include "symbol/names.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/arch.h"
#include "elf/debug.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "symbol/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how { NOT_FOUND, BY_SIZE, BY_FLOOR };

struct want {
	uint64_t offset, vaddr;
	size_t number; /* of the answer */
	const struct sp_elf_segment *segment;
	enum how how;
	uint64_t start, end;       /* the function found so far, in virtual addresses */
	uint64_t floor, floor_end; /* the latest symbol up to here, and the end of what holds it; floor_end 0 = none */
	uint64_t next;             /* start of the first symbol behind */
	bool floor_open;           /* the symbol at floor has no size */
	char *name;                /* as in the table; NULL = not named yet */
	enum sp_symbol_bind bind;
};

struct search {
	struct sp_elf *elf;
	struct sp_names_more *more;
	struct sp_symtab *table;
	struct want *wants;  /* by address */
	struct sp_gap *gaps; /* gaps[i] belongs to wants[i] */
	size_t n_wants;
	struct want **open; /* those without a name yet: by address in the first pass, by start in the second */
	size_t n;
	bool exported; /* the table is .dynsym: symbols without a size say nothing */
	char *name;    /* SP_LINKAGE_MAX + 1 bytes */
};

bool sp_symbol_prefer(const char *a, enum sp_symbol_bind a_bind, const char *b, enum sp_symbol_bind b_bind)
{
	if ((a_bind == SP_BIND_LOCAL) != (b_bind == SP_BIND_LOCAL))
		return b_bind == SP_BIND_LOCAL;
	size_t a_bars = strspn(a, "_"), b_bars = strspn(b, "_");
	if (a_bars != b_bars)
		return a_bars < b_bars;
	if (a_bind != b_bind)
		return a_bind > b_bind;
	size_t a_len = strlen(a), b_len = strlen(b);
	return a_len != b_len ? a_len < b_len : strcmp(a, b) < 0;
}

/* --- first pass: where does the function start? --- */

static void note_cover(struct search *s, const struct sp_symbol *y, size_t first)
{
	uint64_t end = y->vaddr + y->size;
	for (size_t i = first; i < s->n && s->open[i]->vaddr < end; i++) {
		struct want *w = s->open[i];
		if (w->how == NOT_FOUND || y->vaddr > w->start) {
			w->how = BY_SIZE;
			w->start = y->vaddr;
		}
	}
}

/* Only the wants next to a symbol are told of it; settle_floors() hands it on to the others. */
static void note_floor(struct search *s, const struct sp_symbol *y, size_t first)
{
	if (first > 0)
		s->open[first - 1]->next = SP_MIN(s->open[first - 1]->next, y->vaddr);
	if (first == s->n)
		return;
	struct want *w = s->open[first];
	if (w->floor_end && y->vaddr < w->floor)
		return;
	bool newer = !w->floor_end || y->vaddr > w->floor;
	w->floor_open = !y->size || (!newer && w->floor_open);
	w->floor = y->vaddr;
	w->floor_end = y->limit;
}

static void note_edges(struct search *s, uint64_t start, uint64_t size)
{
	sp_gaps_add_edge(s->gaps, s->n_wants, start);
	if (size && start + size > start)
		sp_gaps_add_edge(s->gaps, s->n_wants, start + size);
}

static int note_start(void *arg, const struct sp_symbol *y)
{
	struct search *s = arg;
	if (y->label && sp_symtab_name(s->table, y, s->name, 3) == -ENOENT)
		return 0;
	note_edges(s, y->vaddr, y->size);
	if (s->exported && !y->size)
		return 0;
	size_t first = SP_N_WHILE(s->n, i, s->open[i]->vaddr < y->vaddr);
	note_cover(s, y, first);
	if (!s->exported)
		note_floor(s, y, first);
	return 0;
}

static void settle_floors(struct search *s)
{
	for (size_t i = 1; i < s->n; i++) {
		struct want *w = s->open[i], *before = s->open[i - 1];
		if (!w->floor_end && before->floor_end) {
			w->floor = before->floor;
			w->floor_end = before->floor_end;
			w->floor_open = before->floor_open;
		}
		struct want *v = s->open[s->n - 1 - i];
		v->next = SP_MIN(v->next, s->open[s->n - i]->next);
	}
	for (size_t i = 0; i < s->n; i++) {
		struct want *w = s->open[i];
		if (w->how != NOT_FOUND || !w->floor_open || w->vaddr >= w->floor_end)
			continue;
		w->how = BY_FLOOR;
		w->start = w->floor;
		w->end = SP_MIN(w->next, w->floor_end);
	}
}

/* --- second pass: which of the symbols that start there? --- */

static int names_compare_starts(const void *a, const void *b)
{
	const struct want *x = *(struct want *const *)a, *y = *(struct want *const *)b;

	return SP_RISING(x->start, y->start) ?: SP_RISING(x->vaddr, y->vaddr);
}

static bool names_symbol_matches(const struct want *w, const struct sp_symbol *y)
{
	return w->how == BY_FLOOR ? !y->size : y->vaddr + y->size > w->vaddr;
}

static int note_name(void *arg, const struct sp_symbol *y)
{
	struct search *s = arg;
	size_t i = SP_N_WHILE(s->n, k, s->open[k]->start < y->vaddr);
	if (i == s->n || s->open[i]->start != y->vaddr)
		return 0;
	int64_t len = sp_symtab_name(s->table, y, s->name, SP_LINKAGE_MAX + 1);
	if (len < 0)
		return len == -ENOENT ? 0 : (int)len;
	for (; i < s->n && s->open[i]->start == y->vaddr; i++) {
		struct want *w = s->open[i];
		if (!names_symbol_matches(w, y) || (w->name && !sp_symbol_prefer(s->name, y->bind, w->name, w->bind)))
			continue;
		char *name = strdup(s->name);
		if (!name)
			return -ENOMEM;
		free(w->name);
		w->name = name;
		w->bind = y->bind;
		w->end = w->how == BY_FLOOR ? w->end : y->vaddr + y->size;
	}
	return 0;
}

/* --- one table, both passes --- */

static void open_wants(struct search *s)
{
	s->n = 0;
	for (size_t i = 0; i < s->n_wants; i++) {
		struct want *w = &s->wants[i];
		if (w->name)
			continue;
		w->how = NOT_FOUND;
		w->floor_end = 0;
		w->floor_open = false;
		w->next = UINT64_MAX;
		s->open[s->n++] = w;
	}
}

static void keep_found(struct search *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->open[i]->how != NOT_FOUND)
			s->open[n++] = s->open[i];
	s->n = n;
	qsort(s->open, n, sizeof(*s->open), names_compare_starts);
}

static int search_opened(struct search *s)
{
	int r = sp_symtab_walk(s->table, note_start, s);
	if (r)
		return r;
	settle_floors(s);
	keep_found(s);
	return s->n ? sp_symtab_walk(s->table, note_name, s) : 0;
}

/* If a table is missing or cannot be read, the next one is asked for its offsets. */
static int search_table(struct search *s, struct sp_elf *e, bool exported)
{
	open_wants(s);
	if (!s->n)
		return 0;
	s->exported = exported;
	int r = sp_symtab_open(e, exported, &s->table);
	if (!r) {
		r = search_opened(s);
		sp_symtab_close(s->table);
	}
	return r == -ENOMEM ? r : 0;
}

/* --- ranges --- */

const struct sp_elf_segment *sp_segment_of(const struct sp_elf *e, uint64_t offset)
{
	const struct sp_elf_segment *other = NULL;
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(e, i);
		if (offset < g->offset || offset - g->offset >= g->file_size)
			continue;
		if (g->executable)
			return g;
		if (!other)
			other = g;
	}
	return other;
}

struct ranges {
	struct search *search;
	const uint64_t *offsets;
	size_t n;
	struct sp_name *names;
};

static int note_range(void *arg, uint64_t start, uint64_t size)
{
	struct ranges *g = arg;
	const struct sp_elf_segment *home = sp_segment_of(g->search->elf, start);
	if (home)
		note_edges(g->search, home->vaddr + (start - home->offset), size);
	size_t low = sp_n_below(g->offsets, g->n, start);
	for (size_t i = low; i < g->n && g->offsets[i] - start < size; i++) {
		struct sp_name *m = &g->names[i];
		if (m->name || (m->size && start < m->start))
			continue;
		m->size = size;
		m->start = start;
	}
	return 0;
}

/* --- answers --- */

static int by_vaddr(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	return SP_RISING(x->vaddr, y->vaddr) ?: SP_RISING(x->number, y->number);
}

/* Offsets that no segment holds are not searched for. */
static void place_wants(struct search *s, const uint64_t *offsets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sp_elf_segment *g = sp_segment_of(s->elf, offsets[i]);
		if (g)
			s->wants[s->n_wants++] = (struct want){.offset = offsets[i],
							       .number = i,
							       .segment = g,
							       .vaddr = g->vaddr + (offsets[i] - g->offset)};
	}
	qsort(s->wants, s->n_wants, sizeof(*s->wants), by_vaddr);
	for (size_t i = 0; i < s->n_wants; i++)
		s->gaps[i] = (struct sp_gap){s->wants[i].vaddr, 0, UINT64_MAX};
}

static int search_init(struct search *s, const uint64_t *offsets, size_t n)
{
	s->wants = calloc(n, sizeof(*s->wants));
	s->gaps = calloc(n, sizeof(*s->gaps));
	s->open = calloc(n, sizeof(struct want *));
	s->name = malloc(SP_LINKAGE_MAX + 1);
	if (!s->wants || !s->gaps || !s->open || !s->name)
		return -ENOMEM;
	place_wants(s, offsets, n);
	return 0;
}

static void search_done(struct search *s)
{
	for (size_t i = 0; i < s->n_wants; i++)
		free(s->wants[i].name);
	free(s->wants);
	free(s->gaps);
	free(s->open);
	free(s->name);
}

/* Neighbours are often in one function: its name is demangled once. */
static int names_set_name(const struct want *w, const struct want *before, const struct sp_name *names,
			  struct sp_name *ret_name)
{
	uint64_t into = w->vaddr - w->start;
	if (into > w->offset)
		return 0;
	bool same = before && before->name && before->start == w->start && !strcmp(before->name, w->name);
	char *name = same && names[before->number].name ? strdup(names[before->number].name) : sp_demangle(w->name);
	char *linkage = sp_name_cut(w->name);
	if (!name || !linkage) {
		free(name);
		free(linkage);
		return -ENOMEM;
	}
	if (strcmp(name, linkage) == 0) {
		free(linkage);
		linkage = NULL;
	}
	*ret_name = (struct sp_name){.name = name,
				     .linkage_name = linkage,
				     .start = w->offset - into,
				     .size = w->end - w->start,
				     .vaddr = w->start};
	return 0;
}

static int answer_all(struct search *s, struct sp_name *names)
{
	for (size_t i = 0; i < s->n_wants; i++) {
		const struct want *w = &s->wants[i];
		int r = w->name ? names_set_name(w, i ? w - 1 : NULL, names, &names[w->number]) : 0;
		if (r)
			return r;
	}
	return 0;
}

static void warn(struct search *s, int r)
{
	snprintf(s->more->warning, sizeof(s->more->warning), "%s", sp_error_text(r));
	sp_error_clear();
}

/* Distributions pack the symbols that are not exported into .gnu_debugdata. */
static int search_packed(struct search *s)
{
	void *bytes SP_FREE = NULL;
	size_t size;
	struct sp_elf *packed;
	open_wants(s);
	int r = s->n ? sp_elf_debugdata(s->elf, &bytes, &size) : -ENOENT;
	if (r == -ENOENT)
		return 0;
	if (!r && (r = sp_elf_open_bytes(bytes, size, &packed)))
		sp_fail(r, "read .gnu_debugdata");
	if (r) {
		warn(s, r);
		return 0;
	}
	r = search_table(s, packed, false);
	sp_elf_close(packed);
	return r;
}

static void note_go_edges(struct search *s, const struct sp_go *go)
{
	struct sp_go_func f;
	for (size_t i = 0; i < sp_go_n_funcs(go); i++)
		if (sp_go_func(go, i, &f))
			note_edges(s, f.start, sp_go_code_end(go, &f) - f.start);
}

static int name_by_go(struct search *s, const struct sp_go *go)
{
	bool all = true;
	for (size_t i = 0; i < s->n; i++) {
		struct want *w = s->open[i];
		struct sp_go_func f;
		if (!sp_go_find(go, w->vaddr, &f)) {
			all = false;
			continue;
		}
		w->name = strdup(f.name);
		w->start = f.start;
		w->end = f.end;
		if (!w->name)
			return -ENOMEM;
	}
	if (!all)
		note_go_edges(s, go);
	return 0;
}

/* Go's own table, which is never stripped. */
static int search_go(struct search *s)
{
	struct sp_go *go = NULL;
	open_wants(s);
	int r = s->n ? sp_go_open(s->elf, &go) : -ENOENT;
	if (!r) {
		r = name_by_go(s, go);
		sp_go_close(go);
		return r;
	}
	if (r != -ENOENT)
		warn(s, sp_fail(r, "read .gopclntab"));
	return 0;
}

/*
 * Sigreturn code is recognised by its bytes, which is surer than any table. A symbol table may give the byte before it,
 * where callers are looked up, to another function.
 */
static int search_sigreturn(struct search *s)
{
	struct sp_sigreturn_window window = {.elf = s->elf};
	for (size_t i = 0; i < s->n_wants; i++) {
		struct want *w = &s->wants[i];
		uint64_t start, size;
		if (!sp_sigreturn_at(&window, w->offset, &start, &size) || w->offset - start > w->vaddr)
			continue;
		w->name = strdup(SP_SIGRETURN_NAME);
		w->start = w->vaddr - (w->offset - start);
		w->end = w->start + size;
		if (!w->name)
			return -ENOMEM;
	}
	return 0;
}

static int find_symbols(struct search *s, struct sp_name *names)
{
	int r = search_sigreturn(s);
	if (!r)
		r = search_table(s, s->elf, false);
	if (!r && s->more->debug)
		r = search_table(s, s->more->debug, false);
	if (!r)
		r = search_packed(s);
	if (!r)
		r = search_go(s);
	if (!r)
		r = search_table(s, s->elf, true);
	return r ? r : answer_all(s, names);
}

static int fill_gaps(struct search *s, struct sp_name *names)
{
	sp_gaps_add_sections(s->gaps, s->n_wants, s->elf);
	sp_gaps_finish(s->gaps, s->n_wants);
	int r = sp_padding_narrow(s->elf, s->gaps, s->n_wants);
	for (size_t i = 0; !r && i < s->n_wants; i++) {
		const struct want *w = &s->wants[i];
		struct sp_name *m = &names[w->number];
		if (m->size)
			continue;
		m->vaddr = SP_MAX(s->gaps[i].start, w->segment->vaddr);
		m->size = SP_MIN(s->gaps[i].end, w->segment->vaddr + w->segment->file_size) - m->vaddr;
		m->start = w->offset - (w->vaddr - m->vaddr);
		m->is_gap = true;
	}
	return r;
}

static void fill_addresses(const struct sp_elf *e, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i].name || names[i].is_gap)
			continue;
		if (!names[i].size)
			names[i].start = offsets[i];
		const struct sp_elf_segment *g = sp_segment_of(e, names[i].start);
		names[i].vaddr = g ? g->vaddr + (names[i].start - g->offset) : 0;
	}
}

bool sp_names_are_all(const struct sp_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!names[i].name)
			return false;
	return true;
}

static int find_all(struct search *s, sp_range_walk *walk, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	int r = search_init(s, offsets, n);
	if (!r)
		r = find_symbols(s, names);
	if (r || sp_names_are_all(names, n))
		return r;
	struct ranges g = {s, offsets, n, names};
	if (walk)
		walk(s->elf, note_range, &g); /* a broken .eh_frame costs the ranges behind the fault, not the names */
	r = fill_gaps(s, names);
	if (!r)
		fill_addresses(s->elf, offsets, n, names);
	return r;
}

int sp_names_find(struct sp_elf *e, sp_range_walk *walk, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_names_more more = {.debug = NULL};
	return sp_names_find_with(e, &more, walk, offsets, n, names);
}

int sp_names_find_with(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk, const uint64_t *offsets,
		       size_t n, struct sp_name *names)
{
	if (!n)
		return 0;
	memset(names, 0, n * sizeof(*names));
	struct search s = {.elf = e, .more = more};
	int r = find_all(&s, walk, offsets, n, names);
	search_done(&s);
	if (!r)
		return 0;
	sp_names_done(names, n);
	return sp_fail(r, "find names of functions");
}

void sp_name_shorten(char *name, size_t bytes)
{
	size_t len = strlen(name), n = bytes - 20; /* for the mark */
	uint64_t hash = len <= bytes ? 0 : sp_hash_bytes(name, len, 0);

	if (len <= bytes)
		return;
	while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) /* not within a character */
		n--;
	snprintf(name + n, bytes + 1 - n, "...#%016" PRIx64, hash);
}

void sp_names_done(struct sp_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(names[i].name);
		free(names[i].linkage_name);
		names[i] = (struct sp_name){0};
	}
}
