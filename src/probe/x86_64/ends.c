/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends.c: the instructions by which calls of functions end: their returns, and those of the functions that they go on
 * in (by a jump at their end, also one through the PLT to a function of the file itself).
 *
 * For functions that exceptions may pass through, which the kernel's probes of ends would not survive. Positions are
 * file offsets. A jump that leads out of the file, or by a register, ends a call where nobody sees it.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "probe/x86_64/kernel_insn.h"
#include "probe/x86_64/prologue.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FUNCTIONS = 256, MAX_ENDS = 1024, STUB_INSNS = 3, MAX_RELOCATIONS = 1 << 20 };

struct ends {
	struct sp_functions *f;
	struct sp_prologue_reader reader;
	size_t functions[MAX_FUNCTIONS]; /* that are looked at, or to be */
	size_t n_functions;
	struct sp_probe_set *set;
};

/* --- where a jump leads --- */
static int function_go(struct ends *x, uint64_t target)
{
	struct sp_functions *f = x->f;
	size_t k = SP_N_UP_TO(f->at, f->n, start, target);

	if (!k || target >= f->at[k - 1].end || f->at[k - 1].flags & SP_FN_PLT)
		return 0;
	for (size_t i = 0; i < x->n_functions; i++)
		if (x->functions[i] == k - 1)
			return 0;
	if (x->n_functions == MAX_FUNCTIONS)
		return -E2BIG;
	x->functions[x->n_functions++] = k - 1;
	return 0;
}

static int symbol_go(struct ends *x, uint64_t number)
{
	struct sp_elf_section s;
	uint64_t target;
	Elf64_Sym y;

	if (sp_elf_section(x->f->elf, ".dynsym", &s) < 0 || number >= s.size / sizeof(y) ||
	    sp_elf_read_into(x->f->elf, s.offset + number * sizeof(y), &y, sizeof(y)) < 0)
		return 0;
	return y.st_shndx != SHN_UNDEF && sp_code_offset(x->f->elf, y.st_value, &target) ? function_go(x, target) : 0;
}

static int section_search(struct ends *x, const struct sp_elf_section *s, uint64_t word)
{
	uint64_t n = SP_MIN(s->size / sizeof(Elf64_Rela), (uint64_t)MAX_RELOCATIONS);
	SP_FREE void *bytes = NULL;
	int r = sp_elf_read(x->f->elf, s->offset, (size_t)n * sizeof(Elf64_Rela), &bytes);

	for (uint64_t i = 0; r == 0 && i < n; i++) {
		const Elf64_Rela *a = (const Elf64_Rela *)bytes + i;
		uint64_t type = ELF64_R_TYPE(a->r_info);

		if (a->r_offset == word && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
			return symbol_go(x, ELF64_R_SYM(a->r_info));
	}
	return r == -ENOMEM ? r : 0;
}

/* By a word that ld.so fills in. */
static int word_go(struct ends *x, uint64_t word)
{
	struct sp_elf_section s;
	int r = 0;

	for (size_t i = 0; r == 0 && sp_elf_section_at(x->f->elf, i, &s) == 0; i++)
		if (s.type == SHT_RELA && s.flags & SHF_ALLOC)
			r = section_search(x, &s, word);
	return r;
}

/* at, vaddr: of the instruction. False: it is no jump by a word in memory. */
static bool jumps_by_word(const struct sp_insn *i, uint64_t vaddr, uint64_t *ret_word)
{
	if (i->flow != SP_FLOW_JUMP || i->has_target || i->op[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    i->op[0].mem.base != ZYDIS_REGISTER_RIP)
		return false;
	*ret_word = vaddr + i->length + (uint64_t)i->op[0].mem.disp.value;
	return true;
}

static int insn_read(struct ends *x, uint64_t at, struct sp_insn *i, const uint8_t **ret_bytes)
{
	size_t n;
	int r = sp_prologue_bytes(&x->reader, at, ret_bytes, &n);

	if (r < 0)
		return r;
	return sp_insn_decode(&x->reader.decoder, *ret_bytes, n, at, i) ? 0 : -ENODATA;
}

static bool is_stub(const struct ends *x, uint64_t at)
{
	struct sp_elf_section s;

	for (size_t i = 0; sp_elf_section_at(x->f->elf, i, &s) == 0; i++)
		if (strncmp(s.name, ".plt", 4) == 0 && at >= s.offset && at - s.offset < s.size)
			return true;
	return false;
}

static int target_go(struct ends *x, uint64_t target)
{
	const struct sp_elf_segment *s = sp_elf_code_at(x->f->elf, target);
	uint64_t word, at = target;
	const uint8_t *bytes;
	struct sp_insn i;

	if (!s || !is_stub(x, target))
		return s ? function_go(x, target) : 0;
	for (int n = 0; n < STUB_INSNS && insn_read(x, at, &i, &bytes) == 0; n++, at += i.length)
		if (jumps_by_word(&i, s->vaddr + (at - s->offset), &word))
			return word_go(x, word);
	return 0;
}

/* --- a function's code --- */
static int end_add(struct ends *x, uint64_t at, const struct sp_insn *i, const uint8_t *bytes, uint64_t vaddr)
{
	struct sp_probe_set *s = x->set;
	int cost = sp_kernel_insn_cost(i, bytes, vaddr);

	if (cost < 0)
		return 0;
	if (s->n == MAX_ENDS)
		return -E2BIG;
	s->points[s->n++] = (struct sp_probe_point){
	    .offset = at, .function = at, .address = vaddr, .cost = (uint8_t)cost, .length = i->length};
	s->n_cost[cost]++;
	return 0;
}

static int function_read(struct ends *x, const struct sp_function *function)
{
	const struct sp_elf_segment *s = sp_elf_code_at(x->f->elf, function->start);
	struct sp_insn i;
	int r = s ? 0 : -ENODATA;

	for (uint64_t at = function->start; r == 0 && at < function->end; at += i.length) {
		uint64_t vaddr = s->vaddr + (at - s->offset), word;
		const uint8_t *bytes;

		r = insn_read(x, at, &i, &bytes);
		if (r < 0)
			break;
		if (i.flow == SP_FLOW_RETURN)
			r = end_add(x, at, &i, bytes, vaddr);
		else if ((i.flow == SP_FLOW_JUMP || i.flow == SP_FLOW_BRANCH) && i.has_target &&
			 (i.target < function->start || i.target >= function->end))
			r = target_go(x, i.target);
		else if (jumps_by_word(&i, vaddr, &word))
			r = word_go(x, word);
	}
	return r;
}

SP_ORDER_BY(ends_compare, struct sp_probe_point, offset);

/* Of functions that overlap. */
static void put_once(struct sp_probe_set *s)
{
	size_t n = 0;

	qsort(s->points, s->n, sizeof(*s->points), ends_compare);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->points[n - 1].offset != s->points[i].offset)
			s->points[n++] = s->points[i];
	s->n = s->n_functions = n;
}

int sp_ends_find(struct sp_functions *f, struct sp_probe_set *ret_set)
{
	struct ends x = {.f = f, .set = ret_set};
	int r = 0;

	ret_set->points = calloc(MAX_ENDS, sizeof(*ret_set->points));
	if (!ret_set->points)
		return -ENOMEM;
	sp_prologue_open(&x.reader, f->elf);
	for (size_t i = 0; r == 0 && i < f->n_wanted; i++)
		r = function_go(&x, f->at[f->wanted[i].function].start);
	for (size_t i = 0; r == 0 && i < x.n_functions; i++)
		r = function_read(&x, &f->at[x.functions[i]]);
	sp_prologue_close(&x.reader);
	put_once(ret_set);
	return r;
}
