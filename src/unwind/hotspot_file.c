/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotspot_file.c: finds where HotSpot's tables of its own fields have the numbers that hotspot.h needs.
 *
 * The tables are arrays of C structures (HotSpot's runtime/vmStructs.hpp). Their strings and addresses are pointers,
 * so relocations in the file. A field has the names of its class, itself and its type, whether it is static, its
 * offset and address; a type has its name and size.
 */
#include "base/machine.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "unwind/runtime.h"
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RELOCATIONS = 64 << 20, MAX_ENTRIES = 16384, MAX_NAME = 64 };
enum { CLASS_AT = 0, FIELD_AT = 8, TYPE_AT = 16, OFFSET_AT = 32, ADDRESS_AT = 40, ENTRY_BYTES = 48 };
enum { TYPE_ENTRY_BYTES = 40, TYPE_SIZE_AT = 32 };

struct wanted {
	const char *class, *field;
	uint8_t what; /* enum sp_hotspot_field */
	bool is_static;
	uint8_t flag;
};
static const struct wanted wanted[] = {
    {"CodeCache", "_heaps", SP_HOTSPOT_HEAPS, true, 0},
    {"AbstractInterpreter", "_code", SP_HOTSPOT_INTERPRETER, true, 0},
    {"GrowableArrayBase", "_len", SP_HOTSPOT_LEN, false, 0},
    {"GenericGrowableArray", "_len", SP_HOTSPOT_LEN, false, 0}, /* up to JDK 15 */
    {"GrowableArray<int>", "_data", SP_HOTSPOT_DATA, false, 0},
    {"CodeHeap", "_memory", SP_HOTSPOT_MEMORY, false, 0},
    {"CodeHeap", "_segmap", SP_HOTSPOT_SEGMAP, false, 0},
    {"CodeHeap", "_log2_segment_size", SP_HOTSPOT_LOG2, false, 0},
    {"VirtualSpace", "_low", SP_HOTSPOT_LOW, false, 0},
    {"VirtualSpace", "_high_boundary", SP_HOTSPOT_HIGH, false, 0},
    {"StubQueue", "_stub_buffer", SP_HOTSPOT_STUBS, false, 0},
    {"StubQueue", "_buffer_limit", SP_HOTSPOT_STUBS_SIZE, false, 0},
    {"CodeBlob", "_code_begin", SP_HOTSPOT_CODE, false, 0},
    {"CodeBlob", "_code_offset", SP_HOTSPOT_CODE, false, SP_HOTSPOT_CODE_OFFSET},
    {"CodeBlob", "_frame_complete_offset", SP_HOTSPOT_COMPLETE, false, 0},
    {"CodeBlob", "_frame_size", SP_HOTSPOT_FRAME, false, 0},
    {"CodeBlob", "_size", SP_HOTSPOT_SIZE, false, 0},
};

struct pointers { /* relocations of type RELATIVE, by offset */
	struct sp_elf *elf;
	Elf64_Rela *rela;
	size_t n;
};

SP_ORDER_BY(by_offset, Elf64_Rela, r_offset);

static int pointers_read(struct sp_elf *e, struct pointers *p)
{
	struct sp_elf_section s;
	size_t n = 0;
	*p = (struct pointers){.elf = e};
	if (sp_elf_section(e, ".rela.dyn", &s) < 0 || s.type == SHT_NOBITS || s.size > MAX_RELOCATIONS)
		return -ENOENT;
	int r = sp_elf_read(e, s.offset, (size_t)s.size, (void **)&p->rela);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	for (size_t i = 0; i < s.size / sizeof(*p->rela); i++)
		if (ELF64_R_TYPE(p->rela[i].r_info) == SP_MACHINE_RELATIVE)
			p->rela[n++] = p->rela[i];
	p->n = n;
	qsort(p->rela, n, sizeof(*p->rela), by_offset);
	return 0;
}

/* Where the pointer at this address leads; 0: it is none. */
static uint64_t pointer_at(const struct pointers *p, uint64_t vaddr)
{
	const Elf64_Rela key = {.r_offset = vaddr};
	const Elf64_Rela *found = p->n ? bsearch(&key, p->rela, p->n, sizeof(key), by_offset) : NULL;
	return found && found->r_addend > 0 ? (uint64_t)found->r_addend : 0;
}

static bool string_is(const struct pointers *p, uint64_t pointer, const char *want)
{
	uint64_t at = pointer_at(p, pointer), offset;
	char bytes[MAX_NAME];
	size_t n = strlen(want) + 1;
	return at && n <= sizeof(bytes) && !sp_elf_offset_of(p->elf, at, &offset) &&
	       !sp_elf_read_into(p->elf, offset, bytes, n) && !memcmp(bytes, want, n);
}

static void take_field(const struct pointers *p, uint64_t entry, struct sp_runtime *t)
{
	for (size_t i = 0; i < SP_COUNT(wanted); i++) {
		const struct wanted *w = &wanted[i];
		if (!string_is(p, entry + FIELD_AT, w->field) || !string_is(p, entry + CLASS_AT, w->class))
			continue;
		t->at[w->what] = w->is_static ? pointer_at(p, entry + ADDRESS_AT) : entry + OFFSET_AT;
		t->flags |= w->flag;
		if (w->what == SP_HOTSPOT_COMPLETE && !string_is(p, entry + TYPE_AT, "int"))
			t->flags |= SP_HOTSPOT_SHORT_COMPLETE;
	}
}

static bool text_find(struct sp_elf *e, struct sp_runtime *t)
{
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);
		if (!s->executable)
			continue;
		t->text_vaddr = s->vaddr - s->offset;
		return true;
	}
	return false;
}

static bool is_whole(const struct sp_runtime *t)
{
	for (size_t i = 0; i < SP_COUNT(t->at); i++)
		if (!t->at[i] || t->at[i] & 7)
			return false;
	return true;
}

int sp_hotspot_find(struct sp_elf *e, uint64_t structs, uint64_t types, struct sp_runtime *ret_runtime)
{
	struct sp_runtime t = {.kind = SP_RUNTIME_HOTSPOT};
	struct pointers p;
	int r = pointers_read(e, &p);
	uint64_t at = r < 0 ? 0 : pointer_at(&p, structs);
	for (size_t i = 0; i < MAX_ENTRIES && at && pointer_at(&p, at); i++, at += ENTRY_BYTES)
		take_field(&p, at, &t);
	at = r < 0 ? 0 : pointer_at(&p, types);
	for (size_t i = 0; i < MAX_ENTRIES && at && pointer_at(&p, at); i++, at += TYPE_ENTRY_BYTES)
		if (string_is(&p, at, "HeapBlock"))
			t.at[SP_HOTSPOT_BLOCK] = at + TYPE_SIZE_AT;
	free(p.rela);
	if (r < 0)
		return r;
	if (!text_find(e, &t) || !is_whole(&t))
		return -ENOENT;
	*ret_runtime = t;
	return 0;
}
