/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle.c: C++ and Rust names as people write them, by libiberty.
 *
 * A mangled name of 150 bytes can stand for one of gigabytes, so the text is taken piece by piece and libiberty is left
 * by a jump as soon as there is enough. That is safe: its callback forms keep their state on the stack.
 */
#include "base/mem.h"
#include "symbol/names.h"
#include "symbol/priv.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { ELLIPSIS = 3 };

struct text {
	jmp_buf enough;
	size_t n;
	char bytes[SP_NAME_MAX];
};

static void demangle_append_text(const char *bytes, size_t n, void *arg)
{
	struct text *t = arg;
	size_t room = sizeof(t->bytes) - 1 - t->n;
	if (!n) /* libiberty passes a null pointer with an empty text */
		return;
	memcpy(t->bytes + t->n, bytes, SP_MIN(n, room));
	t->n += SP_MIN(n, room);
	if (n > room)
		longjmp(t->enough, 1);
}

char *sp_name_cut(const char *s)
{
	size_t n = strnlen(s, SP_NAME_MAX);
	char *copy = malloc(SP_MIN(n, (size_t)SP_NAME_MAX - 1) + 1);
	if (!copy)
		return NULL;
	if (n < SP_NAME_MAX)
		return memcpy(copy, s, n + 1);
	memcpy(copy, s, SP_NAME_MAX - 1 - ELLIPSIS);
	memcpy(copy + SP_NAME_MAX - 1 - ELLIPSIS, "...", ELLIPSIS + 1);
	return copy;
}

/* Rust's legacy names are C++ names with a hash at the end, so that Rust goes first. */
static bool unfold(const char *mangled, struct text *t)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (setjmp(t->enough)) {
		memcpy(t->bytes + SP_NAME_MAX - 1 - ELLIPSIS, "...", ELLIPSIS);
		t->n = SP_NAME_MAX - 1;
		return true;
	}
	t->n = 0;
	if (rust_demangle_callback(mangled, options, demangle_append_text, t) && t->n)
		return true;
	t->n = 0;
	return cplus_demangle_v3_callback(mangled, options, demangle_append_text, t) && t->n;
}

static bool looks_mangled(const char *s)
{
	return !strncmp(s, "_R", 2) || !strncmp(s, "_Z", 2) || !strncmp(s, "_GLOBAL_", 8);
}

char *sp_demangle(const char *linkage_name)
{
	size_t n = strnlen(linkage_name, SP_LINKAGE_MAX + 1);
	if (n > SP_LINKAGE_MAX || !looks_mangled(linkage_name))
		return sp_name_cut(linkage_name);
	struct text *t SP_FREE = malloc(sizeof(*t));
	if (!t)
		return NULL;
	if (!unfold(linkage_name, t))
		return sp_name_cut(linkage_name);
	t->bytes[t->n] = 0;
	return strdup(t->bytes);
}
