/* SPDX-License-Identifier: GPL-2.0-or-later */
/* functions.c: where functions begin and end, by symbols, .eh_frame and, if need be, the code itself. */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "probe/priv.h"
#include "symbol/symtab.h"
#include "unwind/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	struct sp_functions *f;
	uint32_t flags; /* of what is being walked */
};

bool sp_code_offset(const struct sp_elf *e, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);
		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
			*ret_offset = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

static int function_add(struct sp_functions *f, uint64_t start, uint64_t size, uint32_t flags)
{
	const struct sp_elf_segment *s = sp_elf_code_at(f->elf, start);
	if (!s)
		return 0;
	int r = sp_grow(&f->at, &f->capacity, f->n + 1, sizeof(*f->at));
	if (r < 0)
		return r;
	uint64_t end = s->offset + s->file_size;
	f->at[f->n++] = (struct sp_function){.start = start, .end = start + SP_MIN(size, end - start), .flags = flags};
	return 0;
}

/* --- sources --- */

static int take_symbol(void *arg, const struct sp_symbol *s)
{
	struct finding *d = arg;
	uint32_t flags = d->flags | (s->ifunc ? SP_FN_IFUNC : 0u);
	uint64_t start;
	if (!s->limit || !sp_code_offset(d->f->elf, s->vaddr, &start))
		return 0;
	if (s->label) {
		return SP_APPEND(d->f->labels, d->f->n_labels, d->f->labels_capacity, start);
	}
	if (s->bind == SP_BIND_LOCAL)
		flags &= ~(uint32_t)SP_FN_EXPORTED;
	return function_add(d->f, start, s->size, flags);
}

static int take_table(struct finding *d, bool dynamic)
{
	struct sp_symtab *t;
	int r = sp_symtab_open(d->f->elf, dynamic, &t);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	d->flags = SP_FN_SYMBOL | (dynamic ? SP_FN_EXPORTED : 0u);
	r = sp_symtab_walk(t, take_symbol, d);
	sp_symtab_close(t);
	return r;
}

static int take_range(void *arg, uint64_t start, uint64_t size)
{
	struct finding *d = arg;
	return function_add(d->f, start, size, d->flags);
}

static bool has_go_sections(struct sp_elf *e)
{
	struct sp_elf_section s;
	return sp_elf_section(e, ".gopclntab", &s) == 0 || sp_elf_section(e, ".go.buildinfo", &s) == 0;
}

/* Go's own table says for all its functions what .eh_frame says for others. */
static int take_go(struct finding *d)
{
	struct sp_go *go;
	struct sp_go_func x;
	uint64_t start;
	int r = sp_go_open(d->f->elf, &go);
	d->f->is_go = r == 0 || has_go_sections(d->f->elf);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r == 0 && i < sp_go_n_funcs(go); i++)
		if (sp_go_func(go, i, &x) && sp_code_offset(d->f->elf, x.start, &start))
			r = function_add(d->f, start, sp_go_code_end(go, &x) - x.start, d->flags);
	sp_go_close(go);
	return r;
}

/* --- the list --- */

SP_ORDER_BY(functions_compare, struct sp_function, start);

/*
 * Of several at one start the end is the last that an FDE or a symbol gives (some FDEs leave out a function's end),
 * else that of the derived function, which may have padding and data at its end.
 */
static void join_equal(struct sp_functions *f)
{
	const uint32_t known = SP_FN_FDE | SP_FN_SYMBOL;
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		struct sp_function *last = n ? &f->at[n - 1] : NULL;
		const struct sp_function x = f->at[i];
		if (!last || last->start != x.start) {
			f->at[n++] = x;
			continue;
		}
		bool had = last->flags & known && last->end > last->start, has = x.flags & known && x.end > x.start;
		if (had == has)
			last->end = SP_MAX(last->end, x.end);
		else if (has)
			last->end = x.end;
		last->flags |= x.flags;
	}
	f->n = n;
}

/* The end of one without a size is the next start. Says, too, which ones lie in a range. */
static void fill_in(struct sp_functions *f)
{
	uint64_t covered = 0;
	for (size_t i = 0; i < f->n; i++) {
		struct sp_function *x = &f->at[i];
		const struct sp_elf_segment *s = sp_elf_code_at(f->elf, x->start);
		uint64_t end = s->offset + s->file_size;
		if (x->end == x->start)
			x->end = i + 1 < f->n ? SP_MIN(f->at[i + 1].start, end) : end;
		if (x->flags & SP_FN_RANGE)
			covered = SP_MAX(covered, x->end);
		if (x->start < covered)
			x->flags |= SP_FN_COVERED;
	}
}

static void put_in_order(struct sp_functions *f)
{
	if (f->n)
		qsort(f->at, f->n, sizeof(*f->at), functions_compare);
	if (f->n_labels)
		qsort(f->labels, f->n_labels, sizeof(*f->labels), sp_compare_u64);
	join_equal(f);
	fill_in(f);
}

/* Sections of stubs; without section headers their FDE is that of a function that does nothing but leave. */
static void mark_stubs(struct sp_functions *f)
{
	struct sp_elf_section s;
	for (size_t i = 0; sp_elf_section_at(f->elf, i, &s) == 0; i++) {
		if (strncmp(s.name, ".plt", 4) != 0 && strcmp(s.name, ".iplt") != 0)
			continue;
		size_t k = SP_N_BELOW(f->at, f->n, start, s.offset);
		for (; k < f->n && f->at[k].start - s.offset < s.size; k++)
			f->at[k].flags |= SP_FN_PLT;
	}
}

int sp_functions_find(struct sp_functions *f)
{
	struct finding d = {.f = f};
	int r = take_table(&d, true);
	if (r == 0)
		r = take_table(&d, false);
	d.flags = SP_FN_RANGE | SP_FN_FDE;
	if (r == 0)
		r = sp_fde_walk(f->elf, take_range, &d);
	if (r == 0)
		r = take_go(&d);
	if (r < 0)
		return r;
	put_in_order(f);
	mark_stubs(f);
	return 0;
}

int sp_functions_derive(struct sp_functions *f)
{
	struct finding d = {.f = f, .flags = SP_FN_RANGE};
	if (f->derived)
		return 0;
	f->derived = true;
	int r = sp_function_walk(f->elf, take_range, &d);
	if (r < 0)
		return r;
	put_in_order(f);
	mark_stubs(f);
	return 0;
}

struct sp_function *sp_functions_at(const struct sp_functions *f, uint64_t start)
{
	size_t i = SP_N_BELOW(f->at, f->n, start, start);
	return i < f->n && f->at[i].start == start ? &f->at[i] : NULL;
}

void sp_functions_want(struct sp_functions *f, uint64_t start)
{
	struct sp_function *x = sp_functions_at(f, start);
	if (x)
		x->flags |= SP_FN_WANTED;
}

int sp_functions_list_wanted(struct sp_functions *f)
{
	f->n_wanted = 0;
	for (size_t i = 0; i < f->n; i++) {
		if (!(f->at[i].flags & SP_FN_WANTED))
			continue;
		int r = sp_grow(&f->wanted, &f->wanted_capacity, f->n_wanted + 1, sizeof(*f->wanted));
		if (r < 0)
			return r;
		f->at[i].wanted = (uint32_t)f->n_wanted;
		f->wanted[f->n_wanted++] = (struct sp_probe_wanted){.function = i};
	}
	return 0;
}

void sp_functions_done(struct sp_functions *f)
{
	free(f->at);
	free(f->labels);
	free(f->no_code);
	free(f->wanted);
	free(f->links);
}
