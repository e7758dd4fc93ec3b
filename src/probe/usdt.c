/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/usdt.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/suggest.h"
#include "elf/elf.h"
#include "probe/mark.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define SECTION ".note.stapsdt"
enum { NOTE_TYPE = 3, MAX_BYTES = 1 << 20, SEMAPHORE_BYTES = 2 };

struct finding {
	struct sp_elf *elf;
	uint64_t base; /* of .stapsdt.base; 0: there is none, so the file was not moved */
	struct sp_usdts *u;
};

static const char *keep(struct finding *d, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = sp_arena_take(&d->u->strings, bytes);
	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

/* The two bytes must lie in the file and in writable memory, which a process has of its own. */
static bool semaphore_offset(struct finding *d, uint64_t vaddr, uint64_t *ret_offset)
{
	uint64_t last;
	return sp_elf_offset_of(d->elf, vaddr, ret_offset) == 0 && !sp_elf_code_at(d->elf, *ret_offset) &&
	       sp_elf_offset_of(d->elf, vaddr + SEMAPHORE_BYTES - 1, &last) == 0;
}

static int add(struct finding *d, const struct sp_usdt *x)
{
	struct sp_usdts *u = d->u;
	int r = sp_grow(&u->at, &u->capacity, u->n + 1, sizeof(*u->at));
	if (r < 0)
		return r;
	struct sp_usdt *to = &u->at[u->n];
	*to = *x;
	to->provider = keep(d, x->provider);
	to->name = keep(d, x->name);
	to->arguments = keep(d, x->arguments);
	if (!to->provider || !to->name || !to->arguments)
		return -ENOMEM;
	u->n++;
	return 0;
}

static int take_note(void *arg, const struct sp_elf_note *n)
{
	struct finding *d = arg;
	struct sp_usdt x = {0};
	if (n->type != NOTE_TYPE || n->owner_len != sizeof("stapsdt") ||
	    memcmp(n->owner, "stapsdt", sizeof("stapsdt")) != 0)
		return 0;
	struct sp_cursor c = sp_cursor_on(n->data, n->len);
	uint64_t place = sp_cursor_u64(&c), base = sp_cursor_u64(&c), semaphore = sp_cursor_u64(&c);
	uint64_t moved = d->base ? d->base - base : 0;
	x.provider = sp_cursor_str(&c);
	x.name = sp_cursor_str(&c);
	x.arguments = sp_cursor_str(&c);
	bool good = !c.bad && *x.provider && *x.name && sp_elf_offset_of(d->elf, place + moved, &x.offset) == 0 &&
		    sp_elf_code_at(d->elf, x.offset);
	if (good && semaphore)
		good = semaphore_offset(d, semaphore + moved, &x.semaphore);
	d->u->n_bad += !good;
	return good ? add(d, &x) : 0;
}

static int usdt_compare(const void *a, const void *b)
{
	const struct sp_usdt *x = a, *y = b;

	return strcmp(x->provider, y->provider) ?: strcmp(x->name, y->name) ?: SP_RISING(x->offset, y->offset);
}

/* Sorts them; what is there twice is one. */
static void put_in_order(struct sp_usdts *u)
{
	size_t n = 0;
	qsort(u->at, u->n, sizeof(*u->at), usdt_compare);
	for (size_t i = 0; i < u->n; i++)
		if (!n || usdt_compare(&u->at[n - 1], &u->at[i]) != 0)
			u->at[n++] = u->at[i];
	u->n = n;
}

static int find(struct finding *d)
{
	struct sp_elf_section s;
	if (sp_elf_section(d->elf, SECTION, &s) < 0 || s.type != SHT_NOTE)
		return sp_fail_said(-ENOENT, "the file has no marks for probes (USDT)");
	if (s.size > MAX_BYTES)
		return sp_fail_said(-EFBIG, "the file has more than 1 MiB of marks for probes");
	if (sp_elf_section(d->elf, ".stapsdt.base", &s) == 0)
		d->base = s.addr;
	int r = sp_elf_walk_notes(d->elf, SECTION, take_note, d);
	if (r == 0 && !d->u->n)
		r = sp_fail_said(-ENOENT, "the file has no marks for probes that make sense, and %zu that do not",
				 d->u->n_bad);
	if (r == 0)
		put_in_order(d->u);
	return r;
}

int sp_usdt_find(struct sp_elf *elf, struct sp_usdts *ret_places)
{
	struct sp_usdts u = {0};
	struct finding d = {.elf = elf, .u = &u};
	int r = find(&d);
	if (r < 0)
		sp_usdts_done(&u);
	else
		*ret_places = u;
	return r < 0 ? sp_fail(r, "find the marks for probes") : 0;
}

static bool matches(const struct sp_usdt *x, const char *provider, const char *name)
{
	return fnmatch(name, x->name, 0) == 0 && (!provider || fnmatch(provider, x->provider, 0) == 0);
}

static int fail_unmatched(const struct sp_usdts *u, const char *name)
{
	struct sp_suggest near = {.word = name};
	for (size_t i = 0; i < u->n; i++)
		sp_suggest_offer(&near, u->at[i].name);
	if (near.best)
		return sp_fail_said(-ENOENT, "there is no USDT probe '%s'; did you mean %s?", name, near.best);
	return sp_fail_said(-ENOENT, "there is no USDT probe '%s'", name);
}

int sp_usdt_choose(struct sp_elf *elf, const char *provider, const char *name, struct sp_usdts *ret_places)
{
	struct sp_usdts u;
	size_t n = 0;
	int r = sp_usdt_find(elf, &u);
	if (r == -ENOENT) {
		sp_error_clear();
		return sp_fail_said(-ENOENT, "there are no USDT probes");
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < u.n; i++)
		if (matches(&u.at[i], provider, name))
			u.at[n++] = u.at[i];
	r = n ? 0 : fail_unmatched(&u, name); /* all are still there */
	u.n = n;
	r = r < 0 ? r : sp_mark_symbols(elf, &u);
	if (r < 0)
		sp_usdts_done(&u);
	else
		*ret_places = u;
	return r;
}

void sp_usdts_done(struct sp_usdts *u)
{
	free(u->at);
	sp_arena_done(&u->strings);
	*u = (struct sp_usdts){0};
}
