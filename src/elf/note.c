/* SPDX-License-Identifier: GPL-2.0-or-later */
/* note.c: the build id, from the notes that the program headers or else the section headers point to. */
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/priv.h"
#include <errno.h>
#include <string.h>

enum { MAX_NOTE_BYTES = 1 << 20 };

static void skip_padding(struct sp_cursor *c, size_t align)
{
	sp_cursor_skip(c, SP_MIN(-c->at & (align - 1), sp_cursor_left(c)));
}

/* One note; the length of the build id in it, 0 if it is another note. */
static int read_note(struct sp_cursor *c, size_t align, uint8_t *ret_id, size_t size)
{
	uint32_t name_len = sp_cursor_u32(c), len = sp_cursor_u32(c), type = sp_cursor_u32(c);
	struct sp_cursor name = sp_cursor_sub(c, name_len);
	skip_padding(c, align);
	struct sp_cursor id = sp_cursor_sub(c, len);
	skip_padding(c, align);
	if (c->bad || type != NT_GNU_BUILD_ID || name_len != 4 || memcmp(name.data, "GNU", 4) != 0)
		return 0;
	size_t n = SP_MIN(id.size, size);
	if (n > 0)
		memcpy(ret_id, id.data, n);
	return (int)n;
}

static int id_in_notes(struct sp_elf *e, uint64_t offset, uint64_t bytes, uint64_t align, uint8_t *ret_id, size_t size)
{
	SP_FREE void *notes = NULL;
	if (bytes > MAX_NOTE_BYTES)
		return -ENOENT;
	int r = sp_elf_read(e, offset, (size_t)bytes, &notes);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	struct sp_cursor c = sp_cursor_on(notes, (size_t)bytes);
	while (!c.bad && sp_cursor_left(&c) > 0) {
		int n = read_note(&c, align == 8 ? 8 : 4, ret_id, size);
		if (n > 0)
			return n;
	}
	return -ENOENT;
}

int sp_elf_build_id(struct sp_elf *e, uint8_t *ret_id, size_t size)
{
	struct sp_elf_section s;
	int r = -ENOENT;
	for (size_t i = 0; i < e->n_phdrs && r == -ENOENT; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];
		if (p->p_type == PT_NOTE)
			r = id_in_notes(e, p->p_offset, p->p_filesz, p->p_align, ret_id, size);
	}
	if (r == -ENOENT && sp_elf_section(e, ".note.gnu.build-id", &s) == 0 && s.type == SHT_NOTE)
		r = id_in_notes(e, s.offset, s.size, 4, ret_id, size);
	return r;
}
