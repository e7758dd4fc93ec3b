/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/data.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct variable { /* the best one so far that holds an address */
	uint64_t start, size;
	char *name; /* as in the table */
	enum sp_symbol_bind bind;
	bool is_final; /* of a table that comes before this one */
};

struct data_search {
	const uint64_t *vaddrs;
	size_t n;
	struct variable *found;
	struct sp_symtab *table;
	char *name; /* SP_LINKAGE_MAX + 1 bytes */
};

static bool is_better(const struct variable *v, const struct sp_symbol *s, const char *name)
{
	if (!v->name || s->vaddr != v->start)
		return !v->name || s->vaddr > v->start;
	return sp_symbol_prefer(name, s->bind, v->name, v->bind);
}

static int variable_take(struct variable *v, const struct sp_symbol *s, const char *name)
{
	char *copy;

	if (v->is_final || !is_better(v, s, name))
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(v->name);
	*v = (struct variable){.start = s->vaddr, .size = s->size, .name = copy, .bind = s->bind};
	return 0;
}

static int symbol_look(void *arg, const struct sp_symbol *y)
{
	struct data_search *s = arg;
	size_t i = sp_n_below(s->vaddrs, s->n, y->vaddr);
	int r = 0;

	if (i == s->n || s->vaddrs[i] >= y->limit || sp_symtab_name(s->table, y, s->name, SP_LINKAGE_MAX + 1) < 0) {
		sp_error_clear();
		return 0;
	}
	for (; !r && i < s->n && s->vaddrs[i] < y->limit; i++)
		r = variable_take(&s->found[i], y, s->name);
	return r;
}

static int table_search(struct data_search *s, struct sp_elf *e, bool dynamic)
{
	int r = e ? sp_symtab_open(e, dynamic, &s->table) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = sp_symtab_walk_data(s->table, symbol_look, s);
	sp_symtab_close(sp_take_ptr(s->table));
	for (size_t i = 0; i < s->n; i++)
		s->found[i].is_final = s->found[i].name != NULL;
	return r;
}

static int name_make(const struct variable *v, uint64_t vaddr, struct sp_name *ret_name)
{
	char *name, *linkage;

	*ret_name = (struct sp_name){.start = vaddr};
	if (!v->name)
		return 0;
	name = sp_demangle(v->name);
	linkage = sp_name_cut(v->name);
	if (name && linkage && !strcmp(name, linkage))
		free(sp_take_ptr(linkage));
	else if (!name || !linkage) {
		free(name);
		free(linkage);
		return -ENOMEM;
	}
	*ret_name = (struct sp_name){
	    .name = name, .linkage_name = linkage, .start = v->start, .size = v->size, .vaddr = v->start};
	return 0;
}

static int tables_search(struct data_search *s, struct sp_elf *e, struct sp_elf *debug)
{
	int r = s->name && s->found ? table_search(s, e, false) : -ENOMEM;

	if (!r)
		r = table_search(s, debug, false);
	return r ? r : table_search(s, e, true);
}

int sp_data_names_find(struct sp_elf *e, struct sp_elf *debug, const uint64_t *vaddrs, size_t n, struct sp_name *names)
{
	struct data_search s = {.vaddrs = vaddrs, .n = n};
	int r;

	s.name = malloc(SP_LINKAGE_MAX + 1);
	s.found = calloc(n + 1, sizeof(*s.found));
	r = tables_search(&s, e, debug);
	for (size_t i = 0; !r && i < n; i++)
		r = name_make(&s.found[i], vaddrs[i], &names[i]);
	if (r)
		sp_names_done(names, n);
	for (size_t i = 0; s.found && i < n; i++)
		free(s.found[i].name);
	free(s.found);
	free(s.name);
	return r;
}
