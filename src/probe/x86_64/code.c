/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code.c: reads the code of wanted functions, and all code that could lead into their first instructions.
 *
 * Each wanted function's beginning is walked instruction by instruction for candidates (prologue.c). A jump into it
 * would run them more than once a call, or without a call, so where one leads is the limit: from the function itself
 * and its neighbours, whose code is decoded; from further away by a search for the bytes of all jumps, calls and `lea`
 * with long distances, which finds some that are none. Positions are file offsets.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "probe/x86_64/prologue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_REACH = 130, LONG_BYTES = 4, WINDOW_BYTES = 256 << 10, MAX_INSN = 15 };

struct examination {
	struct sp_functions *f;
	const struct sp_probe_what *what;
	struct sp_prologue_reader reader;
	uint64_t *starts; /* of wanted functions */
};

/* --- where code leads --- */

/* from: the function that jumps there; NULL: not known, or no jump. */
static void note_target(struct examination *x, uint64_t target, const struct sp_function *from)
{
	size_t i = sp_n_up_to(x->starts, x->f->n_wanted, target);
	if (!i)
		return;
	struct sp_probe_wanted *w = &x->f->wanted[i - 1];
	const struct sp_function *to = &x->f->at[w->function];
	if (target == to->start)
		w->loops |= from && from->start >= to->start && from->start < to->end;
	else
		w->limit = SP_MIN(w->limit, target);
}

static bool is_short(uint8_t opcode)
{
	return opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0;
}

/* Bytes between functions: whatever may be a short jump counts as one. */
static int note_gap(struct examination *x, uint64_t start, uint64_t end)
{
	uint8_t bytes[2 * SHORT_REACH + 2];
	size_t n = (size_t)SP_MIN(end - start, (uint64_t)sizeof(bytes));
	int r = sp_elf_read_into(x->f->elf, start, bytes, n);
	for (size_t i = 0; r == 0 && i + 1 < n; i++)
		if (is_short(bytes[i]))
			note_target(x, start + i + 2 + (uint64_t)(int64_t)(int8_t)bytes[i + 1], NULL);
	return r;
}

/* Whether a long distance follows these two bytes. */
static bool is_distant(uint8_t before, uint8_t last)
{
	return (last & 0xfe) == 0xe8 || (before == 0x0f && (last & 0xf0) == 0x80) ||
	       (before == 0x8d && (last & 0xc7) == 0x05);
}

static void note_distant(struct examination *x, const uint8_t *bytes, size_t n, uint64_t start)
{
	uint64_t low = x->starts[0], size = x->starts[x->f->n_wanted - 1] + SP_POINT_REACH - low;
	for (size_t i = 1; i + 1 + LONG_BYTES <= n; i++) {
		int32_t distance;
		if (!is_distant(bytes[i - 1], bytes[i]))
			continue;
		memcpy(&distance, bytes + i + 1, sizeof(distance));
		uint64_t target = start + i + 1 + LONG_BYTES + (uint64_t)(int64_t)distance;
		if (target - low < size)
			note_target(x, target, NULL);
	}
}

static int search_segment(struct examination *x, const struct sp_elf_segment *s)
{
	uint64_t end = s->offset + s->file_size;
	int r = 0;
	for (uint64_t at = s->offset, n; r == 0 && at < end; at += n) {
		void *bytes;
		n = SP_MIN(end - at, (uint64_t)WINDOW_BYTES);
		r = sp_elf_read(x->f->elf, at, (size_t)n, &bytes);
		if (r < 0)
			break;
		note_distant(x, bytes, (size_t)n, at);
		free(bytes);
		if (at + n < end)
			n -= LONG_BYTES + 1; /* what begins there is found whole in the next one */
	}
	return r;
}

static int search_all(struct examination *x)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < sp_elf_n_segments(x->f->elf); i++)
		if (sp_elf_segment(x->f->elf, i)->executable && sp_elf_segment(x->f->elf, i)->file_size)
			r = search_segment(x, sp_elf_segment(x->f->elf, i));
	return r;
}

/* --- regions --- */

/* Where a region ends: at the function's end, or at the next one that does not lie inside an instruction. */
static uint64_t region_end(const struct sp_functions *f, size_t k, size_t *ret_next)
{
	size_t next = k + 1;
	while (next < f->n && f->at[next].flags & SP_FN_INSIDE)
		next++;
	*ret_next = next;
	return next < f->n ? SP_MIN(f->at[k].end, f->at[next].start) : f->at[k].end;
}

/* An instruction reaches over the beginning of the next function: one of the two is none. True: go on behind it. */
static bool overlaps_next(struct sp_functions *f, size_t k, size_t next)
{
	if (next < f->n && f->at[next].start < f->at[k].end && f->at[k].flags & SP_FN_RANGE &&
	    !(f->at[next].flags & SP_FN_RANGE)) {
		f->at[next].flags |= SP_FN_INSIDE;
		return true;
	}
	f->at[k].flags |= SP_FN_BAD;
	return false;
}

/* By a call, or a jump that may be the call at a function's end. */
static bool goes_elsewhere(const struct sp_reference *i, const struct sp_function *function)
{
	if (i->flow == SP_FLOW_CALL)
		return true;
	return (i->flow == SP_FLOW_JUMP || i->flow == SP_FLOW_BRANCH) &&
	       (!i->any || i->target < function->start || i->target >= function->end);
}

/* Notes where the region's code leads, and whether it is code up to its end. */
static int decode_region(struct examination *x, size_t k)
{
	struct sp_functions *f = x->f;
	struct sp_function *function = &f->at[k];
	struct sp_reference i = {.flow = SP_FLOW_NEXT};
	size_t next;
	uint64_t end = region_end(f, k, &next);
	for (uint64_t at = function->start; at < end; at += i.length) {
		size_t n;
		const uint8_t *bytes;
		int r = sp_prologue_bytes(&x->reader, at, &bytes, &n);
		if (r < 0)
			return r;
		if (!sp_insn_refers(&x->reader.decoder, bytes, n, at, &i)) {
			function->flags |= SP_FN_BAD;
			return 0;
		}
		if (i.any)
			note_target(x, i.target, i.flow == SP_FLOW_JUMP || i.flow == SP_FLOW_BRANCH ? function : NULL);
		function->flags |= (i.is_open ? SP_FN_OPEN : 0u) | (i.is_odd ? SP_FN_ODD : 0u);
		function->flags |= goes_elsewhere(&i, function) ? SP_FN_CALLS : 0u;
		if (at + i.length <= end)
			continue;
		if (!overlaps_next(f, k, next))
			return 0;
		end = region_end(f, k, &next);
	}
	if (i.flow == SP_FLOW_NEXT && end == function->end && !(next < f->n && f->at[next].start == end))
		function->flags |= SP_FN_BAD;
	return 0;
}

/* Decodes regions of wanted functions and of all that a short jump may come from. */
static int decode_regions(struct examination *x)
{
	struct sp_functions *f = x->f;
	uint64_t until = 0;
	size_t w = 0;
	int r = 0;
	for (size_t k = 0; r == 0 && k < f->n; k++) {
		struct sp_function *function = &f->at[k];
		if (function->flags & SP_FN_INSIDE)
			continue;
		if (function->flags & SP_FN_WANTED) {
			until = SP_MAX(until, SP_MAX(function->end, function->start + 2 * SHORT_REACH));
			w = function->wanted + 1;
		}
		size_t next;
		uint64_t end = region_end(f, k, &next), from = w < f->n_wanted ? x->starts[w] : UINT64_MAX;
		from -= SP_MIN(from, (uint64_t)SHORT_REACH);
		if (function->start < until || end > from)
			r = decode_region(x, k);
		end = region_end(f, k, &next);
		uint64_t gap_end = next < f->n ? f->at[next].start : end;
		if (r == 0 && end < gap_end && end < until)
			r = note_gap(x, end, gap_end);
		if (r == 0 && end < gap_end && gap_end > from && from != UINT64_MAX)
			r = note_gap(x, SP_MAX(end, from), gap_end);
	}
	return r;
}

/* Whether some region from the function's start to its end has the flag; one walk for all. */
static void spread_flags(struct sp_functions *f)
{
	uint64_t bad = UINT64_MAX, open = UINT64_MAX, odd = UINT64_MAX, calls = UINT64_MAX;
	for (size_t k = f->n; k > 0; k--) {
		const struct sp_function *x = &f->at[k - 1];
		bad = x->flags & SP_FN_BAD ? x->start : bad;
		open = x->flags & SP_FN_OPEN ? x->start : open;
		odd = x->flags & SP_FN_ODD ? x->start : odd;
		calls = x->flags & SP_FN_CALLS ? x->start : calls;
		if (!(x->flags & SP_FN_WANTED))
			continue;
		f->wanted[x->wanted].is_bad = bad < x->end;
		f->wanted[x->wanted].is_open = open < x->end;
		f->wanted[x->wanted].is_odd = odd < x->end;
		f->wanted[x->wanted].calls = calls < x->end;
	}
}

/* --- the whole --- */

static int begin(struct examination *x)
{
	struct sp_functions *f = x->f;
	x->starts = calloc(f->n_wanted, sizeof(*x->starts));
	if (!x->starts)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_wanted; i++) {
		struct sp_probe_wanted *w = &f->wanted[i];
		const struct sp_function *function = &f->at[w->function];
		size_t label = sp_n_up_to(f->labels, f->n_labels, function->start);
		x->starts[i] = function->start;
		w->limit = SP_MIN(function->end, function->start + SP_POINT_REACH);
		if (w->function + 1 < f->n)
			w->limit = SP_MIN(w->limit, f->at[w->function + 1].start);
		if (label < f->n_labels)
			w->limit = SP_MIN(w->limit, f->labels[label]);
		int r = sp_prologue_walk(&x->reader, function, x->what, w);
		if (r < 0)
			return r;
	}
	return 0;
}

int sp_code_examine(struct sp_functions *f, const struct sp_probe_what *what)
{
	struct examination x = {.f = f, .what = what};
	if (!f->n_wanted)
		return 0;
	sp_prologue_open(&x.reader, f->elf);
	int r = begin(&x);
	if (r == 0)
		r = decode_regions(&x);
	if (r == 0)
		r = search_all(&x);
	if (r == 0)
		spread_flags(f);
	sp_prologue_close(&x.reader);
	free(x.starts);
	return r;
}
