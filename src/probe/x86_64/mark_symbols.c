/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark_symbols.c: where symbols are that tell where an argument is: NBuffers(%rip), 40+list(%rip). Behind these the
 * text gets "=" and the distance from the mark, where one thing alone has that name.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/mark.h"
#include "probe/usdt.h"
#include "symbol/symtab.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMBOLS = 256, MAX_NAME = 128, MAX_TEXT = 4096 };

struct symbol {
	char name[MAX_NAME];
	uint64_t vaddr;
	bool is_found, is_doubtful;
};
struct symbols {
	struct symbol *all;
	size_t n;
	struct sp_symtab *table;
};

/* "40+list(%rip)", "list+40(%rip)": false: it is none. */
static bool operand_split(const char *operand, size_t n, char *ret_name, int64_t *ret_add)
{
	static const char by_ip[] = "(%rip)";
	char text[MAX_NAME + 32], *name = text, *plus;

	if (n < sizeof(by_ip) || n >= sizeof(text) || strncmp(operand + n - strlen(by_ip), by_ip, strlen(by_ip)) != 0)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(n - strlen(by_ip)), operand);
	*ret_add = strtoll(text, &name, 0);
	if (name > text && *name == '+')
		name++;
	plus = strpbrk(name, "+-");
	if (plus && name == text)
		*ret_add = strtoll(plus, NULL, 0);
	if (plus)
		*plus = '\0';
	snprintf(ret_name, MAX_NAME, "%s", name);
	return *name && strlen(name) < MAX_NAME;
}

static struct symbol *symbol_find(const struct symbols *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->all[i].name, name))
			return &s->all[i];
	return NULL;
}

static int symbol_take(void *arg, const struct sp_symbol *symbol)
{
	struct symbols *s = arg;
	char name[MAX_NAME + 1];
	int64_t n = sp_symtab_name(s->table, symbol, name, sizeof(name));
	struct symbol *wanted = n > 0 ? symbol_find(s, name) : NULL;

	if (!wanted)
		return 0;
	wanted->is_doubtful |= wanted->is_found && wanted->vaddr != symbol->vaddr;
	wanted->is_found = true;
	wanted->vaddr = symbol->vaddr;
	return 0;
}

static void tables_read(struct sp_elf *e, struct symbols *s)
{
	for (unsigned dynamic = 0; dynamic < 2; dynamic++) {
		if (sp_symtab_open(e, dynamic, &s->table) < 0) {
			sp_error_clear();
			continue;
		}
		sp_symtab_walk_data(s->table, symbol_take, s);
		sp_symtab_close(s->table);
	}
}

/* Calls each with every operand of the marks. */
static void operands_walk(struct symbols *s, const struct sp_usdt *x, FILE *out, uint64_t place)
{
	for (const char *at = x->arguments; *at;) {
		size_t n = strcspn(at, " "), size = strcspn(at, "@ ");
		char name[MAX_NAME];
		int64_t add;
		const struct symbol *symbol = NULL;

		if (size < n && operand_split(at + size + 1, n - size - 1, name, &add)) {
			symbol = symbol_find(s, name);
			if (!symbol && !out && s->n < MAX_SYMBOLS)
				snprintf(s->all[s->n++].name, MAX_NAME, "%s", name);
		}
		if (out)
			fprintf(out, "%.*s", (int)n, at);
		if (out && symbol && symbol->is_found && !symbol->is_doubtful)
			fprintf(out, "=%" PRId64, (int64_t)(symbol->vaddr + (uint64_t)add - place));
		at += n;
		if (out && *at)
			fputc(' ', out);
		at += strspn(at, " ");
	}
}

static int text_write(struct sp_elf *e, struct symbols *s, struct sp_usdts *u, struct sp_usdt *x)
{
	SP_FREE char *text = NULL;
	size_t size = 0;
	uint64_t place;
	char *kept;
	FILE *out;

	if (strlen(x->arguments) > MAX_TEXT || sp_elf_vaddr_of(e, x->offset, &place) < 0)
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	operands_walk(s, x, out, place);
	if (fclose(out) != 0)
		return -ENOMEM;
	kept = sp_arena_take(&u->strings, size + 1);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, text, size + 1);
	x->arguments = kept;
	return 0;
}

int sp_mark_symbols(struct sp_elf *e, struct sp_usdts *u)
{
	struct symbols s = {.all = calloc(MAX_SYMBOLS, sizeof(*s.all))};
	int r = s.all ? 0 : -ENOMEM;

	for (size_t i = 0; i < u->n && !r; i++)
		operands_walk(&s, &u->at[i], NULL, 0);
	if (s.n)
		tables_read(e, &s);
	for (size_t i = 0; i < u->n && s.n && !r; i++)
		r = text_write(e, &s, u, &u->at[i]);
	free(s.all);
	return r;
}
