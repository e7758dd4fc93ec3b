/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolver.c: what an IFUNC's resolver may choose.
 *
 * A resolver returns the address of one of several functions. It has them from `lea`, or in a program that is not moved
 * from an immediate, or from a word that a relocation fills in. All that it takes the address of and that is a function
 * counts. One that has its answer from a call by pointer may return an address in another file: it is unsure.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "probe/x86_64/prologue.h"

#include <elf.h>
#include <stdlib.h>

enum { MAX_RELOCATIONS = 8 << 20, BLOCK_RELOCATIONS = 4096, MAX_RESOLVER_BYTES = 4096 };

struct filled { /* a word that holds an address once the file is loaded */
	uint64_t vaddr, value;
};
struct following {
	struct sp_functions *f;
	struct sp_prologue_reader reader;
	struct filled *filled;
	size_t n_filled, filled_capacity;
	bool has_filled;
	uint64_t resolver; /* the one that is looked at */
	bool unsure;
};

/* --- words that relocations fill in --- */

static uint64_t symbol_value(struct sp_elf *e, uint64_t number)
{
	struct sp_elf_section s;
	Elf64_Sym y;
	if (sp_elf_section(e, ".dynsym", &s) < 0 || number >= s.size / sizeof(y) ||
	    sp_elf_read_into(e, s.offset + number * sizeof(y), &y, sizeof(y)) < 0)
		return 0;
	return y.st_shndx == SHN_UNDEF ? 0 : y.st_value;
}

static int take_relocation(struct following *x, const Elf64_Rela *a)
{
	uint64_t value = 0;
	switch (ELF64_R_TYPE(a->r_info)) {
	case R_X86_64_RELATIVE:
		value = (uint64_t)a->r_addend;
		break;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_64:
		value = symbol_value(x->f->elf, ELF64_R_SYM(a->r_info));
		break;
	default:
		break;
	}
	if (!value)
		return 0;
	return SP_APPEND(x->filled, x->n_filled, x->filled_capacity, (struct filled){a->r_offset, value});
}

static int take_relocations(struct following *x, const struct sp_elf_section *s)
{
	uint64_t n = SP_MIN(s->size / sizeof(Elf64_Rela), (uint64_t)MAX_RELOCATIONS);
	int r = 0;
	for (uint64_t at = 0, some; r == 0 && at < n; at += some) {
		SP_FREE void *bytes = NULL;
		some = SP_MIN(n - at, (uint64_t)BLOCK_RELOCATIONS);
		r = sp_elf_read(x->f->elf, s->offset + at * sizeof(Elf64_Rela), (size_t)some * sizeof(Elf64_Rela),
				&bytes);
		for (uint64_t i = 0; r == 0 && i < some; i++)
			r = take_relocation(x, (const Elf64_Rela *)bytes + i);
	}
	return r;
}

SP_ORDER_BY(filled_compare, struct filled, vaddr);

static int load_filled(struct following *x)
{
	struct sp_elf_section s;
	int r = 0;
	x->has_filled = true;
	for (size_t i = 0; r == 0 && sp_elf_section_at(x->f->elf, i, &s) == 0; i++)
		if (s.type == SHT_RELA && s.flags & SHF_ALLOC)
			r = take_relocations(x, &s);
	if (x->n_filled)
		qsort(x->filled, x->n_filled, sizeof(*x->filled), filled_compare);
	return r;
}

/* --- what a resolver takes the address of --- */

static int take_function(struct following *x, uint64_t vaddr)
{
	struct sp_functions *f = x->f;
	uint64_t start;
	const struct sp_function *to = sp_code_offset(f->elf, vaddr, &start) ? sp_functions_at(f, start) : NULL;
	if (!to || to->flags & (SP_FN_IFUNC | SP_FN_PLT))
		return 0;
	for (size_t i = f->n_links; i > 0 && f->links[i - 1].resolver == x->resolver; i--)
		if (f->links[i - 1].target == start)
			return 0;
	return SP_APPEND(f->links, f->n_links, f->links_capacity, (struct sp_link){x->resolver, start});
}

static int take_word(struct following *x, uint64_t vaddr)
{
	int r = x->has_filled ? 0 : load_filled(x);
	size_t i = SP_N_BELOW(x->filled, x->n_filled, vaddr, vaddr);
	return r == 0 && i < x->n_filled && x->filled[i].vaddr == vaddr ? take_function(x, x->filled[i].value) : r;
}

static int take_operands(struct following *x, const struct sp_insn *i, uint64_t vaddr)
{
	int r = i->has_address ? take_function(x, i->address) : 0;
	for (unsigned k = 0; r == 0 && k < i->z.operand_count_visible; k++) {
		const ZydisDecodedOperand *op = &i->op[k];
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.base == ZYDIS_REGISTER_RIP &&
		    i->flow == SP_FLOW_NEXT)
			r = take_word(x, vaddr + i->length + (uint64_t)op->mem.disp.value);
		else if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !op->imm.is_relative &&
			 sp_elf_type(x->f->elf) == ET_EXEC)
			r = take_function(x, op->imm.value.u);
	}
	return r;
}

/* `onward`: a jump at its end leads to the function that chooses. */
static int resolver_read(struct following *x, const struct sp_function *from, bool onward)
{
	uint64_t end = SP_MIN(from->end, from->start + MAX_RESOLVER_BYTES), vaddr;
	struct sp_insn i;
	int r = sp_elf_vaddr_of(x->f->elf, from->start, &vaddr);
	for (uint64_t at = from->start; r == 0 && at < end; at += i.length, vaddr += i.length) {
		const uint8_t *bytes;
		size_t n;
		uint64_t to;
		r = sp_prologue_bytes(&x->reader, at, &bytes, &n);
		if (r < 0 || !sp_insn_decode(&x->reader.decoder, bytes, n, vaddr, &i))
			break;
		x->unsure |= i.flow == SP_FLOW_CALL && !i.has_target;
		r = take_operands(x, &i, vaddr);
		if (r < 0 || !onward || i.flow != SP_FLOW_JUMP || !i.has_target ||
		    !sp_code_offset(x->f->elf, i.target, &to) || (to >= from->start && to < from->end))
			continue;
		const struct sp_function *next = sp_functions_at(x->f, to);
		r = next ? resolver_read(x, next, false) : 0;
	}
	return r;
}

static int resolver_follow(struct following *x, const struct sp_function *resolver)
{
	struct sp_functions *f = x->f;
	size_t n_links = f->n_links;
	x->resolver = resolver->start;
	x->unsure = false;
	f->n_ifuncs++;
	int r = resolver_read(x, resolver, true);
	f->n_unsure += x->unsure && f->n_links > n_links;
	f->n_unresolved += f->n_links == n_links;
	return r;
}

int sp_resolvers_follow(struct sp_functions *f)
{
	struct following x = {.f = f};
	int r = 0;
	sp_prologue_open(&x.reader, f->elf);
	for (size_t i = 0; r == 0 && i < f->n; i++) {
		const uint32_t both = SP_FN_WANTED | SP_FN_IFUNC;
		if ((f->at[i].flags & both) != both)
			continue;
		f->at[i].flags &= ~(uint32_t)SP_FN_WANTED;
		r = resolver_follow(&x, &f->at[i]);
	}
	for (size_t i = 0; r == 0 && i < f->n_links; i++)
		sp_functions_want(f, f->links[i].target);
	sp_prologue_close(&x.reader);
	free(x.filled);
	return r;
}
