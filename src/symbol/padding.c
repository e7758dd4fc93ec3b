/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * padding.c: where functions begin in code without any table of functions, by the padding before them.
 *
 * Nearly all of chromium's 226 MB of code has neither unwind information nor symbols: as one gap it would be one
 * function. The edges in a gap depend on its bytes alone, so sp_padding_add_edges(), for all of a file, and
 * sp_padding_narrow(), for some addresses, find the same; the second reads only the code between an address and the
 * nearest edge.
 */
#include "base/mem.h"
#include "elf/arch.h"
#include "elf/elf.h"
#include "symbol/priv.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 << 10 };

struct window { /* bytes of the file, at virtual addresses */
	struct sp_elf *elf;
	uint64_t start;
	size_t n;
	uint8_t bytes[WINDOW];
};

static bool window_has(const struct window *w, uint64_t from, uint64_t to)
{
	return w->n && from >= w->start && to - w->start <= w->n;
}

static bool window_read(struct window *w, uint64_t from, uint64_t to)
{
	uint64_t offset;

	w->start = from;
	w->n = (size_t)(to - from);
	if (sp_elf_offset_of(w->elf, from, &offset) < 0 || sp_elf_read_into(w->elf, offset, w->bytes, w->n) < 0)
		w->n = 0;
	return w->n != 0;
}

static bool begins_in_window(const struct window *w, uint64_t at)
{
	return sp_is_behind_padding(w->bytes + (at - w->start));
}

static uint64_t aligned_up(uint64_t at)
{
	return (at + SP_FUNCTION_ALIGN - 1) & ~(uint64_t)(SP_FUNCTION_ALIGN - 1);
}

/* The first place behind `after` and before `high` where a function of the gap begins; high: there is none. */
static uint64_t first_between(struct window *w, const struct sp_gap *gap, uint64_t after, uint64_t high)
{
	uint64_t at = SP_MAX(aligned_up(after + 1), aligned_up(gap->start + SP_PADDING_BEFORE));

	for (; at < high; at += SP_FUNCTION_ALIGN) {
		uint64_t from = at - SP_PADDING_BEFORE;

		if (!window_has(w, from, at + 1) && !window_read(w, from, from + SP_MIN(high - from, (uint64_t)WINDOW)))
			return high;
		if (begins_in_window(w, at))
			return at;
	}
	return high;
}

/* The last such place behind `after` and up to `high`; after: there is none. */
static uint64_t last_between(struct window *w, const struct sp_gap *gap, uint64_t after, uint64_t high)
{
	uint64_t lowest = SP_MAX(aligned_up(after + 1), aligned_up(gap->start + SP_PADDING_BEFORE));

	for (uint64_t at = high & ~(uint64_t)(SP_FUNCTION_ALIGN - 1); at >= lowest; at -= SP_FUNCTION_ALIGN) {
		uint64_t from = SP_MAX(gap->start, at + 1 - SP_MIN(at + 1, (uint64_t)WINDOW));

		if (!window_has(w, at - SP_PADDING_BEFORE, at + 1) && !window_read(w, from, at + 1))
			return after;
		if (begins_in_window(w, at))
			return at;
	}
	return after;
}

static bool is_code(const struct sp_elf *e, uint64_t from, uint64_t to)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	struct sp_elf_section s;

	for (size_t i = 0; !sp_elf_section_at(e, i, &s); i++)
		if ((s.flags & code) == code && s.type != SHT_NOBITS && from >= s.addr && to > from &&
		    to - s.addr <= s.size)
			return true;
	return false;
}

/* Whether all of it can be read, as one piece. */
static bool is_in_file(struct sp_elf *e, uint64_t from, uint64_t to)
{
	uint64_t first, last;
	uint8_t byte;

	return !sp_elf_offset_of(e, from, &first) && !sp_elf_offset_of(e, to - 1, &last) &&
	       last - first == to - 1 - from && !sp_elf_read_into(e, last, &byte, 1);
}

static bool is_large(struct sp_elf *e, const struct sp_gap *gap)
{
	return gap->end > gap->start && gap->end - gap->start > SP_LARGE_GAP && is_code(e, gap->start, gap->end) &&
	       is_in_file(e, gap->start, gap->end);
}

int sp_padding_add_edges(struct sp_elf *e, struct sp_edges *sorted)
{
	SP_FREE struct window *w = calloc(1, sizeof(*w));
	size_t n = sorted->n;
	int r = w ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i + 1 < n; i++) {
		struct sp_gap gap = {.start = sorted->at[i], .end = sorted->at[i + 1]};
		uint64_t at = gap.start;

		if (!is_large(e, &gap))
			continue;
		w->elf = e;
		while (!r && (at = first_between(w, &gap, at, gap.end)) < gap.end)
			r = sp_edge_add(sorted, at);
	}
	if (!r && sorted->n > n)
		sp_edges_sort(sorted);
	return r;
}

/* Whether two addresses are in one gap: then what lies between them tells both. */
static bool is_one_gap(const struct sp_gap *a, const struct sp_gap *b)
{
	return a->start == b->start && a->end == b->end;
}

static void narrow_starts(struct window *w, const struct sp_gap *wide, struct sp_gap *gaps, size_t n)
{
	bool large = false, shares;

	for (size_t i = 0; i < n; i++) {
		shares = i > 0 && is_one_gap(&wide[i], &wide[i - 1]);
		large = shares ? large : is_large(w->elf, &wide[i]);
		if (!large)
			continue;
		uint64_t low = shares ? wide[i - 1].at : wide[i].start;
		uint64_t found = last_between(w, &wide[i], low, wide[i].at);
		gaps[i].start = found != low ? found : shares ? gaps[i - 1].start : wide[i].start;
	}
}

static void narrow_ends(struct window *w, const struct sp_gap *wide, struct sp_gap *gaps, size_t n)
{
	bool large = false, shares;

	for (size_t i = n; i-- > 0;) {
		shares = i + 1 < n && is_one_gap(&wide[i], &wide[i + 1]);
		large = shares ? large : is_large(w->elf, &wide[i]);
		if (!large)
			continue;
		uint64_t high = shares ? wide[i + 1].at + 1 : wide[i].end;
		uint64_t found = first_between(w, &wide[i], wide[i].at, high);
		gaps[i].end = found != high ? found : shares ? gaps[i + 1].end : wide[i].end;
	}
}

int sp_padding_narrow(struct sp_elf *e, struct sp_gap *gaps, size_t n)
{
	SP_FREE struct window *w = calloc(1, sizeof(*w));
	SP_FREE struct sp_gap *wide = calloc(n + 1, sizeof(*wide));

	if (!w || !wide)
		return -ENOMEM;
	w->elf = e;
	if (n)
		memcpy(wide, gaps, n * sizeof(*wide));
	narrow_starts(w, wide, gaps, n);
	narrow_ends(w, wide, gaps, n);
	return 0;
}
