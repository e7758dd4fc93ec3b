/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eh_frame.c: reads the entries of .eh_frame: keeps CIEs, passes FDEs on. */
#include "base/mem.h"
#include "base/search.h"
#include "unwind/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXTENDED_LENGTH 0xffffffffu
enum { PE_OMIT = 0xff };

void sp_eh_init(struct sp_eh_reader *r, const void *bytes, size_t size, uint64_t vaddr, bool exact)
{
	*r = (struct sp_eh_reader){.c = sp_cursor_on(bytes, size), .vaddr = vaddr, .exact = exact};
}

void sp_eh_done(struct sp_eh_reader *r)
{
	free(r->cies);
	r->cies = NULL;
}

static uint64_t read_format(struct sp_cursor *c, uint8_t format)
{
	switch (format) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return sp_cursor_u64(c);
	case 0x01:
		return sp_cursor_uleb(c);
	case 0x02:
		return sp_cursor_u16(c);
	case 0x03:
		return sp_cursor_u32(c);
	case 0x09:
		return (uint64_t)sp_cursor_sleb(c);
	case 0x0a:
		return (uint64_t)(int16_t)sp_cursor_u16(c);
	case 0x0b:
		return (uint64_t)(int32_t)sp_cursor_u32(c);
	default:
		c->bad = true;
		return 0;
	}
}

/* Only absolute and pc-relative pointers: no x86-64 compiler uses other bases or indirect ones for code. */
bool sp_eh_pointer(struct sp_cursor *c, uint8_t encoding, uint64_t vaddr, uint64_t *ret_value)
{
	uint64_t value = read_format(c, encoding & 0x0f);
	uint8_t base = encoding & 0xf0;
	*ret_value = base == 0x10 ? value + vaddr : value;
	return !c->bad && (base == 0x00 || base == 0x10);
}

/* Skips a pointer with any base, DW_EH_PE_aligned included. */
static void skip_pointer(struct sp_cursor *c, uint8_t encoding, uint64_t vaddr)
{
	if (encoding == PE_OMIT)
		return;
	if ((encoding & 0x70) == 0x50) {
		sp_cursor_skip(c, -vaddr & 7);
		encoding = 0;
	}
	read_format(c, encoding & 0x0f);
}

static void read_augmentation(struct sp_cie *cie, const char *letters, struct sp_cursor data, uint64_t vaddr)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'L':
			sp_cursor_u8(&data);
			break;
		case 'P': {
			uint8_t encoding = sp_cursor_u8(&data);
			skip_pointer(&data, encoding, vaddr + data.at);
			break;
		}
		case 'R':
			cie->encoding = sp_cursor_u8(&data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default: /* its length is known, but its meaning may matter */
			cie->bad = true;
			return;
		}
	}
	cie->bad |= data.bad;
}

/* c is behind the CIE's id. */
static int parse_cie(struct sp_cie *cie, struct sp_cursor *c, uint64_t vaddr)
{
	uint8_t version = sp_cursor_u8(c);
	const char *letters = sp_cursor_str(c);
	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	if (strcmp(letters, "eh") == 0) {
		sp_cursor_skip(c, 8);
		letters = "";
	}
	if (version == 4 && (sp_cursor_u8(c) != 8 || sp_cursor_u8(c) != 0))
		return -EBADMSG;
	cie->code_align = sp_cursor_uleb(c);
	cie->data_align = sp_cursor_sleb(c);
	if ((version == 1 ? sp_cursor_u8(c) : sp_cursor_uleb(c)) != SP_REG_RA || c->bad)
		return -EBADMSG;
	if (*letters == 'z') {
		size_t len = (size_t)sp_cursor_uleb(c);
		uint64_t data_vaddr = vaddr + c->at;
		cie->has_data = true;
		read_augmentation(cie, letters + 1, sp_cursor_sub(c, len), data_vaddr);
	} else if (*letters) {
		return -EBADMSG;
	}
	if (c->bad || cie->bad)
		return -EBADMSG;
	uint64_t program_vaddr = vaddr + c->at;
	return sp_cfi_start(cie, sp_cursor_sub(c, sp_cursor_left(c)), program_vaddr);
}

static int add_cie(struct sp_eh_reader *r, struct sp_cursor *c, uint64_t at, uint64_t vaddr)
{
	if (r->n_cies == SP_EH_MAX_CIES) {
		r->partial = true;
		return 0;
	}
	int e = sp_grow(&r->cies, &r->cies_capacity, r->n_cies + 1, sizeof(*r->cies));
	if (e < 0)
		return e;
	struct sp_cie *cie = &r->cies[r->n_cies++];
	*cie = (struct sp_cie){.at = at};
	if (parse_cie(cie, c, vaddr) < 0)
		cie->bad = true;
	return 0;
}

/* The CIE at this place, by bisection; nearly always the last one used. */
static const struct sp_cie *find_cie(struct sp_eh_reader *r, uint64_t at)
{
	if (r->last < r->n_cies && r->cies[r->last].at == at)
		return &r->cies[r->last];
	size_t i = SP_N_BELOW(r->cies, r->n_cies, at, at);
	if (i == r->n_cies || r->cies[i].at != at)
		return NULL;
	r->last = (uint32_t)i;
	return &r->cies[i];
}

/* c is behind the CIE pointer; its bytes begin `base` bytes into .eh_frame. */
static bool parse_fde(struct sp_eh_reader *r, struct sp_cursor *c, uint64_t base, uint64_t cie_at, struct sp_fde *fde)
{
	const struct sp_cie *cie = find_cie(r, cie_at);
	if (!cie || cie->bad)
		return false;
	if (!sp_eh_pointer(c, cie->encoding, r->vaddr + base + c->at, &fde->vaddr))
		return false;
	fde->size = read_format(c, cie->encoding & 0x0f);
	if (cie->has_data)
		sp_cursor_skip(c, (size_t)sp_cursor_uleb(c));
	fde->cie = (uint32_t)(cie - r->cies);
	fde->program = (uint32_t)(base + c->at);
	fde->program_bytes = (uint32_t)sp_cursor_left(c);
	return !c->bad;
}

/* Position and length of the next entry; false: the end. */
static bool next_entry(struct sp_eh_reader *r, uint64_t *ret_at, uint64_t *ret_length)
{
	while (sp_cursor_left(&r->c) >= 4) {
		uint64_t at = r->c.at, length = sp_cursor_u32(&r->c);
		if (length == 0 && !r->exact) {
			r->terminated = true;
			return false;
		}
		if (length == 0) /* a terminator, or padding that linkers leave between input files */
			continue;
		if (length == EXTENDED_LENGTH)
			length = sp_cursor_u64(&r->c);
		if (r->c.bad || length < 4 || length > sp_cursor_left(&r->c)) {
			r->n_bad += r->exact; /* with an unknown size, the end is followed by other data */
			return false;
		}
		*ret_at = at;
		*ret_length = length;
		return true;
	}
	return false;
}

int sp_eh_next(struct sp_eh_reader *r, struct sp_fde *ret_fde)
{
	uint64_t at, length;
	while (next_entry(r, &at, &length)) {
		uint64_t base = r->c.at;
		struct sp_cursor entry = sp_cursor_sub(&r->c, (size_t)length);
		uint32_t id = sp_cursor_u32(&entry);
		if (id == 0) {
			int e = add_cie(r, &entry, at, r->vaddr + base);
			if (e < 0)
				return e;
			continue;
		}
		struct sp_fde fde = {0};
		if (id <= base && parse_fde(r, &entry, base, base - id, &fde)) {
			*ret_fde = fde;
			return 1;
		}
		r->n_bad++;
	}
	return 0;
}
