/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spans.c: the answers of names.c for all offsets of a file, by one walk over them.
 *
 * An answer changes only at an edge: where a function, a range, a section or a segment begins or ends. So the tables
 * are read once and sorted, all edges are collected, and each stretch between two of them is answered by the rules of
 * names.c, whose words are used here: a function by its size, else by the floor, else a range, else a gap.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/arch.h"
#include "elf/debug.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "symbol/priv.h"
#include "symbol/span.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct table { /* the symbols of one table, by address */
	struct sp_symtab *open;
	struct sp_symbol *at;
	uint64_t *reach; /* reach[i]: how far the symbols up to i reach */
	size_t n, capacity;
	bool exported;
};
struct range {
	uint64_t start, end; /* in file offsets */
	uint64_t reach;
	size_t number;
};
struct found {
	uint64_t start, end; /* in virtual addresses */
};
enum { OWN, DEBUG, PACKED, EXPORTED, N_TABLES };
enum { MAX_SIGRETURN = 64 }; /* a stretch this long holds no sigreturn code, which has edges of its own */

struct spans {
	struct sp_elf *elf;
	struct sp_names_more *more;
	struct table tables[N_TABLES];
	struct table *filling;
	void *packed_bytes;
	struct sp_elf *packed;
	struct sp_go *go;
	struct range *ranges;
	size_t n_ranges, range_capacity;
	struct sp_edges gaps;   /* where a gap may begin or end, in virtual addresses */
	struct sp_edges others; /* where other answers change, too */
	struct sp_edges offsets;
	struct sp_sigreturn_window window;
	char *name, *best; /* SP_LINKAGE_MAX + 1 bytes each */
	/*
	 * Names of the last function that had one, kept because the next stretch often has the same: as in the table,
	 * and as shown.
	 */
	char *table_name, *shown, *linkage;
	uint64_t n_names;    /* counts changes of these names */
	struct sp_span last; /* the last span passed on (its strings may be gone) ... */
	uint64_t last_n_names;
	bool has_last;
	int (*each)(void *arg, const struct sp_span *span);
	void *arg;
};

/* --- edges --- */

/* As note_edges() of names.c. */
static int gap_edges(struct spans *s, uint64_t start, uint64_t size)
{
	int r = sp_edge_add(&s->gaps, start);
	return r == 0 && size && start + size > start ? sp_edge_add(&s->gaps, start + size) : r;
}

static int section_edges(struct spans *s)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct sp_elf_section x;
	int r = 0;
	for (size_t i = 0; r == 0 && !sp_elf_section_at(s->elf, i, &x); i++)
		if ((x.flags & code) == code && x.addr + x.size >= x.addr)
			r = (r = sp_edge_add(&s->gaps, x.addr)) ? r : sp_edge_add(&s->gaps, x.addr + x.size);
	return r;
}

/* --- tables --- */

static int keep_symbol(void *arg, const struct sp_symbol *y)
{
	struct spans *s = arg;
	struct table *t = s->filling;
	if (y->label && sp_symtab_name(t->open, y, s->name, 3) == -ENOENT)
		return 0;
	int r = gap_edges(s, y->vaddr, y->size);
	if (r || (t->exported && !y->size))
		return r;
	if (t->n == SP_SPANS_MAX_SYMBOLS)
		return sp_fail_said(-EFBIG, "more than %d functions", SP_SPANS_MAX_SYMBOLS);
	r = sp_grow(&t->at, &t->capacity, t->n + 1, sizeof(*t->at));
	if (r)
		return r;
	t->at[t->n++] = *y;
	return y->size ? 0 : sp_edge_add(&s->others, y->limit);
}

static int by_vaddr(const void *a, const void *b)
{
	const struct sp_symbol *x = a, *y = b;

	return SP_RISING(x->vaddr, y->vaddr) ?: SP_RISING(x->name, y->name);
}

static int table_sort(struct table *t)
{
	uint64_t reach = 0;
	if (!t->n)
		return 0;
	qsort(t->at, t->n, sizeof(*t->at), by_vaddr);
	t->reach = calloc(t->n, sizeof(*t->reach));
	if (!t->reach)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		t->reach[i] = reach = SP_MAX(reach, t->at[i].vaddr + t->at[i].size);
	return 0;
}

/* If a table is missing or cannot be read, the next one is asked for its offsets. */
static int table_fill(struct spans *s, int which, struct sp_elf *e)
{
	struct table *t = s->filling = &s->tables[which];
	t->exported = which == EXPORTED;
	int r = sp_symtab_open(e, t->exported, &t->open);
	if (!r)
		r = sp_symtab_walk(t->open, keep_symbol, s);
	if (r == -ENOMEM || r == -EFBIG)
		return r;
	if (r)
		t->n = 0;
	sp_error_clear();
	return table_sort(t);
}

static void warn(struct spans *s, int r)
{
	snprintf(s->more->warning, sizeof(s->more->warning), "%s", sp_error_text(r));
	sp_error_clear();
}

static int fill_packed(struct spans *s)
{
	size_t size;
	int r = sp_elf_debugdata(s->elf, &s->packed_bytes, &size);
	if (r == -ENOENT)
		return 0;
	if (!r && (r = sp_elf_open_bytes(s->packed_bytes, size, &s->packed)))
		sp_fail(r, "read .gnu_debugdata");
	if (r) {
		warn(s, r);
		return 0;
	}
	return table_fill(s, PACKED, s->packed);
}

static int go_edges(struct spans *s)
{
	struct sp_go_func f;
	int r = 0;
	for (size_t i = 0; r == 0 && i < sp_go_n_funcs(s->go); i++)
		if (sp_go_func(s->go, i, &f)) {
			r = gap_edges(s, f.start, sp_go_code_end(s->go, &f) - f.start);
			if (r == 0 && f.kind == SP_GO_SIGNAL)
				r = sp_edge_add(&s->others, f.start - 1);
		}
	return r;
}

static int fill_go(struct spans *s)
{
	int r = sp_go_open(s->elf, &s->go);
	if (r && r != -ENOENT)
		warn(s, sp_fail(r, "read .gopclntab"));
	sp_error_clear();
	return r ? 0 : go_edges(s);
}

/* --- ranges --- */

static int range_edges(struct spans *s, uint64_t start, uint64_t size)
{
	const struct sp_elf_segment *home = sp_segment_of(s->elf, start);
	int r = home ? gap_edges(s, home->vaddr + (start - home->offset), size) : 0;
	if (r == 0)
		r = sp_edge_add(&s->offsets, start);
	return r ? r : sp_edge_add(&s->offsets, start + size);
}

static int keep_range(void *arg, uint64_t start, uint64_t size)
{
	struct spans *s = arg;
	if (size > UINT64_MAX - start)
		size = UINT64_MAX - start;
	int r = range_edges(s, start, size);
	if (r || !size)
		return r;
	if (s->n_ranges == SP_SPANS_MAX_SYMBOLS)
		return sp_fail_said(-EFBIG, "more than %d ranges", SP_SPANS_MAX_SYMBOLS);
	r = sp_grow(&s->ranges, &s->range_capacity, s->n_ranges + 1, sizeof(*s->ranges));
	if (r)
		return r;
	s->ranges[s->n_ranges] = (struct range){start, start + size, 0, s->n_ranges};
	s->n_ranges++;
	return 0;
}

static int by_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return SP_RISING(x->start, y->start) ?: SP_RISING(x->number, y->number);
}

static int fill_ranges(struct spans *s, sp_range_walk *walk)
{
	uint64_t reach = 0;
	int r = walk ? walk(s->elf, keep_range, s) : 0;
	if (r == -ENOMEM || r == -EFBIG)
		return r;
	sp_error_clear(); /* a broken .eh_frame costs the ranges behind the fault */
	if (s->n_ranges)
		qsort(s->ranges, s->n_ranges, sizeof(*s->ranges), by_range);
	for (size_t i = 0; i < s->n_ranges; i++)
		s->ranges[i].reach = reach = SP_MAX(reach, s->ranges[i].end);
	return 0;
}

/* The range that holds the offset and starts last; of equal starts, the last one found. */
static const struct range *range_at(const struct spans *s, uint64_t offset)
{
	size_t low = SP_N_UP_TO(s->ranges, s->n_ranges, start, offset);
	for (; low > 0 && s->ranges[low - 1].reach > offset; low--)
		if (s->ranges[low - 1].end > offset)
			return &s->ranges[low - 1];
	return NULL;
}

/* --- which function lies at an address? --- */

/* The first symbol behind an address. */
static size_t symbol_behind(const struct table *t, uint64_t vaddr)
{
	return SP_N_UP_TO(t->at, t->n, vaddr, vaddr);
}

/* One of the symbols that cover the address and start last; t->n = none. */
static size_t cover_of(const struct table *t, size_t behind, uint64_t vaddr)
{
	for (size_t i = behind; i > 0 && t->reach[i - 1] > vaddr; i--)
		if (t->at[i - 1].vaddr + t->at[i - 1].size > vaddr)
			return i - 1;
	return t->n;
}

/* The last symbol before the address, if it has no size and its section goes on; t->n = none. */
static size_t floor_of(const struct table *t, size_t behind, uint64_t vaddr, uint64_t *ret_end)
{
	if (!behind || t->exported)
		return t->n;
	const struct sp_symbol *y = &t->at[behind - 1];
	for (size_t i = behind; i > 0 && t->at[i - 1].vaddr == y->vaddr; i--) {
		if (t->at[i - 1].size)
			continue;
		if (vaddr >= y->limit)
			return t->n;
		*ret_end = behind < t->n ? SP_MIN(t->at[behind].vaddr, y->limit) : y->limit;
		return behind - 1;
	}
	return t->n;
}

/*
 * Chooses the preferred name (names.h) among the symbols at one start. floor_end 0: only those that cover `vaddr`
 * count. A name that cannot be read counts as none.
 */
static bool spans_choose_symbol(struct spans *s, struct table *t, size_t one, uint64_t vaddr, uint64_t floor_end,
				uint64_t *ret_end)
{
	const uint64_t start = t->at[one].vaddr;
	enum sp_symbol_bind bind = SP_BIND_LOCAL;
	bool any = false;
	while (one > 0 && t->at[one - 1].vaddr == start)
		one--;
	for (; one < t->n && t->at[one].vaddr == start; one++) {
		const struct sp_symbol *y = &t->at[one];
		if (floor_end ? y->size != 0 : y->vaddr + y->size <= vaddr)
			continue;
		int64_t len = sp_symtab_name(t->open, y, s->name, SP_LINKAGE_MAX + 1);
		if (len < 0 || (any && !sp_symbol_prefer(s->name, y->bind, s->best, bind)))
			continue;
		memcpy(s->best, s->name, (size_t)len + 1);
		bind = y->bind;
		*ret_end = floor_end ? floor_end : y->vaddr + y->size;
		any = true;
	}
	return any;
}

/* The name is then in s->best. */
static bool spans_find_in_table(struct spans *s, struct table *t, uint64_t vaddr, struct found *f)
{
	size_t behind = symbol_behind(t, vaddr);
	uint64_t floor_end = 0;
	size_t one = cover_of(t, behind, vaddr);
	if (one == t->n)
		one = floor_of(t, behind, vaddr, &floor_end);
	if (one == t->n)
		return false;
	f->start = t->at[one].vaddr;
	return spans_choose_symbol(s, t, one, vaddr, floor_end, &f->end);
}

static bool find_go(struct spans *s, uint64_t vaddr, struct found *f)
{
	struct sp_go_func g;
	if (!s->go || !sp_go_find(s->go, vaddr, &g))
		return false;
	snprintf(s->best, SP_LINKAGE_MAX + 1, "%s", g.name);
	f->start = g.start;
	f->end = g.end;
	return true;
}

static bool spans_find_symbol(struct spans *s, uint64_t vaddr, struct found *f)
{
	for (int i = OWN; i <= PACKED; i++)
		if (s->tables[i].n && spans_find_in_table(s, &s->tables[i], vaddr, f))
			return true;
	return find_go(s, vaddr, f) ||
	       (s->tables[EXPORTED].n && spans_find_in_table(s, &s->tables[EXPORTED], vaddr, f));
}

/* --- from there to spans --- */

/* Makes the shown name of s->best; not again if it is that of the function before. */
static int name_it(struct spans *s)
{
	if (s->table_name && !strcmp(s->table_name, s->best))
		return 0;
	s->n_names++;
	free(s->table_name);
	free(s->shown);
	free(s->linkage);
	s->table_name = strdup(s->best);
	s->shown = sp_demangle(s->best);
	s->linkage = sp_name_cut(s->best);
	if (!s->table_name || !s->shown || !s->linkage)
		return -ENOMEM;
	if (strcmp(s->shown, s->linkage) == 0)
		free(sp_take_ptr(s->linkage));
	return 0;
}

static int answer_named(struct spans *s, uint64_t vaddr, const struct found *f, struct sp_span *x)
{
	int r = name_it(s);
	if (r)
		return r;
	x->start = x->at - (vaddr - f->start);
	x->size = f->end - f->start;
	x->vaddr = f->start;
	x->name = s->shown;
	x->name_len = (uint32_t)strlen(x->name);
	x->linkage = s->linkage;
	x->linkage_len = x->linkage ? (uint32_t)strlen(x->linkage) : 0;
	return 0;
}

static void answer_range(const struct spans *s, const struct range *g, struct sp_span *x)
{
	const struct sp_elf_segment *home = sp_segment_of(s->elf, g->start);
	x->start = g->start;
	x->size = g->end - g->start;
	x->vaddr = home ? home->vaddr + (g->start - home->offset) : 0;
}

static void answer_gap(const struct spans *s, const struct sp_elf_segment *g, uint64_t vaddr, struct sp_span *x)
{
	size_t behind = sp_edges_up_to(&s->gaps, vaddr);
	uint64_t start = behind ? s->gaps.at[behind - 1] : 0,
		 end = behind < s->gaps.n ? s->gaps.at[behind] : UINT64_MAX;
	x->vaddr = SP_MAX(start, g->vaddr);
	x->size = SP_MIN(end, g->vaddr + g->file_size) - x->vaddr;
	x->start = x->at - (vaddr - x->vaddr);
	x->is_gap = true;
}

/* As search_sigreturn() of names.c; up to *end, which is moved to its end. */
static bool find_sigreturn(struct spans *s, uint64_t vaddr, uint64_t at, uint64_t *end, struct found *f)
{
	uint64_t start, size;
	if (*end - at > MAX_SIGRETURN || !sp_sigreturn_at(&s->window, at, &start, &size) || at - start > vaddr)
		return false;
	*f = (struct found){vaddr - (at - start), vaddr - (at - start) + size};
	*end = SP_MIN(*end, start + size);
	memcpy(s->best, SP_SIGRETURN_NAME, sizeof(SP_SIGRETURN_NAME));
	return true;
}

/* The result holds up to *end. */
static int spans_name_stretch(struct spans *s, const struct sp_elf_segment *g, uint64_t *end, struct sp_span *x)
{
	uint64_t vaddr = g->vaddr + (x->at - g->offset);
	struct found f = {0};
	if (find_sigreturn(s, vaddr, x->at, end, &f))
		return answer_named(s, vaddr, &f, x);
	if (spans_find_symbol(s, vaddr, &f) && vaddr - f.start <= x->at)
		return answer_named(s, vaddr, &f, x);
	const struct range *range = range_at(s, x->at);
	if (range)
		answer_range(s, range, x);
	else
		answer_gap(s, g, vaddr, x);
	return 0;
}

static bool is_last(const struct spans *s, const struct sp_span *x)
{
	const struct sp_span *y = &s->last;
	return s->has_last && x->start == y->start && x->size == y->size && x->vaddr == y->vaddr &&
	       x->is_gap == y->is_gap && !x->name == !y->name && (!x->name || s->n_names == s->last_n_names);
}

/* Stretches with one answer are one span. */
static int spans_emit(struct spans *s, const struct sp_span *x)
{
	if (is_last(s, x))
		return 0;
	s->has_last = true;
	s->last = *x;
	s->last_n_names = s->n_names;
	return s->each(s->arg, x);
}

/* The nearest offset behind `at` where the answer may change. */
static uint64_t next_edge(const struct spans *s, const struct sp_elf_segment *g, uint64_t at, uint64_t end)
{
	const struct sp_edges *all[] = {&s->gaps, &s->others};
	const uint64_t vaddr = g->vaddr + (at - g->offset);
	size_t i = sp_edges_up_to(&s->offsets, at);
	if (i < s->offsets.n)
		end = SP_MIN(end, s->offsets.at[i]);
	for (size_t k = 0; k < SP_COUNT(all); k++) {
		i = sp_edges_up_to(all[k], vaddr);
		if (i < all[k]->n && all[k]->at[i] - vaddr < end - at)
			end = at + (all[k]->at[i] - vaddr);
	}
	return end;
}

/* From one edge of a segment to the next. */
static int walk_piece(struct spans *s, uint64_t from, uint64_t to)
{
	const struct sp_elf_segment *g = sp_segment_of(s->elf, from);
	if (!g)
		return spans_emit(s, &(struct sp_span){.at = from});
	int r = 0;
	for (uint64_t at = from, next; r == 0 && at < to; at = next) {
		struct sp_span x = {.at = at};
		next = next_edge(s, g, at, to);
		r = spans_name_stretch(s, g, &next, &x);
		if (r == 0)
			r = spans_emit(s, &x);
	}
	return r;
}

static int walk_all(struct spans *s)
{
	struct sp_edges bounds = {0};
	int r = sp_edge_add(&bounds, 0);
	for (size_t i = 0; r == 0 && i < sp_elf_n_segments(s->elf); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(s->elf, i);
		r = sp_edge_add(&bounds, g->offset);
		if (r == 0 && g->file_size && g->file_size <= UINT64_MAX - g->offset)
			r = sp_edge_add(&bounds, g->offset + g->file_size);
	}
	sp_edges_sort(&bounds);
	for (size_t i = 0; r == 0 && i < bounds.n; i++)
		r = walk_piece(s, bounds.at[i], i + 1 < bounds.n ? bounds.at[i + 1] : UINT64_MAX);
	free(bounds.at);
	return r;
}

static int spans_read_tables(struct spans *s, sp_range_walk *walk)
{
	s->name = malloc(SP_LINKAGE_MAX + 1);
	s->best = malloc(SP_LINKAGE_MAX + 1);
	/* First what needs most memory while it is made. */
	int r = s->name && s->best ? fill_ranges(s, walk) : -ENOMEM;
	r = r ? r : table_fill(s, OWN, s->elf);
	if (!r && s->more->debug)
		r = table_fill(s, DEBUG, s->more->debug);
	r = r ? r : fill_packed(s);
	r = r ? r : fill_go(s);
	r = r ? r : table_fill(s, EXPORTED, s->elf);
	r = r ? r : section_edges(s);
	sp_edges_sort(&s->gaps);
	sp_edges_sort(&s->others);
	sp_edges_sort(&s->offsets);
	return r ? r : sp_padding_add_edges(s->elf, &s->gaps);
}

static void spans_done(struct spans *s)
{
	for (int i = 0; i < N_TABLES; i++) {
		sp_symtab_close(s->tables[i].open);
		free(s->tables[i].at);
		free(s->tables[i].reach);
	}
	if (s->packed)
		sp_elf_close(s->packed);
	if (s->go)
		sp_go_close(s->go);
	free(s->packed_bytes);
	free(s->ranges);
	free(s->gaps.at);
	free(s->others.at);
	free(s->offsets.at);
	free(s->name);
	free(s->best);
	free(s->table_name);
	free(s->shown);
	free(s->linkage);
}

int sp_spans_walk(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk,
		  int (*each)(void *arg, const struct sp_span *span), void *arg)
{
	struct spans s = {.elf = e, .window.elf = e, .more = more, .each = each, .arg = arg};
	int r = spans_read_tables(&s, walk);
	if (r == 0)
		r = walk_all(&s);
	spans_done(&s);
	return r < 0 ? sp_fail(r, "find all functions") : r;
}
