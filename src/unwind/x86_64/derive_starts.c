/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_starts.c: finds the starts of functions: symbols, special sections, relocations, pointers in data, and what
 * code with FDEs calls or takes the address of.
 *
 * Code with FDEs is not decoded as a whole. Bytes that look like a call, a jump or a `lea` to an island make their
 * function worth decoding, from the start of its FDE; only instructions found that way count.
 */
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/x86_64/derive_priv.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PLT_ENTRY_BYTES = 16, WORD = 8, CODE_ALIGNMENT = 16, BLOCK_BYTES = 24 * 4096 /* whole entries of any kind */ };

int sp_starts_add(struct sp_deriver *d, struct sp_starts *to, uint64_t vaddr)
{
	uint32_t pos = sp_code_pos(d, vaddr);
	uint8_t flag = to == &d->sure ? SP_POS_START : SP_POS_MAYBE;
	if (pos == SP_POS_NONE || (d->flags[pos] & flag))
		return 0;
	int r = sp_grow(&to->at, &to->capacity, to->n + 1, sizeof(*to->at));
	if (r < 0)
		return r;
	d->flags[pos] |= flag;
	to->at[to->n++] = pos;
	return 0;
}

/*
 * Calls `take` for a table's entries, block by block: some tables are larger than all else in a parser's memory.
 * Entries that cannot be read are left out.
 */
static int table_walk(struct sp_deriver *d, const struct sp_elf_section *s, size_t entry_bytes,
		      int (*take)(struct sp_deriver *d, const void *entries, size_t n))
{
	SP_FREE void *bytes = s->type == SHT_NOBITS ? NULL : malloc(BLOCK_BYTES);
	int r = 0;
	if (s->size > SP_DERIVE_MAX_TABLES)
		d->cut = true;
	if (s->type == SHT_NOBITS || s->size > SP_DERIVE_MAX_TABLES)
		return 0;
	for (uint64_t at = 0, n; bytes && r == 0 && at < s->size; at += n) {
		n = SP_MIN(s->size - at, (uint64_t)BLOCK_BYTES);
		if (sp_elf_read_into(d->elf, s->offset + at, bytes, (size_t)n) < 0)
			return 0;
		r = take(d, bytes, (size_t)n / entry_bytes);
	}
	return bytes ? r : -ENOMEM;
}

static int take_symbols(struct sp_deriver *d, const void *entries, size_t n)
{
	const Elf64_Sym *symbols = entries;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		unsigned type = ELF64_ST_TYPE(symbols[i].st_info), bind = ELF64_ST_BIND(symbols[i].st_info);
		if (symbols[i].st_shndx == SHN_UNDEF)
			continue;
		if (type == STT_FUNC || type == STT_GNU_IFUNC)
			r = sp_starts_add(d, &d->sure, symbols[i].st_value);
		else if (type == STT_NOTYPE && bind != STB_LOCAL) /* a label that other files may refer to */
			r = sp_starts_add(d, &d->maybe, symbols[i].st_value);
	}
	return r;
}

static int add_symbols(struct sp_deriver *d, const char *table)
{
	struct sp_elf_section s;
	return sp_elf_section(d->elf, table, &s) < 0 ? 0 : table_walk(d, &s, sizeof(Elf64_Sym), take_symbols);
}

static int take_relocations(struct sp_deriver *d, const void *entries, size_t n)
{
	const Elf64_Rela *relocations = entries;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		unsigned type = ELF64_R_TYPE(relocations[i].r_info);
		if (type == R_X86_64_IRELATIVE)
			r = sp_starts_add(d, &d->sure, (uint64_t)relocations[i].r_addend);
		else if (type == R_X86_64_RELATIVE)
			r = sp_starts_add(d, &d->maybe, (uint64_t)relocations[i].r_addend);
	}
	return r;
}

static int take_pointers(struct sp_deriver *d, const void *entries, size_t n)
{
	const uint64_t *words = entries;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = sp_starts_add(d, &d->maybe, words[i]);
	return r;
}

/* Of constants any number may look like an address, and many are labels (of a `switch`); most functions are aligned. */
static int take_aligned_pointers(struct sp_deriver *d, const void *entries, size_t n)
{
	const uint64_t *words = entries;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (words[i] % CODE_ALIGNMENT == 0)
			r = sp_starts_add(d, &d->maybe, words[i]);
	return r;
}

/*
 * Each stub of a PLT without an FDE (lld's) is a function. The first one may be the common part, to which the others
 * jump with two words pushed; it is no start. The place behind a stub's first jump, where that leads until the function
 * is bound, counts as a start, too.
 */
static int add_stubs(struct sp_deriver *d, const struct sp_elf_section *s)
{
	int r = 0;
	for (uint64_t at = 0; r == 0 && at + PLT_ENTRY_BYTES <= s->size; at += PLT_ENTRY_BYTES) {
		uint32_t pos = sp_code_pos(d, s->addr + at);
		if (pos == SP_POS_NONE)
			continue;
		const struct sp_island *i = sp_code_island(d, pos);
		const uint8_t *b = i->bytes + (pos - i->base);
		if (i->size - (pos - i->base) < PLT_ENTRY_BYTES || (b[0] == 0xff && b[1] == 0x35))
			continue;
		r = sp_starts_add(d, &d->sure, s->addr + at);
		if (r == 0 && b[0] == 0xff && b[1] == 0x25 && b[6] == 0x68)
			r = sp_starts_add(d, &d->sure, s->addr + at + 6);
	}
	return r;
}

static int add_section(struct sp_deriver *d, const struct sp_elf_section *s, bool pointers)
{
	if (sp_code_is_plt(s) && s->type == SHT_PROGBITS)
		return add_stubs(d, s);
	if (d->stubs_only)
		return 0;
	if (s->type == SHT_RELA)
		return table_walk(d, s, sizeof(Elf64_Rela), take_relocations);
	if (!(s->flags & SHF_ALLOC) || s->type == SHT_NOBITS)
		return 0;
	if (!strcmp(s->name, ".init") || !strcmp(s->name, ".fini"))
		return sp_starts_add(d, &d->sure, s->addr);
	bool data = s->type == SHT_PROGBITS || s->type == SHT_INIT_ARRAY || s->type == SHT_FINI_ARRAY;
	if (!pointers || !data || (s->flags & SHF_EXECINSTR) || s->addr % WORD != 0)
		return 0;
	return table_walk(d, s, WORD, s->flags & SHF_WRITE ? take_pointers : take_aligned_pointers);
}

/* Pointers are in the data itself if no relocations are needed, or if those are packed (RELR). */
static int add_sections(struct sp_deriver *d)
{
	bool pointers = sp_elf_type(d->elf) == ET_EXEC;
	struct sp_elf_section s;
	int r = 0;
	for (size_t i = 0; sp_elf_section_at(d->elf, i, &s) == 0; i++)
		pointers |= s.type == SHT_RELR;
	for (size_t i = 0; r == 0 && sp_elf_section_at(d->elf, i, &s) == 0; i++)
		r = add_section(d, &s, pointers);
	return r;
}

/* --- covered code --- */

/*
 * With less code than this there are only the stubs of every program, which are found in other ways: no reason to
 * search 20 MB of code for calls.
 */
enum { MIN_BYTES = 1024, MAX_SPAN_BYTES = 16 << 20 };

struct range { /* virtual addresses from the first island to the end of the last */
	uint64_t low, size;
};

/* Whether a distance follows these bytes: of a call, jump, branch or `lea`. */
static bool is_distant(const uint8_t *end, size_t n)
{
	uint8_t last = end[-1], before = n > 1 ? end[-2] : 0;
	return last == 0xe8 || last == 0xe9 || (before == 0x0f && (last & 0xf0) == 0x80) ||
	       (before == 0x8d && (last & 0xc7) == 0x05);
}

/* Only a start that is not known yet is worth decoding the function for. */
static bool leads_to_new(struct sp_deriver *d, uint64_t target, bool is_call)
{
	uint32_t pos = sp_code_pos(d, target);
	return pos != SP_POS_NONE && !(d->flags[pos] & (is_call ? SP_POS_START : SP_POS_MAYBE));
}

static bool leads_out(struct sp_deriver *d, const uint8_t *bytes, size_t n, uint64_t vaddr, struct range r)
{
	for (size_t at = 1; at + 4 <= n; at++) {
		int32_t distance;
		if (!is_distant(bytes + at, at))
			continue;
		memcpy(&distance, bytes + at, sizeof(distance));
		uint64_t target = vaddr + at + 4 + (uint64_t)(int64_t)distance;
		if (target - r.low < r.size && leads_to_new(d, target, bytes[at - 1] == 0xe8))
			return true;
	}
	return false;
}

static int take_function(struct sp_deriver *d, const uint8_t *bytes, size_t n, uint64_t vaddr)
{
	struct sp_reference i;
	int r = 0;
	for (size_t at = 0; at < n && r == 0 && d->n_steps < SP_DERIVE_MAX_STEPS; at += i.length) {
		d->n_steps++;
		if (!sp_insn_refers(&d->decoder, bytes + at, n - at, vaddr + at, &i))
			break;
		if (i.any)
			r = sp_starts_add(d, i.is_call ? &d->sure : &d->maybe, i.target);
	}
	return r;
}

/* Searches adjacent FDEs, in pieces no larger than MAX_SPAN_BYTES. */
static int add_span(struct sp_deriver *d, const struct sp_text *t, uint64_t from, uint64_t to, struct range all)
{
	int r = 0;
	for (uint64_t end; r == 0 && from < to; from = end) {
		const uint8_t *bytes;
		end = SP_MIN(to, from + MAX_SPAN_BYTES);
		uint64_t vaddr = t->vaddr + (from - t->offset);
		r = sp_code_read(d, t, from, end, &bytes);
		if (r == 0 && leads_out(d, bytes, (size_t)(end - from), vaddr, all))
			r = take_function(d, bytes, (size_t)(end - from), vaddr);
	}
	return r;
}

static struct range islands_of(const struct sp_deriver *d)
{
	const struct sp_island *first = &d->islands[0], *last = &d->islands[d->n_islands - 1];
	return (struct range){first->vaddr, last->vaddr + last->size - first->vaddr};
}

static int add_covered(struct sp_deriver *d, const struct sp_code_span *covered, size_t n)
{
	struct range all = islands_of(d);
	int r = 0;
	for (size_t i = 0, k = 0; r == 0 && i < n && k < d->n_texts; i++) {
		while (k < d->n_texts && covered[i].start >= d->texts[k].offset + d->texts[k].size)
			k++;
		if (k == d->n_texts || covered[i].start < d->texts[k].offset)
			continue;
		const struct sp_text *t = &d->texts[k];
		r = add_span(d, t, covered[i].start, SP_MIN(covered[i].end, t->offset + t->size), all);
	}
	return r;
}

/* --- the entry point --- */

/* The function that is handed over as the first argument: crt1's code passes `main` so. */
static bool first_argument(const struct sp_insn *i, uint64_t *ret_vaddr)
{
	bool sets = (i->z.mnemonic == ZYDIS_MNEMONIC_MOV || i->z.mnemonic == ZYDIS_MNEMONIC_LEA) &&
		    i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (i->op[0].reg.value == ZYDIS_REGISTER_RDI || i->op[0].reg.value == ZYDIS_REGISTER_EDI);
	if (sets && i->has_address)
		*ret_vaddr = i->address;
	else if (sets && i->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		*ret_vaddr = i->op[1].imm.value.u;
	else
		return false;
	return true;
}

static int take_entry(struct sp_deriver *d, const uint8_t *bytes, size_t n, uint64_t vaddr)
{
	enum { MAX_INSNS = 16 };
	struct sp_insn insn;
	uint64_t argument;
	int r = 0;
	for (size_t at = 0, k = 0; r == 0 && k < MAX_INSNS; k++, at += insn.length) {
		if (!sp_insn_decode(&d->decoder, bytes + at, n - at, vaddr + at, &insn))
			break;
		if (insn.flow == SP_FLOW_CALL && insn.has_target)
			r = sp_starts_add(d, &d->sure, insn.target);
		else if (first_argument(&insn, &argument))
			r = sp_starts_add(d, &d->sure, argument);
		if (insn.flow != SP_FLOW_NEXT && insn.flow != SP_FLOW_CALL)
			break;
	}
	return r;
}

/* The code at the entry point has no caller, but it makes calls, possibly to code without an FDE (musl's). */
static int add_entry(struct sp_deriver *d)
{
	enum { MAX_BYTES = 128 };
	const uint8_t *bytes;
	for (size_t k = 0; k < d->n_texts; k++) {
		const struct sp_text *t = &d->texts[k];
		if (d->entry - t->offset >= t->size)
			continue;
		uint64_t end = SP_MIN(d->entry + MAX_BYTES, t->offset + t->size);
		int r = sp_code_read(d, t, d->entry, end, &bytes);
		return r < 0 ? r : take_entry(d, bytes, (size_t)(end - d->entry), t->vaddr + (d->entry - t->offset));
	}
	return 0;
}

int sp_starts_find(struct sp_deriver *d, const struct sp_code_span *covered, size_t n)
{
	int r = d->entry == UINT64_MAX ? 0 : add_entry(d);
	if (r == 0)
		r = add_sections(d);
	if (d->stubs_only)
		return r;
	if (r == 0)
		r = add_symbols(d, ".symtab");
	if (r == 0)
		r = add_symbols(d, ".dynsym");
	return r == 0 && d->n_bytes >= MIN_BYTES && !d->by_fp ? add_covered(d, covered, n) : r;
}
