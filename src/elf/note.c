/* SPDX-License-Identifier: GPL-2.0-or-later */
/* note.c: notes, from the program headers or else from the section headers; the build id is one of them. */
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <string.h>

enum { MAX_NOTE_BYTES = 1 << 20 }; /* of all headers together: a thousand may name the same bytes */

struct walk {
	struct sp_elf *e;
	int (*visit)(void *arg, const struct sp_elf_note *note);
	void *arg;
	uint64_t left; /* bytes that may still be looked at */
};

static void skip_padding(struct sp_cursor *c, size_t align)
{
	sp_cursor_skip(c, SP_MIN(-c->at & (align - 1), sp_cursor_left(c)));
}

static int visit_note(const struct walk *w, struct sp_cursor *c, size_t align)
{
	uint32_t owner_len = sp_cursor_u32(c), len = sp_cursor_u32(c), type = sp_cursor_u32(c);
	struct sp_cursor owner = sp_cursor_sub(c, owner_len);
	skip_padding(c, align);
	struct sp_cursor data = sp_cursor_sub(c, len);
	skip_padding(c, align);
	if (c->bad || data.size == 0)
		return 0;
	struct sp_elf_note n = {
	    .type = type, .owner = owner.data, .owner_len = owner.size, .data = data.data, .len = data.size};
	return w->visit(w->arg, &n);
}

/* Notes that cannot be read count as missing. */
static int walk_at(struct walk *w, uint64_t offset, uint64_t bytes, uint64_t align)
{
	SP_FREE void *notes = NULL;
	if (bytes > w->left)
		return 0;
	w->left -= bytes;
	int r = sp_elf_read(w->e, offset, (size_t)bytes, &notes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	struct sp_cursor c = sp_cursor_on(notes, (size_t)bytes);
	while (r == 0 && !c.bad && sp_cursor_left(&c) > 0)
		r = visit_note(w, &c, align == 8 ? 8 : 4);
	return r;
}

int sp_elf_walk_notes(struct sp_elf *e, const char *section, int (*visit)(void *arg, const struct sp_elf_note *note),
		      void *arg)
{
	struct walk w = {.e = e, .visit = visit, .arg = arg, .left = MAX_NOTE_BYTES};
	struct sp_elf_section s;
	int r = 0;
	for (size_t i = 0; i < e->n_phdrs && r == 0; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];
		if (p->p_type == PT_NOTE)
			r = walk_at(&w, p->p_offset, p->p_filesz, p->p_align);
	}
	if (r == 0 && sp_elf_section(e, section, &s) == 0 && s.type == SHT_NOTE)
		r = walk_at(&w, s.offset, s.size, 4);
	return r;
}

/* --- the build id --- */
struct build_id {
	uint8_t *bytes;
	size_t size;
};

static int copy_build_id(void *arg, const struct sp_elf_note *n)
{
	const struct build_id *id = arg;
	if (n->type != NT_GNU_BUILD_ID || n->owner_len != 4 || memcmp(n->owner, "GNU", 4) != 0)
		return 0;
	size_t len = SP_MIN(n->len, id->size);
	memcpy(id->bytes, n->data, len);
	return (int)len;
}

int sp_elf_build_id(struct sp_elf *e, uint8_t *ret_id, size_t size)
{
	struct build_id id = {.bytes = ret_id, .size = size};
	int r = sp_elf_walk_notes(e, ".note.gnu.build-id", copy_build_id, &id);
	return r == 0 ? -ENOENT : r;
}
