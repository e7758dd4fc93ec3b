/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c: which functions are meant, and what all their names are. */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/suggest.h"
#include "elf/elf.h"
#include "probe/priv.h"
#include "symbol/symtab.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct choice { /* a walk over the symbols of one table after the other */
	struct sp_functions *f;
	const struct sp_probe_what *what;
	struct sp_symtab *table;
	bool dynamic;
	bool *matched;             /* by glob */
	struct sp_suggest suggest; /* for a glob that matches nothing */
	const char *data_glob;     /* likewise: whether it matches data */
	bool is_data;
	char name[SP_LINKAGE_MAX + 1];
};

static bool matches(const char *glob, const char *name)
{
	return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

static bool choice_matches(struct choice *c, const char *name)
{
	bool any = c->what->n_globs == 0 && c->what->n_addresses == 0;
	for (size_t i = 0; i < c->what->n_globs; i++) {
		if (!matches(c->what->globs[i], name))
			continue;
		any = true;
		if (c->matched)
			c->matched[i] = true;
	}
	return any;
}

/* Whether it is a function's name; exported ones only, unless others are meant as well. */
static int choice_name(struct choice *c, const struct sp_symbol *s, bool inner)
{
	if (s->label || (!inner && s->bind == SP_BIND_LOCAL))
		return 0;
	int64_t n = sp_symtab_name(c->table, s, c->name, sizeof(c->name));
	return n < 0 ? (n == -ENOENT ? 0 : (int)n) : 1;
}

static int choice_take(void *arg, const struct sp_symbol *s)
{
	struct choice *c = arg;
	struct sp_functions *f = c->f;
	uint64_t start;
	int r = choice_name(c, s, c->what->inner);
	if (r <= 0 || !choice_matches(c, c->name))
		return r < 0 ? r : 0;
	if (s->limit && sp_code_offset(f->elf, s->vaddr, &start)) {
		sp_functions_want(f, start);
		return 0;
	}
	return SP_APPEND(f->no_code, f->n_no_code, f->no_code_capacity, s->vaddr);
}

static int choice_suggest(void *arg, const struct sp_symbol *s)
{
	struct choice *c = arg;
	int r = choice_name(c, s, c->what->inner);
	if (r > 0) {
		const char *best = c->suggest.best;
		sp_suggest_offer(&c->suggest, c->name);
		if (c->suggest.best == best)
			return 0;
		c->suggest.best = strdup(c->name);
		free((char *)(uintptr_t)best);
		r = c->suggest.best ? 0 : -ENOMEM;
	}
	return r;
}

static int choice_look_for_data(void *arg, const struct sp_symbol *s)
{
	struct choice *c = arg;
	int r = choice_name(c, s, c->what->inner);
	if (r > 0 && matches(c->data_glob, c->name))
		c->is_data = true;
	return r < 0 ? r : c->is_data;
}

/* Walks the exported symbols, then the others if they are wanted. */
static int choice_walk(struct choice *c, bool others, int (*take)(void *arg, const struct sp_symbol *s))
{
	int (*walk)(struct sp_symtab * t, int (*)(void *, const struct sp_symbol *), void *) =
	    take == choice_look_for_data ? sp_symtab_walk_data : sp_symtab_walk_typed;
	int r = 0;
	for (int i = 0; r == 0 && i < (others ? 2 : 1); i++) {
		c->dynamic = i == 0;
		r = sp_symtab_open(c->f->elf, c->dynamic, &c->table);
		if (r < 0) {
			r = r == -ENOENT ? 0 : r;
			continue;
		}
		r = walk(c->table, take, c);
		sp_symtab_close(c->table);
	}
	return r;
}

static int fail_unmatched(struct choice *c, const char *glob)
{
	const char *which = c->what->inner ? "" : "exported ";
	c->data_glob = glob;
	int r = choice_walk(c, c->what->inner, choice_look_for_data);
	if (r > 0)
		return sp_fail_said(-ENOENT, "'%s' names data, and no %sfunction", glob, which);
	c->suggest = (struct sp_suggest){.word = glob};
	if (r == 0)
		r = choice_walk(c, c->what->inner, choice_suggest);
	if (r == 0 && c->suggest.best)
		r = sp_fail_said(-ENOENT, "no %sfunction is called '%s'; did you mean '%s'?", which, glob,
				 c->suggest.best);
	else if (r == 0)
		r = sp_fail_said(-ENOENT, "no %sfunction is called '%s'", which, glob);
	free((char *)(uintptr_t)c->suggest.best);
	return r;
}

/* --- by address --- */

static int fail_address(const struct sp_functions *f, uint64_t vaddr, uint64_t offset)
{
	size_t i = SP_N_UP_TO(f->at, f->n, start, offset);
	uint64_t near;
	if (!i || sp_elf_vaddr_of(f->elf, f->at[i - 1].start, &near) < 0)
		return sp_fail_said(-EINVAL, "no function begins at 0x%" PRIx64, vaddr);
	return sp_fail_said(-EINVAL, "no function begins at 0x%" PRIx64 "; the one before it begins at 0x%" PRIx64,
			    vaddr, near);
}

static int want_address(struct sp_functions *f, uint64_t vaddr)
{
	uint64_t offset;
	int r = 0;
	if (!sp_code_offset(f->elf, vaddr, &offset))
		return sp_fail_said(-EINVAL, "there is no code at 0x%" PRIx64, vaddr);
	if (!sp_functions_at(f, offset))
		r = sp_functions_derive(f);
	if (r == 0 && !sp_functions_at(f, offset))
		r = fail_address(f, vaddr, offset);
	if (r == 0)
		sp_functions_want(f, offset);
	return r;
}

static int want_by_names(struct sp_functions *f, const struct sp_probe_what *what)
{
	SP_FREE struct choice *c = calloc(1, sizeof(*c));
	SP_FREE bool *matched = calloc(what->n_globs + 1, sizeof(*matched));
	if (!c || !matched)
		return -ENOMEM;
	c->f = f;
	c->what = what;
	c->matched = matched;
	int r = choice_walk(c, what->inner, choice_take);
	for (size_t i = 0; r == 0 && i < what->n_globs && !what->any_glob; i++)
		if (!matched[i])
			r = fail_unmatched(c, what->globs[i]);
	return r;
}

static int choice_try(void *arg, const struct sp_symbol *s)
{
	struct choice *c = arg;
	int r = choice_name(c, s, c->what->inner);
	return r > 0 ? choice_matches(c, c->name) : r;
}

/* Of many files that are asked for a few names most have none of them. */
int sp_names_try(struct sp_functions *f, const struct sp_probe_what *what)
{
	SP_FREE struct choice *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (!what->any_glob)
		return 0;
	c->f = f;
	c->what = what;
	int r = choice_walk(c, what->inner, choice_try);
	return r ? SP_MIN(r, 0) : sp_fail_said(-ENOENT, "it has no such function");
}

int sp_names_want(struct sp_functions *f, const struct sp_probe_what *what)
{
	bool all = what->n_globs == 0 && what->n_addresses == 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < what->n_addresses; i++)
		r = want_address(f, what->addresses[i]);
	if (r == 0 && (all || what->n_globs))
		r = want_by_names(f, what);
	for (size_t i = 0; r == 0 && all && what->inner && i < f->n; i++)
		f->at[i].flags |= f->at[i].flags & (SP_FN_SYMBOL | SP_FN_FDE) ? SP_FN_WANTED : 0u;
	return r;
}

/* --- all names of what was found --- */

struct named {
	size_t point;
	const char *name;
	uint8_t bind;
	bool asked_for;
};
struct names {
	struct choice c;
	struct sp_probe_set *set;
	struct named *at;
	size_t n, capacity;
};

static int name_add(struct names *s, uint64_t function, uint8_t bind)
{
	const struct sp_probe_set *set = s->set;
	size_t i = SP_N_BELOW(set->points, set->n, function, function);
	if (i == set->n || set->points[i].function != function)
		return 0;
	size_t bytes = strlen(s->c.name) + 1;
	char *copy = sp_arena_take(&s->set->strings, bytes);
	int r = copy ? sp_grow(&s->at, &s->capacity, s->n + 1, sizeof(*s->at)) : -ENOMEM;
	if (r < 0)
		return r;
	memcpy(copy, s->c.name, bytes);
	s->at[s->n++] =
	    (struct named){.point = i, .name = copy, .bind = bind, .asked_for = choice_matches(&s->c, s->c.name)};
	return 0;
}

static int names_take(void *arg, const struct sp_symbol *s)
{
	struct names *x = arg;
	const struct sp_functions *f = x->c.f;
	uint64_t start;
	if (!s->limit || !sp_code_offset(f->elf, s->vaddr, &start))
		return 0;
	const struct sp_function *at = sp_functions_at(f, start);
	bool linked = s->ifunc && f->n_links;
	if (!at || (!(at->flags & SP_FN_WANTED) && !linked))
		return 0;
	int r = choice_name(&x->c, s, true);
	if (r <= 0)
		return r;
	if (!s->ifunc)
		return name_add(x, start, s->bind);
	if (!choice_matches(&x->c, x->c.name))
		return 0;
	r = 0;
	for (size_t i = SP_N_BELOW(f->links, f->n_links, resolver, start);
	     r == 0 && i < f->n_links && f->links[i].resolver == start; i++)
		r = name_add(x, f->links[i].target, s->bind);
	return r;
}

/* Names that were asked for come first, then the one that profiles show. */
static int named_compare(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	if (x->asked_for != y->asked_for)
		return x->asked_for ? -1 : 1;
	if (x->bind == y->bind && strcmp(x->name, y->name) == 0)
		return 0;
	return sp_symbol_prefer(x->name, x->bind, y->name, y->bind) ? -1 : 1;
}

static int names_keep(struct names *s)
{
	struct sp_probe_set *set = s->set;
	set->names = calloc(s->n + 1, sizeof(*set->names));
	if (!set->names)
		return -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct sp_probe_point *p = &set->points[s->at[i].point];
		if (!p->n_names)
			p->names = &set->names[n];
		if (p->n_names && strcmp(p->names[p->n_names - 1], s->at[i].name) == 0)
			continue; /* in both tables, or in several versions */
		set->names[n++] = s->at[i].name;
		set->n_aliases += p->n_names > 0;
		p->n_names++;
		p->name = p->names[0];
	}
	return 0;
}

int sp_names_attach(struct sp_functions *f, const struct sp_probe_what *what, struct sp_probe_set *set)
{
	SP_FREE struct names *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->c.f = f;
	s->c.what = what;
	s->set = set;
	int r = choice_walk(&s->c, true, names_take);
	if (r == 0 && s->n)
		qsort(s->at, s->n, sizeof(*s->at), named_compare);
	if (r == 0)
		r = names_keep(s);
	free(s->at);
	return r;
}
