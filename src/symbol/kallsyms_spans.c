/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms_spans.c: all functions of the kernel as spans of addresses, for repeated look-ups.
 *
 * Of several symbols at one address the one is kept that kallsyms.c would choose: code before data, then the preferred
 * name (names.h).
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"
#include "symbol/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES = 64 << 10 };

struct symbol {
	uint64_t address;
	uint32_t text; /* position in the texts: NAME, or NAME<tab>MODULE */
	uint8_t bind;
	bool is_code;
};
struct kernel {
	struct symbol *at;
	size_t n, capacity;
	char *texts;
	size_t n_texts, text_capacity;
	bool any, shown;
};

static int text_add(struct kernel *k, const struct sp_kernel_line *l)
{
	size_t name = strlen(l->name), module = l->module ? strlen(l->module) : 0;
	int r = sp_grow(&k->texts, &k->text_capacity, k->n_texts + name + module + 2, 1);
	if (r < 0)
		return r;
	memcpy(k->texts + k->n_texts, l->name, name);
	if (module) {
		k->texts[k->n_texts + name] = '\t';
		memcpy(k->texts + k->n_texts + name + 1, l->module, module);
	}
	k->n_texts += name + (module ? module + 1 : 0);
	k->texts[k->n_texts++] = 0;
	return 0;
}

static int kallsyms_spans_add_symbol(struct kernel *k, const struct sp_kernel_line *l)
{
	if (k->n == SP_KERNEL_SYMBOLS_MAX || k->n_texts > UINT32_MAX / 2)
		return sp_fail_said(-EFBIG, "more than %d symbols", SP_KERNEL_SYMBOLS_MAX);
	int r = sp_grow(&k->at, &k->capacity, k->n + 1, sizeof(*k->at));
	if (r < 0)
		return r;
	k->at[k->n] = (struct symbol){.address = l->address,
				      .text = (uint32_t)k->n_texts,
				      .bind = sp_kallsyms_bind(l->type),
				      .is_code = sp_kallsyms_is_text(l->type)};
	if (k->at[k->n++].is_code) /* data symbols only end the function before them */
		r = text_add(k, l);
	return r;
}

static int kallsyms_spans_take_line(struct kernel *k, char *line)
{
	struct sp_kernel_line l;
	if (strlen(line) >= SP_KERNEL_LINE_MAX || !sp_kallsyms_line(line, &l))
		return 0;
	k->any = true;
	k->shown |= l.address != 0;
	return l.address ? kallsyms_spans_add_symbol(k, &l) : 0;
}

/* Takes the whole lines in the first n bytes; returns how many bytes they have. */
static int64_t take_lines(struct kernel *k, char *bytes, size_t n)
{
	size_t at = 0;
	for (char *end; (end = memchr(bytes + at, '\n', n - at)); at = (size_t)(end - bytes) + 1) {
		*end = 0;
		int r = kallsyms_spans_take_line(k, bytes + at);
		if (r < 0)
			return r;
	}
	return (int64_t)at;
}

static int kallsyms_spans_read_all(struct kernel *k, int fd)
{
	SP_FREE char *bytes = malloc(INPUT_BYTES);
	size_t n = 0;
	if (!bytes || lseek(fd, 0, SEEK_SET) < 0)
		return bytes ? -errno : -ENOMEM;
	for (;;) {
		ssize_t got = read(fd, bytes + n, INPUT_BYTES - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		n += (size_t)got;
		int64_t used = take_lines(k, bytes, n);
		if (used < 0)
			return (int)used;
		if (!used && n == INPUT_BYTES)
			return sp_fail_said(-EBADMSG, "a line of more than %d bytes", INPUT_BYTES);
		memmove(bytes, bytes + used, n - (size_t)used);
		n -= (size_t)used;
	}
}

/* --- spans --- */

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return SP_RISING(x->address, y->address) ?: SP_RISING(x->text, y->text);
}

static bool better(const struct kernel *k, const struct symbol *a, const struct symbol *b)
{
	if (a->is_code != b->is_code || !a->is_code)
		return a->is_code && !b->is_code;
	return sp_symbol_prefer(k->texts + a->text, a->bind, k->texts + b->text, b->bind);
}

static int kallsyms_spans_emit(const struct kernel *k, const struct symbol *y, uint64_t end,
			       int (*each)(void *arg, const struct sp_span *span), void *arg)
{
	const char *text = k->texts + y->text, *tab = strchr(text, '\t');
	SP_FREE char *linkage = tab ? strndup(text, (size_t)(tab - text)) : strdup(text);
	SP_FREE char *shown = linkage ? sp_demangle(linkage) : NULL, *name = NULL; /* Rust's */
	if (!shown || asprintf(&name, "%s%s", shown, tab ? tab : "") < 0)
		return -ENOMEM;
	bool differs = strcmp(shown, linkage) != 0;
	const struct sp_span x = {.at = y->address,
				  .start = y->address,
				  .size = end - y->address,
				  .vaddr = y->address,
				  .name = name,
				  .name_len = (uint32_t)strnlen(name, SP_NAME_MAX - 1),
				  .linkage = differs ? linkage : NULL,
				  .linkage_len = differs ? (uint32_t)strlen(linkage) : 0};
	return each(arg, &x);
}

static int tell_all(const struct kernel *k, int (*each)(void *arg, const struct sp_span *span), void *arg)
{
	int r = each(arg, &(struct sp_span){.at = 0});
	for (size_t i = 0, behind; r == 0 && i < k->n; i = behind) {
		const struct symbol *best = &k->at[i];
		for (behind = i + 1; behind < k->n && k->at[behind].address == best->address; behind++)
			if (better(k, &k->at[behind], best))
				best = &k->at[behind];
		uint64_t next = behind < k->n ? k->at[behind].address : UINT64_MAX;
		uint64_t end =
		    SP_MIN(next, best->address + SP_MIN((uint64_t)SP_KERNEL_FUNCTION_MAX, UINT64_MAX - best->address));
		if (best->is_code)
			r = kallsyms_spans_emit(k, best, end, each, arg);
		if (r == 0 && (!best->is_code || end < next) && (best->is_code ? end : best->address) < UINT64_MAX)
			r = each(arg, &(struct sp_span){.at = best->is_code ? end : best->address});
	}
	return r;
}

int sp_kallsyms_walk(int fd, int (*each)(void *arg, const struct sp_span *span), void *arg)
{
	struct kernel k = {0};
	int r = kallsyms_spans_read_all(&k, fd);
	if (r == 0 && !k.any)
		r = sp_fail_said(-ENODATA, "/proc/kallsyms is empty here");
	if (r == 0 && !k.shown)
		r = sp_fail_said(-EPERM, SP_KALLSYMS_HIDDEN);
	if (r == 0 && k.n)
		qsort(k.at, k.n, sizeof(*k.at), by_address);
	if (r == 0)
		r = tell_all(&k, each, arg);
	free(k.at);
	free(k.texts);
	return r < 0 ? sp_fail(r, "read the kernel's symbols") : r;
}
