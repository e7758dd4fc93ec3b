/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.c: from .eh_frame to rows: FDEs collected, sorted by start, run one after the other.
 *
 * Where FDEs overlap, the one that starts first keeps its bytes (of equal starts, the first in .eh_frame), and the
 * other keeps what is left of it. A malformed FDE whose range is known is one row of SP_CFA_BAD.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "unwind/arch.h"
#include "unwind/build_rows.h"
#include "unwind/priv.h"
#include "unwind/runtime.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LATE_PUSH = 8, WORD = 8 };

/* An FDE's frame, by its rows so far: never set up; set up early and never taken down; anything else. */
enum frame { FRAME_NONE, FRAME_STAYS, FRAME_GOES };

struct builder {
	struct sp_elf *elf;
	struct sp_go *go; /* NULL: not a Go program */
	struct sp_blob head;
	uint8_t *bytes; /* of .eh_frame */
	size_t n_bytes;
	bool cut; /* .eh_frame is longer than what is read */
	struct sp_eh_reader reader;
	size_t segment; /* where the last FDE was found */
	struct sp_fde *fdes;
	size_t n_fdes, fdes_capacity;
	struct sp_unwind_rows rows;
	struct sp_derived derived;
	struct sp_code_span builtins; /* where V8's builtins are; the whole file if their place is not known */
	size_t next_derived;          /* the first derived row not used yet */
	uint64_t entry;               /* file offset of the ELF entry point; UINT64_MAX: none */
	struct sp_context context;
	uint64_t end;       /* end of the code covered by the FDEs so far */
	uint64_t fde_start; /* start of the current FDE */
	bool uses_base;     /* some row counts its CFA from the base register ... */
	bool with_base;     /* ... so in this run rows say where that register is saved */
	struct sp_kept_needs needs;
	enum frame frame; /* of the current FDE */
	bool tells_root;  /* a root in it is what its rule says; in other FDEs a root is a thread's */
};

static int row_none(struct builder *b, uint64_t offset)
{
	static const struct sp_rule none = {.cfa = SP_CFA_NONE}, of_v8 = {.cfa = SP_CFA_V8};
	bool is_builtin = offset >= b->builtins.start && offset < b->builtins.end;
	const struct sp_rule *rule = is_builtin ? &of_v8 : &none;
	return b->rows.n > 0 ? sp_unwind_rows_push(&b->rows, offset, rule, false) : 0;
}

/* The first derived row at or behind an offset; offsets only grow. NULL: there is none. */
static const struct sp_derived_row *derived_at(struct builder *b, uint64_t offset)
{
	const struct sp_derived *d = &b->derived;
	while (b->next_derived < d->n_rows && d->rows[b->next_derived].offset < offset)
		b->next_derived++;
	return b->next_derived < d->n_rows ? &d->rows[b->next_derived] : NULL;
}

/* Rows for the bytes [from, to), which have no FDE: the derived ones, else none. */
static int fill_part(struct builder *b, uint64_t from, uint64_t to)
{
	const struct sp_derived_row *row = derived_at(b, from);
	bool any = row && row->offset < to;
	bool hole = any ? row->offset > from : to - from >= SP_PADDING_BYTES; /* more than padding */
	int r = hole ? row_none(b, from) : 0;
	for (; r == 0 && row && row->offset < to; row = derived_at(b, row->offset + 1))
		r = row->rule ? sp_unwind_rows_push(&b->rows, row->offset, &b->derived.rules[row->rule], false)
			      : row_none(b, row->offset);
	return r;
}

/* The bytes [b->end, to) have no FDE; the entry point may lie there. */
static int fill_gap(struct builder *b, uint64_t to)
{
	static const struct sp_rule root = {.cfa = SP_CFA_ROOT};
	if (b->entry < b->end || b->entry >= to)
		return fill_part(b, b->end, to);
	int r = fill_part(b, b->end, b->entry);
	if (r == 0)
		r = sp_unwind_rows_push(&b->rows, b->entry, &root, false);
	const struct sp_derived_row *next = derived_at(b, b->entry);
	uint64_t end = SP_MIN(to, b->entry + SP_ENTRY_BYTES);
	if (next)
		end = SP_MIN(end, next->offset);
	return r == 0 && to > end ? fill_part(b, end, to) : r;
}

/* Finds out whether the function ever takes its frame down: a function with a `ret` has a row for that. */
static void note_frame(struct builder *b, uint64_t at, const struct sp_rule *rule)
{
	bool up =
	    (rule->cfa == SP_CFA_REG && (rule->reg == SP_REG_FP || rule->off > WORD)) || rule->cfa == SP_CFA_DEREF;
	if (at == 0)
		b->frame = up || rule->cfa != SP_CFA_REG ? FRAME_GOES : FRAME_NONE;
	else if (b->frame == FRAME_NONE)
		b->frame = up && at <= LATE_PUSH ? FRAME_STAYS : FRAME_GOES;
	else if (!up)
		b->frame = FRAME_GOES;
}

static bool has_fp_in_frame(const struct sp_rule *rule)
{
	return rule->cfa == SP_CFA_REG && rule->reg != SP_REG_FP && rule->fp == SP_FP_FP;
}

/*
 * Mends the end of a function that has realigned its stack, where a row counts from the stack pointer again. GCC's FDE
 * still looks for the frame pointer in the frame when the function has popped it already: from the instruction behind
 * that pop on, the register is the caller's.
 */
static int mend_end(struct builder *b, uint64_t at, struct sp_rule *rule)
{
	uint8_t code[SP_REALIGNED_END];
	uint64_t lea = at - SP_REALIGNED_LEA, last = b->rows.row[b->rows.n - 1];
	struct sp_rule before = sp_unwind_rows_rule_at(&b->rows, (uint16_t)last);
	bool goes_on = before.cfa == SP_CFA_REG && before.reg == SP_REG_SP && before.fp == SP_FP_SAME;
	bool ends = has_fp_in_frame(&before) && sp_unwind_row_offset(last) < lea &&
		    sp_elf_read_into(b->elf, at - sizeof(code), code, sizeof(code)) == 0 &&
		    sp_ends_realigned(code, rule->off);
	if (!goes_on && !ends)
		return 0;
	rule->fp = before.fp = SP_FP_SAME;
	rule->fp_off = before.fp_off = 0;
	return ends ? sp_unwind_rows_push(&b->rows, lea, &before, false) : 0;
}

static int take_row(void *arg, uint64_t at, const struct sp_rule *rule, bool lost)
{
	static const struct sp_rule thread = {.cfa = SP_CFA_ROOT, .reg = SP_ROOT_THREAD};
	struct builder *b = arg;
	if (rule->cfa == SP_CFA_ROOT && !b->tells_root)
		rule = &thread;
	b->uses_base |= rule->cfa == SP_CFA_REG && rule->reg == SP_REG_BASE;
	note_frame(b, at, rule);
	struct sp_rule mended = *rule;
	int r = 0;
	if (has_fp_in_frame(rule) && rule->reg == SP_REG_SP && at > SP_REALIGNED_END && b->rows.n > 0)
		r = mend_end(b, b->fde_start + at, &mended);
	if (r == 0)
		r = sp_kept_note(&b->needs, b->fde_start, b->fde_start + at, rule);
	return r < 0 ? r : sp_unwind_rows_push(&b->rows, SP_MAX(b->fde_start + at, b->end), &mended, lost);
}

static int run_program(struct builder *b, const struct sp_fde *fde)
{
	struct sp_cursor all = sp_cursor_on(b->bytes, b->n_bytes);
	struct sp_go_func f;
	if (fde->cie == SP_CIE_GO)
		return sp_go_func(b->go, fde->program, &f) ? sp_go_run(b->elf, b->go, &f, take_row, b) : -EBADMSG;
	sp_cursor_seek(&all, fde->program);
	return sp_cfi_run(&b->reader.cies[fde->cie], fde, sp_cursor_sub(&all, fde->program_bytes),
			  b->reader.vaddr + fde->program, b->with_base, take_row, b);
}

static int run_fde(struct builder *b, const struct sp_fde *fde)
{
	static const struct sp_rule bad = {.cfa = SP_CFA_BAD, .reg = SP_BAD_PROGRAM};
	static const struct sp_rule context = {.cfa = SP_CFA_ROOT, .reg = SP_ROOT_FIBER};
	if (fde->start + fde->size <= b->end) {
		b->head.n_bad_fdes++;
		return 0;
	}
	int r = fde->start > b->end ? fill_gap(b, fde->start) : 0;
	if (r < 0)
		return r;
	if (fde->start == b->context.returned_to && fde->start > b->end)
		r = sp_unwind_rows_push(&b->rows, fde->start - 1, &context, false);
	if (r < 0)
		return r;
	b->end = SP_MAX(b->end, fde->start);
	b->fde_start = fde->start;
	b->frame = FRAME_GOES;
	b->tells_root = fde->cie == SP_CIE_GO || (b->entry >= fde->start && b->entry - fde->start < fde->size);
	size_t n_rows = b->rows.n;
	r = run_program(b, fde);
	if (r == 0 && (b->frame == FRAME_STAYS || fde->start == b->context.first))
		r = sp_unwind_rows_mark_first(&b->rows, n_rows);
	sp_kept_end(&b->needs, fde->start + fde->size);
	if (r == -EBADMSG) {
		b->rows.n = n_rows;
		b->head.n_bad_fdes++;
		r = sp_unwind_rows_push(&b->rows, b->end, &bad, false);
	}
	b->end = fde->start + fde->size;
	return r;
}

/* The file offset of an FDE that lies in one executable segment. */
static bool place_fde(struct builder *b, struct sp_fde *fde)
{
	size_t n = sp_elf_n_segments(b->elf);
	for (size_t i = 0; i < n; i++) {
		size_t k = (b->segment + i) % n;
		const struct sp_elf_segment *s = sp_elf_segment(b->elf, k);
		if (!s->executable || fde->vaddr < s->vaddr || fde->vaddr - s->vaddr >= s->file_size)
			continue;
		uint64_t at = fde->vaddr - s->vaddr;
		if (fde->size > s->file_size - at || s->offset + s->file_size > SP_MAX_OFFSET)
			return false;
		b->segment = k;
		fde->start = s->offset + at;
		return true;
	}
	return false;
}

static int add_fde(struct builder *b, struct sp_fde *fde)
{
	if (fde->size == 0)
		return 0;
	if (!place_fde(b, fde)) {
		b->head.n_bad_fdes++;
		return 0;
	}
	if (b->n_fdes == SP_EH_MAX_FDES) {
		b->head.flags |= SP_BLOB_PARTIAL;
		return -EFBIG;
	}
	return SP_APPEND(b->fdes, b->n_fdes, b->fdes_capacity, *fde);
}

/* All entries of .eh_frame; cb says 0 to go on. The result is cb's, or negative. */
static int for_each_fde(struct builder *b, int (*cb)(struct builder *b, struct sp_fde *fde))
{
	struct sp_fde fde;
	int r;
	while ((r = sp_eh_next(&b->reader, &fde)) == 1) {
		b->head.n_fdes++;
		r = cb(b, &fde);
		if (r != 0)
			return r;
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct sp_fde *x = a, *y = b;

	return SP_RISING(x->start, y->start) ?: SP_RISING(x->program, y->program);
}

static void sort_fdes(struct builder *b)
{
	for (size_t i = 1; i < b->n_fdes; i++) {
		if (by_start(&b->fdes[i - 1], &b->fdes[i]) <= 0)
			continue;
		qsort(b->fdes, b->n_fdes, sizeof(*b->fdes), by_start);
		return;
	}
}

/* Reads .eh_frame; -ENOENT when the file has none. */
static int load_eh_frame(struct builder *b)
{
	struct sp_elf_eh_frame eh;
	struct sp_elf_section s;
	void *bytes;
	int r = sp_elf_eh_frame(b->elf, &eh);
	if (r < 0)
		return r;
	bool exact = sp_elf_section(b->elf, ".eh_frame", &s) == 0 && s.offset == eh.offset;
	b->cut = eh.size > SP_EH_MAX_BYTES;
	eh.size = SP_MIN(eh.size, (uint64_t)SP_EH_MAX_BYTES);
	r = sp_elf_read(b->elf, eh.offset, (size_t)eh.size, &bytes);
	if (r < 0)
		return r;
	b->bytes = bytes;
	b->n_bytes = (size_t)eh.size;
	sp_eh_init(&b->reader, bytes, b->n_bytes, eh.vaddr, exact);
	return 0;
}

/*
 * Linkers set the entry point of a shared library that has none to the start of .text. The code there (crtstuff's,
 * which calls destructors) may have no FDE either, but it does have callers.
 */
static bool entry_is_filler(struct builder *b)
{
	struct sp_elf_section s;
	return sp_elf_type(b->elf) == ET_DYN && sp_elf_section(b->elf, ".interp", &s) < 0 &&
	       sp_elf_section(b->elf, ".text", &s) == 0 && s.addr == sp_elf_entry(b->elf);
}

static void find_entry(struct builder *b)
{
	uint64_t entry = entry_is_filler(b) ? 0 : sp_elf_entry(b->elf);
	struct sp_fde fde = {.vaddr = entry, .size = 1};
	b->entry = entry != 0 && place_fde(b, &fde) ? fde.start : UINT64_MAX;
}

static int run_fdes(struct builder *b)
{
	int r = 0;
	b->needs.n = 0;
	b->next_derived = 0;
	b->end = 0;
	for (size_t i = 0; i < b->n_fdes && r == 0; i++)
		r = run_fde(b, &b->fdes[i]);
	if (r == 0 && (b->n_fdes > 0 || b->derived.n_rows > 0))
		r = fill_gap(b, UINT64_MAX);
	if (r == -EFBIG) { /* a partial table, marked as such: its last row becomes a gap */
		b->rows.row[b->rows.n - 1] =
		    sp_unwind_row_make(sp_unwind_row_offset(b->rows.row[b->rows.n - 1]), false, 0);
		r = 0;
	}
	return r;
}

static int find_covered(const struct builder *b, struct sp_code_spans *ret_spans)
{
	int r = 0;
	for (size_t i = 0; i < b->n_fdes && r == 0; i++)
		r = sp_code_spans_add(ret_spans, b->fdes[i].start, b->fdes[i].start + b->fdes[i].size);
	sp_code_spans_join(ret_spans);
	return r;
}

/* V8 is known by what it exports, or by its builtins. */
static int find_builtins(struct builder *b, const struct sp_code_span *covered, size_t n)
{
	uint32_t *kind = &b->head.runtime.kind;
	int r = *kind == SP_RUNTIME_HOTSPOT ? 0 : sp_v8_find(b->elf, covered, n, &b->builtins);
	if (r == 0 && !b->builtins.end && *kind == SP_RUNTIME_V8)
		b->builtins.end = UINT64_MAX;
	if (b->builtins.end)
		*kind = SP_RUNTIME_V8;
	return r < 0 || !b->builtins.end ? r : sp_v8_rows(b->elf, covered, n, &b->builtins, &b->derived);
}

/* Whatever fails here costs derived rows only. */
static int derive_gaps(struct builder *b, const struct sp_code_spans *covered)
{
	int r = sp_derive(b->elf, covered->at, covered->n, b->entry, &b->derived);
	if (r < 0 || b->derived.cut)
		b->head.flags |= SP_BLOB_DERIVED_PART;
	b->head.n_derived_functions = (uint32_t)b->derived.n_functions;
	b->head.uncovered_bytes = b->derived.code_bytes + b->derived.left_out;
	b->head.derived_bytes = b->derived.derived_bytes;
	b->head.left_out_bytes = b->derived.left_out;
	return find_builtins(b, covered->at, covered->n);
}

static int derive(struct builder *b)
{
	struct sp_code_spans covered = {0};
	sort_fdes(b);
	find_entry(b);
	b->context = sp_context_find(b->elf);
	int r = find_covered(b, &covered);
	r = r < 0 ? r : derive_gaps(b, &covered);
	free(covered.at);
	return r;
}

/* The number of the rule with this number's content that also keeps these registers. */
static int rule_keeping(void *arg, uint16_t number, uint16_t regs)
{
	struct builder *b = arg;
	struct sp_rule rule = sp_unwind_rows_rule_at(&b->rows, number);
	if (!regs || rule.cfa < SP_CFA_REG || rule.cfa > SP_CFA_PLT || rule.ra & SP_RULE_SIGNAL)
		return number;
	rule.kept |= regs;
	return sp_unwind_rows_rule(&b->rows, &rule);
}

/* Only few files have functions that count their CFA from a register across calls. */
static int keep_registers(struct builder *b)
{
	struct sp_kept kept;
	int r = b->needs.n ? sp_kept_find(b->elf, &b->needs, &kept) : 1;
	if (r != 0)
		return r < 0 ? r : 0;
	b->head.n_register_calls = kept.n_calls;
	b->head.n_unsure_calls = kept.n_unsure;
	r = sp_kept_apply(&kept, &b->rows.row, &b->rows.n, &b->rows.capacity, rule_keeping, b);
	sp_kept_done(&kept);
	return r;
}

/*
 * Only few files count a CFA from the base register. They are run a second time, so that all other files need fewer
 * rows.
 */
static int run_all(struct builder *b)
{
	int r = derive(b);
	struct sp_blob head = b->head;
	if (r == 0)
		r = sp_unwind_rows_start(&b->rows);
	if (r == 0)
		r = run_fdes(b);
	if (r < 0 || !b->uses_base)
		return r;
	b->head = head;
	b->with_base = true;
	r = sp_unwind_rows_start(&b->rows);
	return r < 0 ? r : run_fdes(b);
}

static int make_rows(struct builder *b)
{
	int r = run_all(b);
	return r < 0 ? r : keep_registers(b);
}

static int make_blob(struct builder *b, struct sp_blob **ret_blob)
{
	size_t n = sp_intern_count(b->rows.rules);
	SP_FREE struct sp_rule *rules = calloc(n, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(&rules[i], sp_intern_get(b->rows.rules, (uint32_t)i, NULL), sizeof(rules[i]));
	int len = sp_elf_build_id(b->elf, b->head.build_id, sizeof(b->head.build_id));
	b->head.build_id_len = len > 0 ? (uint32_t)len : 0;
	b->head.flags |= b->rows.partial ? SP_BLOB_PARTIAL : 0;
	return sp_blob_pack(&b->head, b->rows.row, b->rows.n, rules, n, ret_blob);
}

static int add_go(void *arg, struct sp_fde *fde)
{
	struct builder *b = arg;
	b->head.n_fdes++;
	return add_fde(b, fde);
}

/* A table that cannot be read leaves only what .eh_frame says. */
static int add_go_functions(struct builder *b)
{
	int r = sp_go_open(b->elf, &b->go);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return sp_go_each(b->elf, b->go, add_go, b);
}

/* Frees all but the rows, which are large enough themselves. */
static void inputs_free(struct builder *b)
{
	free(sp_take_ptr(b->bytes));
	free(sp_take_ptr(b->fdes));
	free(sp_take_ptr(b->needs.at));
	b->n_fdes = b->fdes_capacity = 0;
	sp_derived_done(&b->derived);
}

static int build(struct builder *b, struct sp_blob **ret_blob)
{
	int r = load_eh_frame(b), go;
	bool has_eh_frame = r != -ENOENT;
	if (r == 0)
		r = for_each_fde(b, add_fde);
	go = r == 0 || r == -ENOENT ? add_go_functions(b) : 0;
	r = go < 0 ? go : r;
	if (!has_eh_frame && !b->n_fdes)
		b->head.flags |= SP_BLOB_NO_EH_FRAME;
	if (r < 0 && r != -ENOENT && r != -EFBIG)
		return r;
	b->head.n_bad_fdes += b->reader.n_bad;
	r = sp_runtime_find(b->elf, &b->head.runtime);
	if (r < 0)
		return r;
	if (b->reader.partial || (b->cut && !b->reader.terminated))
		b->head.flags |= SP_BLOB_PARTIAL;
	r = make_rows(b);
	inputs_free(b);
	return r < 0 ? r : make_blob(b, ret_blob);
}

static void builder_done(struct builder *b)
{
	sp_eh_done(&b->reader);
	sp_go_close(b->go);
	sp_derived_done(&b->derived);
	sp_unwind_rows_done(&b->rows);
	free(b->bytes);
	free(b->fdes);
	free(b->needs.at);
}

int sp_blob_build(struct sp_elf *e, struct sp_blob **ret_blob)
{
	struct builder b = {.elf = e};
	int r = build(&b, ret_blob);
	builder_done(&b);
	return r;
}

struct walk {
	struct builder b;
	int (*cb)(void *arg, uint64_t start, uint64_t size);
	void *arg;
	uint64_t next; /* the first FDE behind the entry point */
	bool covered;  /* some FDE holds the entry point */
	size_t entry_segment;
};

static int walk_fde(struct builder *b, struct sp_fde *fde)
{
	struct walk *w = (struct walk *)b; /* its first member */
	if (fde->size == 0 || !place_fde(b, fde))
		return 0;
	if (fde->start > b->entry)
		w->next = SP_MIN(w->next, fde->start);
	else if (b->entry - fde->start < fde->size)
		w->covered = true;
	int r = w->cb(w->arg, fde->start, fde->size);
	return r == 0 ? add_fde(b, fde) : r;
}

/* The code at the entry point is a function, too, as the rows say, even if no FDE covers it (ld.so's). */
static int walk_entry(struct walk *w)
{
	uint64_t size = SP_MIN(w->next - w->b.entry, (uint64_t)SP_ENTRY_BYTES);
	if (w->covered || w->b.entry == UINT64_MAX)
		return 0;
	const struct sp_elf_segment *s = sp_elf_segment(w->b.elf, w->entry_segment);
	size = SP_MIN(size, s->offset + s->file_size - w->b.entry);
	const struct sp_derived_row *row = derived_at(&w->b, w->b.entry);
	if (row)
		size = SP_MIN(size, row->offset - w->b.entry);
	return size ? w->cb(w->arg, w->b.entry, size) : 0;
}

static int walk_derived(struct walk *w)
{
	const struct sp_derived *d = &w->b.derived;
	int r = add_go_functions(&w->b);
	r = r < 0 ? r : derive(&w->b);
	for (size_t i = 0; r == 0 && i < d->n_functions; i++)
		r = w->cb(w->arg, d->functions[i].start, d->functions[i].end - d->functions[i].start);
	return r;
}

static int walk_all(struct walk *w, bool derived)
{
	int r = load_eh_frame(&w->b);
	if (r == 0) {
		find_entry(&w->b);
		w->entry_segment = w->b.segment;
		r = for_each_fde(&w->b, walk_fde);
		free(sp_take_ptr(w->b.bytes)); /* before deriving, which needs memory, too */
	}
	if (derived && (r == 0 || r == -ENOENT || r == -EFBIG))
		r = walk_derived(w);
	if (r == 0)
		r = walk_entry(w);
	builder_done(&w->b);
	return r == -ENOENT ? 0 : r;
}

int sp_fde_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	struct walk w = {.b = {.elf = e}, .cb = cb, .arg = arg, .next = UINT64_MAX};
	return walk_all(&w, false);
}

int sp_function_walk(struct sp_elf *e, int (*cb)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	struct walk w = {.b = {.elf = e}, .cb = cb, .arg = arg, .next = UINT64_MAX};
	return walk_all(&w, true);
}
