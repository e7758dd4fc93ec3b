/* SPDX-License-Identifier: GPL-2.0-or-later */
/* derive_code.c: the executable bytes that no FDE covers. */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "unwind/x86_64/derive_priv.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 20 };

int sp_code_spans_add(struct sp_code_spans *s, uint64_t start, uint64_t end)
{
	int r = start < end ? sp_grow(&s->at, &s->capacity, s->n + 1, sizeof(*s->at)) : 0;
	if (r == 0 && start < end)
		s->at[s->n++] = (struct sp_code_span){start, end};
	return r;
}

SP_ORDER_BY(by_start, struct sp_code_span, start);

void sp_code_spans_sort(struct sp_code_spans *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), by_start);
}

void sp_code_spans_join(struct sp_code_spans *s)
{
	size_t n = 0;
	sp_code_spans_sort(s);
	for (size_t i = 0; i < s->n; i++) {
		if (n && s->at[i].start <= s->at[n - 1].end)
			s->at[n - 1].end = SP_MAX(s->at[n - 1].end, s->at[i].end);
		else
			s->at[n++] = s->at[i];
	}
	s->n = n;
}

bool sp_code_is_plt(const struct sp_elf_section *s)
{
	return !strncmp(s->name, ".plt", 4) || !strcmp(s->name, ".iplt");
}

/* What of a segment is code: its executable sections, or all of it where there are none. */
static int find_code(struct sp_deriver *d, const struct sp_elf_segment *g, struct sp_code_spans *code)
{
	const uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
	struct sp_elf_section s;
	bool any = false;
	int r = 0;
	for (size_t i = 0; r == 0 && sp_elf_section_at(d->elf, i, &s) == 0; i++) {
		if ((s.flags & flags) != flags || s.type != SHT_PROGBITS || s.offset < g->offset ||
		    s.offset - g->offset > g->file_size || s.size > g->file_size - (s.offset - g->offset) ||
		    (d->stubs_only && !sp_code_is_plt(&s)))
			continue;
		any = true;
		r = sp_code_spans_add(code, s.offset, s.offset + s.size);
	}
	return r < 0 || any || d->stubs_only ? r : sp_code_spans_add(code, g->offset, g->offset + g->file_size);
}

int sp_code_read(struct sp_deriver *d, const struct sp_text *t, uint64_t from, uint64_t to, const uint8_t **ret_bytes)
{
	struct sp_code_buffer *w = &d->buffer;
	if (from < w->start || to > w->end) {
		void *bytes;
		uint64_t end = SP_MAX(to, SP_MIN(from + WINDOW_BYTES, t->offset + t->size));
		int r = sp_elf_read(d->elf, from, (size_t)(end - from), &bytes);
		if (r < 0)
			return r;
		free(w->bytes);
		*w = (struct sp_code_buffer){bytes, from, end};
	}
	*ret_bytes = w->bytes + (from - w->start);
	return 0;
}

/* Copies the bytes, unless they are padding. */
static int add_island(struct sp_deriver *d, const struct sp_text *t, uint64_t start, uint64_t end)
{
	if (d->counting) {
		d->left_out += end - start;
		return 0;
	}
	struct sp_island n = {.vaddr = t->vaddr + (start - t->offset),
			      .offset = start,
			      .size = (uint32_t)(end - start),
			      .base = d->n_bytes};
	int r = sp_code_read(d, t, start, end, &n.bytes);
	if (r < 0 || sp_code_padding(d, &n, n.base) >= n.size)
		return r;
	r = sp_grow(&d->islands, &d->islands_capacity, d->n_islands + 1, sizeof(*d->islands));
	if (r == 0)
		r = sp_grow(&d->code, &d->code_capacity, d->n_bytes + n.size, 1);
	if (r < 0)
		return r;
	memcpy(d->code + n.base, n.bytes, n.size);
	d->islands[d->n_islands++] = n;
	d->n_bytes += n.size;
	return 0;
}

/* Makes islands of the parts of [start, end) that are not covered. */
static int add_islands(struct sp_deriver *d, const struct sp_text *t, uint64_t start, uint64_t end,
		       const struct sp_code_span *covered, size_t n)
{
	size_t low = SP_N_UP_TO(covered, n, end, start);
	int r = 0;
	for (; r == 0 && low < n && covered[low].start < end; low++) {
		if (covered[low].start > start)
			r = add_island(d, t, start, covered[low].start);
		start = SP_MAX(start, covered[low].end);
	}
	return r == 0 && start < end ? add_island(d, t, start, end) : r;
}

static int load_text(struct sp_deriver *d, const struct sp_elf_segment *g, const struct sp_code_span *covered, size_t n)
{
	struct sp_text t = {.vaddr = g->vaddr, .offset = g->offset, .size = g->file_size};
	struct sp_code_spans code = {0};
	int r = sp_grow(&d->texts, &d->texts_capacity, d->n_texts + 1, sizeof(*d->texts));
	if (r < 0)
		return r;
	d->texts[d->n_texts++] = t;
	r = find_code(d, g, &code);
	sp_code_spans_sort(&code);
	for (size_t i = 0; r == 0 && i < code.n; i++) {
		uint64_t start = i ? SP_MAX(code.at[i].start, code.at[i - 1].end) : code.at[i].start;
		code.at[i].end = SP_MAX(code.at[i].end, start);
		r = add_islands(d, &t, start, code.at[i].end, covered, n);
	}
	free(code.at);
	return r;
}

static int load_texts(struct sp_deriver *d, const struct sp_code_span *covered, size_t n)
{
	uint64_t last = 0;
	int r = 0;
	d->n_texts = 0;
	d->text_bytes = 0;
	for (size_t i = 0; r == 0 && i < sp_elf_n_segments(d->elf); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(d->elf, i);
		if (!g->executable || !g->file_size)
			continue;
		if (g->vaddr < last || g->vaddr > INT64_MAX - g->file_size || g->offset + g->file_size >= 1ULL << 40) {
			d->cut = true; /* not ascending, or beyond what offsets can be */
			continue;
		}
		last = g->vaddr + g->file_size;
		d->text_bytes += g->file_size;
		r = load_text(d, g, covered, n);
	}
	return r;
}

/*
 * A function is run several times over: until its states are final, and with other calls taken for endless. So many
 * instructions stay decoded; of a small file fewer, since each takes 1,160 bytes.
 */
enum { MAX_DECODED = 1024, DECODED_BYTES = 32 /* of code, for one place */ };

struct sp_decoded {
	uint32_t number; /* position + 1 */
	struct sp_insn insn;
};

static int make_decoded(struct sp_deriver *d)
{
	uint32_t n = 1;

	while (n < MAX_DECODED && n * DECODED_BYTES < d->n_bytes)
		n *= 2;
	free(d->decoded);
	d->decoded = calloc(n, sizeof(*d->decoded));
	d->n_decoded = n;
	return d->decoded ? 0 : -ENOMEM;
}

int sp_code_load(struct sp_deriver *d, const struct sp_code_span *covered, size_t n)
{
	if (make_decoded(d) < 0)
		return -ENOMEM;
	d->counting = true;
	int r = load_texts(d, covered, n);
	if (r == 0 && (d->left_out > SP_DERIVE_MAX_CODE || d->text_bytes > SP_DERIVE_MAX_TEXT)) {
		d->cut = true;
		d->stubs_only = true;
	}
	uint64_t left_out = d->stubs_only ? d->left_out : 0;
	d->counting = false;
	r = r < 0 ? r : load_texts(d, covered, n);
	if (r < 0)
		return r;
	d->left_out = left_out - SP_MIN(left_out, d->n_bytes);
	if (!d->n_islands)
		return 1;
	for (size_t i = 0; i < d->n_islands; i++)
		d->islands[i].bytes = d->code + d->islands[i].base;
	d->flags = calloc(d->n_bytes, sizeof(*d->flags));
	d->rule_at = calloc(d->n_bytes, sizeof(*d->rule_at));
	return d->flags && d->rule_at ? make_decoded(d) : -ENOMEM;
}

uint32_t sp_code_pos(struct sp_deriver *d, uint64_t vaddr)
{
	const struct sp_island *l = d->islands;
	size_t at = SP_N_WHILE(d->n_islands, i, l[i].vaddr + l[i].size <= vaddr);
	if (at == d->n_islands || vaddr < l[at].vaddr)
		return SP_POS_NONE;
	return l[at].base + (uint32_t)(vaddr - l[at].vaddr);
}

const struct sp_island *sp_code_island(struct sp_deriver *d, uint32_t pos)
{
	const struct sp_island *last = &d->islands[d->last_island];
	if (pos >= last->base && pos - last->base < last->size)
		return last;
	d->last_island = SP_N_UP_TO(d->islands, d->n_islands, base, pos) - 1; /* the first begins at 0 */
	return &d->islands[d->last_island];
}

const struct sp_insn *sp_code_decode(struct sp_deriver *d, const struct sp_island *i, uint32_t pos)
{
	struct sp_decoded *e = &d->decoded[pos & (d->n_decoded - 1)];
	uint32_t at = pos - i->base;
	bool known;
	d->n_steps++;
	if (e->number == pos + 1)
		return &e->insn;
	known = sp_insn_decode(&d->decoder, i->bytes + at, i->size - at, i->vaddr + at, &e->insn);
	e->number = known && d->flags ? pos + 1 : 0; /* while code is loaded, its positions are not yet final */
	return known ? &e->insn : NULL;
}

enum { MAX_INSN = 15 };

/*
 * The length of a long nop as compilers and assemblers write it: prefixes 66 and 2e, then 90, or 0f 1f and an address.
 * 0: none.
 */
static uint32_t usual_nop(const uint8_t *b, size_t n)
{
	static const uint8_t address_bytes[] = {1, 2, 5}; /* length of ModRM and displacement, by addressing mode */
	size_t at = 0;
	while (at < n && at < MAX_INSN && (b[at] == 0x66 || b[at] == 0x2e))
		at++;
	if (at < n && at > 0 && b[at] == 0x90 && b[0] == 0x66 && at == 1)
		return 2;
	if (at + 3 > n || b[at] != 0x0f || b[at + 1] != 0x1f)
		return 0;
	uint8_t address = b[at + 2], kind = address >> 6, base = address & 7;
	if (kind == 3 || (address >> 3 & 7) || base == 5 || (base == 4 && (at + 4 > n || (b[at + 3] & 7) == 5)))
		return 0;
	at += 2 + address_bytes[kind] + (base == 4);
	return at <= n && at <= MAX_INSN ? (uint32_t)at : 0;
}

uint32_t sp_code_padding(struct sp_deriver *d, const struct sp_island *i, uint32_t pos)
{
	const struct sp_insn *insn;
	uint32_t at = pos;
	while (at - i->base < i->size) {
		uint8_t byte = i->bytes[at - i->base];
		uint64_t eight = 1;
		if (i->size - (at - i->base) >= sizeof(eight))
			memcpy(&eight, i->bytes + (at - i->base), sizeof(eight));
		if (eight == 0 || eight == 0xcccccccccccccccc || eight == 0x9090909090909090) {
			at += sizeof(eight);
			continue;
		}
		/* 0, int3 and nop; longer nops begin with 66, 0f, or 2e */
		if (byte == 0 || byte == 0xcc || byte == 0x90) {
			at++;
			continue;
		}
		uint32_t usual = usual_nop(i->bytes + (at - i->base), i->size - (at - i->base));
		if (usual) {
			at += usual;
			continue;
		}
		insn = byte == 0x66 || byte == 0x0f || byte == 0x2e ? sp_code_decode(d, i, at) : NULL;
		if (!insn || insn->z.mnemonic != ZYDIS_MNEMONIC_NOP)
			break;
		at += insn->length;
	}
	return at - pos;
}
