/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * returns.c: which functions a return probe would break.
 *
 * The kernel puts an address of its own in place of the return address, and knows by order, not by place, which call it
 * stands for. So a function that keeps the address of its return, asks for it, or unwinds from there, goes astray. An
 * exception that passes through the call finds no code there, and ends the program.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/priv.h"
#include "symbol/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* --- functions --- */

static bool is_astray(const char *name)
{
	static const char *const names[] = {
	    /* keep it */
	    "setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "getcontext", "__getcontext", "swapcontext",
	    "__swapcontext", "jump_fcontext", "ontop_fcontext", "vfork", "__vfork",
	    /* ask for it */
	    "dlopen", "dlmopen", "dlsym", "dlvsym", "mcount", "_mcount", "__fentry__", "backtrace", "__backtrace",
	    /* unwind from there, or call what may throw */
	    "__cxa_throw", "__cxa_rethrow", "pthread_exit", "thrd_exit", "__pthread_unwind", "pthread_once",
	    "__pthread_once", "call_once", "qsort", "qsort_r", "bsearch", "dl_iterate_phdr"};
	static const char *const beginnings[] = {"_Unwind_", "_dl_runtime_", "__libc_dl", "unw_", "_Ux86_64_"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	for (size_t i = 0; i < SP_COUNT(beginnings); i++)
		if (begins(name, beginnings[i]))
			return true;
	return false;
}

struct marking {
	struct sp_functions *f;
	struct sp_symtab *table;
};

static int symbol_mark(void *arg, const struct sp_symbol *s)
{
	struct marking *m = arg;
	struct sp_function *at;
	char name[32];
	uint64_t start;
	int64_t n;

	if (!s->limit || !sp_code_offset(m->f->elf, s->vaddr, &start))
		return 0;
	at = sp_functions_at(m->f, start);
	n = at && at->flags & SP_FN_WANTED ? sp_symtab_name(m->table, s, name, sizeof(name)) : -ENOENT;
	if (n >= 0 && is_astray(name))
		at->flags |= SP_FN_ASTRAY;
	return n < 0 && n != -ENOENT ? (int)n : 0;
}

static int names_mark(struct sp_functions *f)
{
	int r = 0;

	for (int i = 0; i < 2 && r >= 0; i++) {
		struct marking m = {.f = f};

		r = sp_symtab_open(f->elf, i == 0, &m.table);
		if (r < 0) {
			r = r == -ENOENT ? 0 : r;
			continue;
		}
		r = sp_symtab_walk(m.table, symbol_mark, &m);
		sp_symtab_close(m.table);
	}
	return r;
}

/* --- files --- */

/* What only programs with exceptions take from elsewhere, or have; libraries by which they are linked. */
static bool is_of_exceptions(const char *text)
{
	static const char *const beginnings[] = {"_Unwind_R",         "__cxa_throw",  "__cxa_begin_catch",
						 "__gxx_personality", "libstdc++.so", "libc++.so",
						 "libc++abi.so",      "libgcc_s.so"};

	for (size_t i = 0; i < SP_COUNT(beginnings); i++)
		if (begins(text, beginnings[i]))
			return true;
	return false;
}

static int strings_search(struct sp_functions *f, const char *section)
{
	struct sp_elf_section s;
	SP_FREE char *bytes = NULL;
	void *read;
	int r = sp_elf_section(f->elf, section, &s);

	if (r < 0 || !s.size)
		return 0;
	r = sp_elf_read(f->elf, s.offset, (size_t)s.size, &read);
	if (r < 0)
		return r;
	bytes = read;
	bytes[s.size - 1] = 0;
	for (size_t at = 0; at < s.size && !f->unwinds; at += strlen(bytes + at) + 1)
		f->unwinds = is_of_exceptions(bytes + at);
	return 0;
}

static bool has_section(struct sp_functions *f, const char *name)
{
	struct sp_elf_section s;

	return sp_elf_section(f->elf, name, &s) >= 0;
}

int sp_returns_examine(struct sp_functions *f)
{
	int r = strings_search(f, ".dynstr");

	if (r >= 0 && !has_section(f, ".dynstr")) {
		f->unwinds = has_section(f, ".gcc_except_table");
		if (!f->unwinds)
			r = strings_search(f, ".strtab");
	}
	sp_error_clear();
	return r < 0 ? r : names_mark(f);
}
