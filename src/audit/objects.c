/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries and programs of this process, as their headers in memory describe them. */
#include "audit/audit.h"

#include <fcntl.h>
#include <sys/stat.h>

struct sp_object sp_objects[SP_OBJECTS];
uint32_t sp_n_objects;

extern const Elf64_Phdr *sp_program_headers; /* main.c */
extern uint64_t sp_n_program_headers;
extern const char *sp_program_path;
extern uint64_t sp_linker;

static const Elf64_Phdr *headers_of(const struct link_map *map, bool is_program, uint32_t *ret_n)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)map->l_addr;

	if (is_program) {
		*ret_n = (uint32_t)sp_n_program_headers;
		return sp_program_headers;
	}
	/* A library that was linked to another address than 0 has no header there; such are not made any more. */
	if (map->l_addr == 0 || (uint64_t)map->l_ld - map->l_addr > 1ULL << 31 ||
	    !sp_equal(e->e_ident, ELFMAG, SELFMAG) || e->e_phentsize != sizeof(Elf64_Phdr) ||
	    e->e_phoff > 4096 - sizeof(Elf64_Phdr))
		return NULL;
	*ret_n = e->e_phnum;
	return (const Elf64_Phdr *)(map->l_addr + e->e_phoff);
}

static void read_segment(struct sp_object *o, const Elf64_Phdr *p)
{
	struct sp_range r = {o->bias + p->p_vaddr, o->bias + p->p_vaddr + p->p_memsz};

	if (o->whole.high == 0 || r.low < o->whole.low)
		o->whole.low = r.low;
	if (r.high > o->whole.high)
		o->whole.high = r.high;
	if ((p->p_flags & PF_X) != 0 && o->n_code < SP_CODE_RANGES)
		o->code[o->n_code++] = r;
}

static void read_notes(struct sp_object *o, const Elf64_Phdr *p)
{
	const uint8_t *at = (const uint8_t *)(o->bias + p->p_vaddr), *end = at + p->p_memsz;
	uint64_t align = p->p_align == 8 ? 8 : 4;

	while (end - at >= (int64_t)sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const Elf64_Nhdr *)at;
		uint64_t name = (n->n_namesz + align - 1) & ~(align - 1),
			 bytes = (n->n_descsz + align - 1) & ~(align - 1);
		if (name + bytes > (uint64_t)(end - at) - sizeof(*n))
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && sp_equal(n + 1, "GNU", 4) && n->n_descsz > 0 &&
		    n->n_descsz <= SP_CALLS_BUILD_ID) {
			o->build_id = at + sizeof(*n) + name;
			o->build_id_len = n->n_descsz;
			return;
		}
		at += sizeof(*n) + name + bytes;
	}
}

static void read_headers(struct sp_object *o)
{
	for (uint32_t i = 0; i < o->n_phdrs; i++) {
		const Elf64_Phdr *p = &o->phdrs[i];
		if (p->p_type == PT_LOAD)
			read_segment(o, p);
		else if (p->p_type == PT_NOTE && o->build_id == NULL)
			read_notes(o, p);
		else if (p->p_type == PT_GNU_RELRO)
			o->relro = (struct sp_range){(o->bias + p->p_vaddr) & ~4095ULL,
						     (o->bias + p->p_vaddr + p->p_memsz) & ~4095ULL};
	}
}

/* ld.so has made most of these addresses, but not in a .dynamic that it cannot write to. */
static uint64_t dynamic_address(const struct sp_object *o, uint64_t value)
{
	return value >= o->bias ? value : value + o->bias;
}

static void read_dynamic(struct sp_object *o)
{
	uint64_t relocation_bytes = 0, n_relative = 0, soname = UINT64_MAX;

	for (Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_STRTAB:
			o->strings = (const char *)dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_SYMTAB:
			o->symbols = (const Elf64_Sym *)dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_RELA:
			o->relocations = (const Elf64_Rela *)dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_PLTGOT:
			o->got = dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			relocation_bytes = d->d_un.d_val;
			break;
		case DT_RELACOUNT:
			n_relative = d->d_un.d_val;
			break;
		case DT_SONAME:
			soname = d->d_un.d_val;
			break;
		default:
			break;
		}
	uint64_t n = relocation_bytes / sizeof(Elf64_Rela);
	if (o->relocations != NULL && o->symbols != NULL && n_relative <= n && n - n_relative < UINT32_MAX) {
		o->relocations += n_relative;
		o->n_relocations = (uint32_t)(n - n_relative);
	}
	if (o->strings != NULL && soname != UINT64_MAX)
		o->soname = o->strings + soname;
}

static const char *last_part(const char *path)
{
	const char *last = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			last = path + 1;
	return last;
}

static bool is_in_list(const char *name)
{
	const char *list = sp_share.header->targets;
	size_t len = sp_len(name);

	while (len > 0 && *list != '\0') {
		size_t n = 0;
		while (list[n] != '\0' && list[n] != ',')
			n++;
		if (n == len && sp_equal(list, name, n))
			return true;
		list += list[n] == ',' ? n + 1 : n;
	}
	return false;
}

static struct sp_object *free_place(void)
{
	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (sp_objects[i].whole.high == 0)
			return &sp_objects[i];
	return sp_n_objects < SP_OBJECTS ? &sp_objects[sp_n_objects] : NULL;
}

struct sp_object *sp_object_open(const struct link_map *map)
{
	struct sp_object *o = free_place(), made = {.bias = map->l_addr, .dynamic = map->l_ld, .path = map->l_name};

	made.is_program = map->l_name[0] == '\0';
	if (made.is_program)
		made.path = sp_program_path;
	made.phdrs = headers_of(map, made.is_program, &made.n_phdrs);
	if (o == NULL || made.phdrs == NULL || made.dynamic == NULL)
		return NULL;
	read_headers(&made);
	read_dynamic(&made);
	made.is_target = (made.soname != NULL && is_in_list(made.soname)) || is_in_list(last_part(made.path));
	made.is_linker = sp_linker != 0 && made.bias == sp_linker;
	uint64_t high = made.whole.high;
	made.whole.high = 0; /* other threads look through the table: the end comes last */
	sp_copy(o, &made, sizeof(made));
	sp_store(&o->whole.high, high);
	if (o == &sp_objects[sp_n_objects])
		sp_store(&sp_n_objects, sp_n_objects + 1);
	return o;
}

void sp_object_close(struct sp_object *o)
{
	sp_store(&o->whole.high, 0);
}

struct sp_object *sp_object_at(uint64_t address)
{
	uint32_t n = sp_load(&sp_n_objects);

	for (uint32_t i = 0; i < n; i++) {
		struct sp_object *o = &sp_objects[i];
		if (address < sp_load(&o->whole.high) && address >= o->whole.low)
			return o;
	}
	return NULL;
}

bool sp_object_has_code(const struct sp_object *o, uint64_t address)
{
	for (uint32_t i = 0; i < o->n_code; i++)
		if (address >= o->code[i].low && address < o->code[i].high)
			return true;
	return false;
}

struct sp_object *sp_target_at(uint64_t address)
{
	uint32_t n = sp_load(&sp_n_objects);

	for (uint32_t i = 0; i < n; i++) {
		struct sp_object *o = &sp_objects[i];
		if (o->is_target && sp_load(&o->whole.high) != 0 && sp_object_has_code(o, address))
			return o;
	}
	return NULL;
}

uint64_t sp_object_offset(const struct sp_object *o, uint64_t address)
{
	uint64_t vaddr = address - o->bias;

	for (uint32_t i = 0; i < o->n_phdrs; i++) {
		const Elf64_Phdr *p = &o->phdrs[i];
		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_memsz)
			return vaddr - p->p_vaddr + p->p_offset;
	}
	return vaddr;
}

/* As much of the end of it as there is room for. */
static bool copy_name(char *to, size_t room, const char *from)
{
	size_t len = from != NULL ? sp_len(from) : 0, cut = len >= room ? len - room + 1 : 0;

	if (len > 0)
		sp_copy(to, from + cut, len - cut);
	return cut > 0;
}

uint32_t sp_object_id(struct sp_object *o)
{
	struct sp_calls_object wanted = {.build_id_len = o->build_id_len};
	struct stat st;

	if (o->shared_id != 0)
		return o->shared_id;
	wanted.flags = (o->is_target ? SP_CALLS_OBJECT_TARGET : 0) | (o->is_program ? SP_CALLS_OBJECT_PROGRAM : 0);
	if (copy_name(wanted.path, sizeof(wanted.path), o->path))
		wanted.flags |= SP_CALLS_OBJECT_PATH_CUT;
	copy_name(wanted.soname, sizeof(wanted.soname), o->soname);
	if (o->build_id_len > 0)
		sp_copy(wanted.build_id, o->build_id, o->build_id_len);
	else if (sp_sys(SYS_newfstatat, (uint64_t)AT_FDCWD, (uint64_t)o->path, (uint64_t)&st, 0, 0, 0) == 0) {
		wanted.size_bytes = (uint64_t)st.st_size;
		wanted.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	}
	uint32_t id = sp_share_object(&wanted);
	sp_store(&o->shared_id, id);
	return id;
}
