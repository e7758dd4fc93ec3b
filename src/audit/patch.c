/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * References that ld.so binds without telling auditors: words of R_X86_64_GLOB_DAT relocations. One that code only
 * calls through is led to a trampoline of its own; one that is also read, so that a function's address gets about, to
 * the one that all objects share, so that addresses stay equal; unless the counted library itself compares them with
 * words of its data, which stay as they are. All others are left alone, and counted as such.
 */
#include "audit/audit.h"

#include <sys/mman.h>

struct walk {
	struct sp_object *o;
	struct sp_range words; /* from the first to the last GLOB_DAT */
	const uint8_t *uses;   /* NULL: not known */
	bool writable;         /* RELRO was taken away, and is to be put back */
	uint32_t n_by_address, n_mixed, n_words;
};

static struct sp_object *leads_to(const struct sp_object *o, const Elf64_Rela *r)
{
	unsigned type = ELF64_ST_TYPE(o->symbols[ELF64_R_SYM(r->r_info)].st_info);
	uint64_t value = *(const uint64_t *)(o->bias + r->r_offset);

	if (value == 0 || (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
		return NULL;
	return sp_target_at(value);
}

static const char *name_of(const struct sp_object *o, const Elf64_Rela *r)
{
	return o->strings + o->symbols[ELF64_R_SYM(r->r_info)].st_name;
}

static bool is_lookup(const struct sp_object *o, const Elf64_Rela *r)
{
	const struct sp_object *callee;
	uint64_t value = *(const uint64_t *)(o->bias + r->r_offset);

	if (!sp_is_dladdr(name_of(o, r)) || value == 0)
		return false;
	callee = sp_object_at(value);
	return callee != NULL && callee->has_dladdr;
}

static bool find_words(struct walk *w)
{
	bool leads = false;

	for (uint32_t i = 0; i < w->o->n_relocations; i++) {
		const Elf64_Rela *r = &w->o->relocations[i];
		uint64_t at = w->o->bias + r->r_offset;
		if (ELF64_R_TYPE(r->r_info) == R_X86_64_64) {
			leads = leads || leads_to(w->o, r) != NULL;
			continue;
		}
		if (ELF64_R_TYPE(r->r_info) != R_X86_64_GLOB_DAT)
			continue;
		if (w->words.high == 0 || at < w->words.low)
			w->words.low = at;
		if (at >= w->words.high)
			w->words.high = at + sizeof(uint64_t);
		leads = leads || leads_to(w->o, r) != NULL || is_lookup(w->o, r);
	}
	return leads;
}

/* What the code does with the words: as somebody found out before, or by looking. */
static void find_uses(struct walk *w)
{
	uint64_t n = (w->words.high - w->words.low) / sizeof(uint64_t);
	struct sp_calls_object *shared = sp_share_record(sp_object_id(w->o), SP_CALLS_OBJECT);

	if (shared == NULL || n == 0 || n > SP_CALLS_BYTES)
		return;
	uint64_t verdicts = sp_load(&shared->verdicts);
	if (verdicts == 0) {
		verdicts = sp_share_bytes(n);
		if (verdicts == 0)
			return;
		sp_scan(w->o, w->words, sp_share.base + verdicts);
		shared->n_verdicts = (uint32_t)n;
		sp_store(&shared->verdicts, verdicts);
	}
	if (shared->n_verdicts == n && verdicts <= sp_share.size_bytes && n <= sp_share.size_bytes - verdicts)
		w->uses = sp_share.base + verdicts;
}

static bool make_writable(struct walk *w, uint64_t at)
{
	if (at < w->o->relro.low || at >= w->o->relro.high || w->writable)
		return true;
	w->writable = sp_sys(SYS_mprotect, w->o->relro.low, w->o->relro.high - w->o->relro.low, PROT_READ | PROT_WRITE,
			     0, 0, 0) == 0;
	return w->writable;
}

static void note_taken(struct sp_object *callee, uint64_t value, const char *name)
{
	uint32_t object = sp_object_id(callee);

	if (object != 0)
		sp_share_function(object, sp_object_offset(callee, value), name, SP_CALLS_FUNCTION_ADDRESS_TAKEN);
}

static void patch_word(struct walk *w, const Elf64_Rela *r, struct sp_object *callee)
{
	uint64_t at = w->o->bias + r->r_offset, *word = (uint64_t *)at, trampoline;
	const char *name = name_of(w->o, r);
	uint8_t use = w->uses != NULL ? w->uses[(at - w->words.low) / sizeof(uint64_t)] : SP_USED_ADDRESS;

	if (use == SP_USED_CALL)
		trampoline = sp_trampoline_new(w->o, callee, *word, name, 0);
	else if ((use & SP_USED_CALL) != 0 && !w->o->is_target)
		trampoline = sp_trampoline_common(callee, *word, name, 0);
	else {
		w->n_by_address += use == SP_USED_ADDRESS;
		w->n_mixed += (use & SP_USED_CALL) != 0;
		if (use != 0)
			note_taken(callee, *word, name);
		return;
	}
	if (trampoline != 0 && make_writable(w, at))
		sp_store(word, trampoline);
}

static void look_at(struct walk *w, const Elf64_Rela *r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	struct sp_object *callee;

	if (type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
		return;
	uint64_t at = w->o->bias + r->r_offset, *word = (uint64_t *)at;
	bool lookup = type == R_X86_64_GLOB_DAT && is_lookup(w->o, r);
	callee = leads_to(w->o, r);
	if (callee != NULL && type == R_X86_64_64) {
		w->n_words++;
		note_taken(callee, *word, name_of(w->o, r));
	} else if (callee != NULL)
		patch_word(w, r, callee);
	if (lookup && make_writable(w, at))
		sp_store(word, sp_lookup_new(*word));
}

void sp_patch(struct sp_object *o)
{
	struct walk w = {.o = o};

	o->unpatched = 0;
	if (!find_words(&w))
		return;
	find_uses(&w);
	for (uint32_t i = 0; i < o->n_relocations; i++)
		look_at(&w, &o->relocations[i]);
	if (w.writable)
		sp_sys(SYS_mprotect, o->relro.low, o->relro.high - o->relro.low, PROT_READ, 0, 0, 0);
	struct sp_calls_object *shared = sp_share_record(sp_object_id(o), SP_CALLS_OBJECT);
	if (shared != NULL) {
		shared->n_by_address = w.n_by_address;
		shared->n_mixed = w.n_mixed;
		shared->n_words = w.n_words;
	}
}
