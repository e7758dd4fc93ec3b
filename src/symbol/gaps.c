/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gaps.c: the nearest edge on either side of each address, without keeping the edges.
 *
 * An edge tells only the addresses nearest to it, one on each side, so that a pass over many functions costs little;
 * sp_gaps_finish() hands it on to the addresses further away.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "symbol/priv.h"

#include <elf.h>

void sp_gaps_add_edge(struct sp_gap *gaps, size_t n, uint64_t edge)
{
	size_t low = SP_N_BELOW(gaps, n, at, edge);
	if (low < n)
		gaps[low].start = SP_MAX(gaps[low].start, edge);
	if (low > 0)
		gaps[low - 1].end = SP_MIN(gaps[low - 1].end, edge);
}

void sp_gaps_add_sections(struct sp_gap *gaps, size_t n, const struct sp_elf *e)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct sp_elf_section s;
	for (size_t i = 0; !sp_elf_section_at(e, i, &s); i++) {
		if ((s.flags & code) != code || s.addr + s.size < s.addr)
			continue;
		sp_gaps_add_edge(gaps, n, s.addr);
		sp_gaps_add_edge(gaps, n, s.addr + s.size);
	}
}

void sp_gaps_finish(struct sp_gap *gaps, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sp_gap *left = &gaps[n - 1 - i];
		gaps[i].start = SP_MAX(gaps[i].start, gaps[i - 1].start);
		left->end = SP_MIN(left->end, left[1].end);
	}
}
