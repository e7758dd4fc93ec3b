/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_derive.c: any bytes as code without unwind information.
 *
 * The bytes are the only, executable, segment of a file; its first two bytes say which stretch of it is covered by an
 * FDE, and where it is entered. Rows must ascend inside the code that is not covered, name rules that exist, and be the
 * same when they are derived again (every eighth input); functions must ascend and be disjoint; and a rule must be one
 * that a table may hold.
 */
#include "elf/elf.h"
#include "require.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 14, CODE_AT = 0x1000, IMAGE_BYTES = CODE_AT + MAX_BYTES };
enum { AGAIN_EVERY = 8 }; /* it doubles the time, and what does not come out the same does so for many an input */

static void make_headers(uint8_t *image, size_t size)
{
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_phoff = sizeof(h),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1};
	const Elf64_Phdr p = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = CODE_AT,
			      .p_vaddr = CODE_AT,
			      .p_filesz = size,
			      .p_memsz = size};
	memcpy(image, &h, sizeof(h));
	memcpy(image + sizeof(h), &p, sizeof(p));
}

static bool is_covered(const struct sp_code_span *c, uint64_t offset)
{
	return offset >= c->start && offset < c->end;
}

static void check_rows(const struct sp_derived *d, const struct sp_code_span *covered, uint64_t end)
{
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct sp_derived_row *row = &d->rows[i];
		require(row->rule < d->n_rules && row->offset >= CODE_AT && row->offset <= end);
		require(!i || row->offset > row[-1].offset);
		require(!row->rule || !is_covered(covered, row->offset));
	}
	require(!d->n_rows || d->rows[d->n_rows - 1].rule == 0);
	for (size_t i = 0; i < d->n_functions; i++) {
		require(d->functions[i].start < d->functions[i].end && d->functions[i].end <= end);
		require(!i || d->functions[i].start >= d->functions[i - 1].end);
	}
}

static void check_rules(const struct sp_derived *d)
{
	struct sp_rule sigreturn = sp_rule_of_sigreturn;

	sigreturn.ra |= SP_RULE_DERIVED;
	for (size_t i = 1; i < d->n_rules; i++) {
		const struct sp_rule *r = &d->rules[i];
		if (!memcmp(r, &sigreturn, sizeof(sigreturn)))
			continue;
		require(r->cfa == SP_CFA_REG || r->cfa == SP_CFA_DEREF || r->cfa == SP_CFA_NONE ||
			r->cfa == SP_CFA_ROOT);
		require(r->reg < 16 && r->fp <= SP_FP_LOST);
		require(r->cfa == SP_CFA_NONE || r->ra == (SP_RA_CFA | SP_RULE_DERIVED));
	}
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static uint8_t image[IMAGE_BYTES];
	static unsigned n_runs;
	struct sp_derived d, again = {0};
	struct sp_elf *e;
	if (size < 3 || size - 2 > MAX_BYTES)
		return 0;
	uint64_t end = CODE_AT + size - 2;
	struct sp_code_span covered = {CODE_AT + (size - 2) * data[0] / 256, 0};
	covered.end = covered.start + (end - covered.start) * (data[1] >> 2) / 64;
	make_headers(image, size - 2);
	memcpy(image + CODE_AT, data + 2, size - 2);
	require(sp_elf_open_bytes(image, CODE_AT + size - 2, &e) == 0);
	size_t n = covered.end > covered.start;
	uint64_t entry = data[1] & 1 ? CODE_AT : UINT64_MAX;
	require(sp_derive(e, &covered, n, entry, &d) == 0);
	check_rows(&d, &covered, end);
	check_rules(&d);
	if (n_runs++ % AGAIN_EVERY == 0) {
		require(sp_derive(e, &covered, n, entry, &again) == 0 && d.n_rows == again.n_rows);
		require(!d.n_rows || !memcmp(d.rows, again.rows, d.n_rows * sizeof(*d.rows)));
	}
	require(d.derived_bytes <= d.code_bytes && d.code_bytes <= size - 2);
	sp_derived_done(&d);
	sp_derived_done(&again);
	sp_elf_close(e);
	return 0;
}
