/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Redirects references that ld.so binds without telling auditors: words of GLOB_DAT relocations.
 *
 * A word that code only calls through is redirected to a trampoline. If code may read its value it stays as it is,
 * since all objects of a process must see one address of a function; then the stub by which the object calls the
 * function is redirected, if there is one (stub.c). Otherwise the function is marked: calls by its address are not
 * counted.
 */
#include "audit/time.h"

#include <sys/mman.h>

enum { NOTES = 256 }; /* for which the room that is made ahead must do */

struct walk {
	struct sp_object *o;
	struct sp_range words; /* from the first to the last GLOB_DAT */
	const uint8_t *uses;   /* NULL: not known */
	struct sp_stubs stubs;
	bool before_code;
	bool writable; /* RELRO was taken away, and is to be put back */
	uint32_t n_by_address, n_mixed, n_words;
};

static const char *patch_name_of(const struct sp_object *o, const Elf64_Rela *r)
{
	return o->strings + o->symbols[ELF64_R_SYM(r->r_info)].st_name;
}

static bool is_counted(const struct sp_object *callee, const char *name)
{
	return callee->is_target && sp_globs_match(sp_shared.functions, name);
}

/* Where to, if that is counted or, with times, watched. */
static struct sp_object *leads_to(const struct sp_object *o, const Elf64_Rela *r)
{
	unsigned type = ELF64_ST_TYPE(o->symbols[ELF64_R_SYM(r->r_info)].st_info);
	uint64_t value = *(const uint64_t *)(o->bias + r->r_offset);

	if (value == 0 || (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
		return NULL;
	struct sp_object *callee =
	    sp_globs_match(sp_shared.functions, patch_name_of(o, r)) ? sp_target_at(value) : NULL;
	return !callee && sp_time_watches(patch_name_of(o, r)) ? sp_object_at(value) : callee;
}

static bool find_words(struct walk *w)
{
	bool leads = false;

	for (uint32_t i = 0; i < w->o->n_relocations; i++) {
		const Elf64_Rela *r = &w->o->relocations[i];
		uint64_t at = w->o->bias + r->r_offset;
		if (ELF64_R_TYPE(r->r_info) == SP_RELOC_WORD) {
			leads = leads || leads_to(w->o, r);
			continue;
		}
		if (ELF64_R_TYPE(r->r_info) != SP_RELOC_GLOB_DAT)
			continue;
		if (w->words.high == 0 || at < w->words.low)
			w->words.low = at;
		if (at >= w->words.high)
			w->words.high = at + sizeof(uint64_t);
		leads = leads || leads_to(w->o, r);
	}
	return leads;
}

/* Examines the code, and stores the result for later processes. */
static bool patch_check_object(struct walk *w, struct sp_calls_object *shared, uint64_t n)
{
	uint8_t *uses, *range;

	if (w->before_code)
		sp_shared_prepare(); /* of all libraries there are many to look at, one after the other */
	uint64_t verdicts = sp_shared_bytes(n, &uses), stubs = sp_shared_bytes(sizeof(struct sp_range), &range);
	if (verdicts == 0 || stubs == 0)
		return false;
	sp_scan_code(w->o, w->words, uses, &w->stubs.range);
	if (w->stubs.range.high != 0) {
		struct sp_range *r = (struct sp_range *)range;
		*r = (struct sp_range){w->stubs.range.low - w->o->bias, w->stubs.range.high - w->o->bias};
		sp_store(&shared->stubs, (uint32_t)(stubs / 8));
	}
	shared->n_verdicts = (uint32_t)n;
	sp_store(&shared->verdicts, verdicts);
	return true;
}

/* Whether all of the range is code, and what is looked at beside it, too. */
static bool is_one_code(const struct sp_object *o, struct sp_range r)
{
	for (uint32_t i = 0; i < o->n_code; i++)
		if (r.low <= r.high && r.low >= o->code[i].low + 8 && r.high + 8 <= o->code[i].high)
			return true;
	return false;
}

/* What the code does with the words: as stored by an earlier process, or by examining it. */
static void find_uses(struct walk *w)
{
	uint64_t n = (w->words.high - w->words.low) / sizeof(uint64_t);
	struct sp_calls_object *shared = sp_shared_record(sp_object_id(w->o), SP_CALLS_OBJECT);

	if (!shared || n == 0 || n > SP_CALLS_BYTES ||
	    (sp_load(&shared->verdicts) == 0 && !patch_check_object(w, shared, n)))
		return;
	w->uses = shared->n_verdicts == n ? sp_shared_at(sp_load(&shared->verdicts), n) : NULL;
	uint64_t at = sp_load(&shared->stubs);
	const struct sp_range *stubs = at != 0 ? sp_shared_at(at * 8, sizeof(*stubs)) : NULL;
	if (!stubs || !w->uses)
		return;
	w->stubs.range = (struct sp_range){sp_load(&stubs->low) + w->o->bias, sp_load(&stubs->high) + w->o->bias};
	if (!is_one_code(w->o, w->stubs.range))
		w->stubs.range.high = w->stubs.range.low; /* it is damaged */
}

static bool make_writable(struct walk *w, uint64_t at)
{
	if (at < w->o->relro.low || at >= w->o->relro.high || w->writable)
		return true;
	w->writable = sp_sys(SYS_mprotect, w->o->relro.low, w->o->relro.high - w->o->relro.low, PROT_READ | PROT_WRITE,
			     0, 0, 0) == 0;
	return w->writable;
}

void sp_note_taken(struct sp_object *callee, uint64_t value, const char *name, uint32_t flags)
{
	uint32_t object;

	sp_time_watch(value, name, false);
	object = is_counted(callee, name) ? sp_object_id(callee) : 0;
	if (object != 0)
		sp_shared_function(object, sp_object_offset(callee, value), name,
				   flags | SP_CALLS_FUNCTION_ADDRESS_TAKEN);
}

/* Which a table of functions or a vtable has by the thousand: room for them is made in between. */
static void note(const struct walk *w, struct sp_object *callee, uint64_t value, const char *name)
{
	static uint32_t n_noted;

	if (w->before_code && ++n_noted % NOTES == 0)
		sp_shared_prepare();
	sp_note_taken(callee, value, name, 0);
}

static bool lead_stub(struct walk *w, uint64_t at, struct sp_object *callee, const char *name)
{
	uint64_t trampoline;

	/* ld.so runs just now */
	if (!w->before_code || w->o->is_linker || !is_counted(callee, name) ||
	    w->stubs.range.high <= w->stubs.range.low)
		return false;
	trampoline = sp_trampoline_new(w->o, callee, *(const uint64_t *)at, name, 0);
	if (trampoline == 0)
		return false;
	if (sp_stub_lead(w->o, &w->stubs, at, trampoline))
		return true;
	sp_trampoline_free(trampoline);
	return false;
}

static void patch_word(struct walk *w, const Elf64_Rela *r, struct sp_object *callee)
{
	uint64_t at = w->o->bias + r->r_offset, *word = (uint64_t *)at, trampoline;
	const char *name = patch_name_of(w->o, r);
	uint8_t use = w->uses ? w->uses[(at - w->words.low) / sizeof(uint64_t)] : SP_USED_ADDRESS;

	if (use == 0)
		return;
	if ((use & SP_USED_ADDRESS) == 0) {
		trampoline = is_counted(callee, name) ? sp_trampoline_new(w->o, callee, *word, name, 0)
						      : sp_time_watch(*word, name, true);
		if (trampoline != 0 && make_writable(w, at))
			sp_store(word, trampoline);
		return;
	}
	bool is_led = (use & SP_USED_STUB) != 0 && lead_stub(w, at, callee, name);
	bool is_called = (use & SP_USED_CALL) != 0 || ((use & SP_USED_STUB) != 0 && !is_led);
	w->n_mixed += is_counted(callee, name) && is_called;
	w->n_by_address += is_counted(callee, name) && !is_called;
	note(w, callee, *word, name);
}

static void patch_check_reloc(struct walk *w, const Elf64_Rela *r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	struct sp_object *callee;

	if (type != SP_RELOC_GLOB_DAT && type != SP_RELOC_WORD)
		return;
	callee = leads_to(w->o, r);
	if (callee && type == SP_RELOC_WORD) {
		w->n_words += is_counted(callee, patch_name_of(w->o, r));
		note(w, callee, *(const uint64_t *)(w->o->bias + r->r_offset), patch_name_of(w->o, r));
	} else if (callee)
		patch_word(w, r, callee);
}

void sp_patch(struct sp_object *o, bool before_code)
{
	struct walk w = {.o = o, .before_code = before_code};

	o->unpatched = 0;
	if (o->is_target)
		sp_object_id(o); /* that it was loaded is known, though nothing of it may be called */
	if (!find_words(&w))
		return;
	find_uses(&w);
	w.stubs.next = w.stubs.range.low;
	for (uint32_t i = 0; i < o->n_relocations; i++)
		patch_check_reloc(&w, &o->relocations[i]);
	sp_stubs_done(&w.stubs);
	if (w.writable)
		sp_sys(SYS_mprotect, o->relro.low, o->relro.high - o->relro.low, PROT_READ, 0, 0, 0);
	struct sp_calls_object *shared = sp_shared_record(sp_object_id(o), SP_CALLS_OBJECT);
	if (shared) {
		shared->n_by_address = w.n_by_address;
		shared->n_mixed = w.n_mixed;
		shared->n_words = w.n_words;
	}
}
