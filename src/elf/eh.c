/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eh.c: where .eh_frame is.
 *
 * The C library itself uses PT_GNU_EH_FRAME, so it wins if the section header disagrees; the section header then only
 * adds the size. (Linux Standard Base, .eh_frame_hdr; pointer encodings DW_EH_PE_*.)
 */
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>

enum { HDR_START_BYTES = 12 };

/* Decodes the start of .eh_frame from the first fields of .eh_frame_hdr. */
static int decode_eh_frame_ptr(struct sp_cursor *c, uint64_t vaddr, uint64_t *ret_vaddr)
{
	uint8_t version = sp_cursor_u8(c), encoding = sp_cursor_u8(c);
	uint64_t value;
	sp_cursor_skip(c, 2);
	switch (encoding & 0x0f) {
	case 0x03: /* udata4 */
		value = sp_cursor_u32(c);
		break;
	case 0x0b: /* sdata4 */
		value = (uint64_t)(int32_t)sp_cursor_u32(c);
		break;
	case 0x00: /* absptr, udata8, sdata8 */
	case 0x04:
	case 0x0c:
		value = sp_cursor_u64(c);
		break;
	default:
		return -ENOENT;
	}
	uint8_t base = encoding & 0xf0;
	if (c->bad || version != 1 || (base != 0x00 && base != 0x10 && base != 0x30))
		return -ENOENT;
	*ret_vaddr = value + (base == 0x10 ? vaddr + 4 : base == 0x30 ? vaddr : 0);
	return 0;
}

/* Bytes from this address to the end of its segment in the file. */
static uint64_t left_in_segment(const struct sp_elf *e, uint64_t vaddr)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct sp_elf_segment *s = &e->segments[i];
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
			return s->file_size - (vaddr - s->vaddr);
	}
	return 0;
}

static int find_by_header(struct sp_elf *e, struct sp_elf_eh_frame *eh)
{
	const Elf64_Phdr *p = sp_elf_phdr(e, PT_GNU_EH_FRAME);
	uint8_t start[HDR_START_BYTES];
	if (!p || p->p_filesz < 8)
		return -ENOENT;
	size_t n = SP_MIN(sizeof(start), p->p_filesz);
	int r = sp_elf_read_into(e, p->p_offset, start, n);
	if (r < 0)
		return r == -ENODATA ? -ENOENT : r;
	eh->hdr_vaddr = p->p_vaddr;
	eh->hdr_offset = p->p_offset;
	eh->hdr_size = p->p_filesz;
	struct sp_cursor c = sp_cursor_on(start, n);
	r = decode_eh_frame_ptr(&c, p->p_vaddr, &eh->vaddr);
	if (r == 0)
		r = sp_elf_offset_of(e, eh->vaddr, &eh->offset);
	return r;
}

static bool section_is_loaded(const struct sp_elf *e, const struct sp_elf_section *s)
{
	uint64_t offset;
	return s->type != SHT_NOBITS && (s->flags & SHF_ALLOC) && s->size > 0 &&
	       sp_elf_offset_of(e, s->addr, &offset) == 0 && offset == s->offset;
}

int sp_elf_eh_frame(struct sp_elf *e, struct sp_elf_eh_frame *ret_eh)
{
	struct sp_elf_eh_frame eh = {0};
	struct sp_elf_section s;
	bool has_section = sp_elf_section(e, ".eh_frame", &s) == 0 && section_is_loaded(e, &s);
	int r = find_by_header(e, &eh);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT && !has_section)
		return r;
	if (r == -ENOENT) {
		eh.vaddr = s.addr;
		eh.offset = s.offset;
	}
	eh.size = left_in_segment(e, eh.vaddr);
	if (has_section && s.offset == eh.offset)
		eh.size = SP_MIN(eh.size, s.size);
	*ret_eh = eh;
	return 0;
}
