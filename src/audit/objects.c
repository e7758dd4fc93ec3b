/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libraries and programs of this process, from their headers in memory. */
#include "audit/audit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct sp_object sp_objects[SP_OBJECTS];
uint32_t sp_n_objects;

extern const Elf64_Phdr *sp_program_headers; /* main.c */
extern uint64_t sp_n_program_headers;

static bool are_of(const struct link_map *map, const Elf64_Phdr *headers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (headers[i].p_type == PT_DYNAMIC && headers[i].p_vaddr + map->l_addr == (uint64_t)map->l_ld)
			return true;
	return false;
}

/* Headers that are not where most have them: at the end of the file (patchelf, BOLT), or far from address 0. */
static const Elf64_Phdr *map_headers(const struct link_map *map, uint32_t *ret_n)
{
	int64_t fd = sp_sys(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)map->l_name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	Elf64_Ehdr e = {.e_phnum = 0};
	struct stat st = {.st_size = 0};

	if (fd < 0)
		return NULL;
	sp_sys(SYS_read, (uint64_t)fd, (uint64_t)&e, sizeof(e), 0, 0, 0);
	sp_sys(SYS_fstat, (uint64_t)fd, (uint64_t)&st, 0, 0, 0, 0);
	uint64_t skip = e.e_phoff % SP_CALLS_PAGE, bytes = skip + e.e_phnum * sizeof(Elf64_Phdr);
	bool is_whole =
	    e.e_phnum > 0 && e.e_phoff < (uint64_t)st.st_size && bytes <= (uint64_t)st.st_size - (e.e_phoff - skip);
	int64_t at = is_whole ? sp_sys(SYS_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, (uint64_t)fd, e.e_phoff - skip) : -1;
	sp_sys(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	if (at < 0 && at > -4096)
		return NULL;
	const Elf64_Phdr *headers = (const Elf64_Phdr *)((uint64_t)at + skip);
	if (are_of(map, headers, e.e_phnum)) {
		*ret_n = e.e_phnum;
		return headers;
	}
	sp_sys(SYS_munmap, (uint64_t)at, bytes, 0, 0, 0, 0); /* of another file */
	return NULL;
}

/* Whether there is memory at all: what was linked to another address than 0 may have any below it, or none. */
static bool can_be_read(uint64_t page)
{
	return page != 0 && page % SP_CALLS_PAGE == 0 &&
	       sp_sys(SYS_madvise, page, SP_CALLS_PAGE, MADV_POPULATE_READ, 0, 0, 0) == 0;
}

static const Elf64_Phdr *headers_of(const struct link_map *map, bool is_program, uint32_t *ret_n)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)map->l_addr;

	if (is_program) {
		*ret_n = (uint32_t)sp_n_program_headers;
		return sp_program_headers;
	}
	if (can_be_read(map->l_addr) && sp_equal(e->e_ident, ELFMAG, SELFMAG) && e->e_phentsize == sizeof(Elf64_Phdr) &&
	    e->e_phoff <= SP_CALLS_PAGE && e->e_phnum * sizeof(Elf64_Phdr) <= SP_CALLS_PAGE - e->e_phoff) {
		const Elf64_Phdr *headers = (const Elf64_Phdr *)(map->l_addr + e->e_phoff);
		if (are_of(map, headers, e->e_phnum)) {
			*ret_n = e->e_phnum;
			return headers;
		}
	}
	return map_headers(map, ret_n);
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
		else if (p->p_type == PT_NOTE && !o->build_id)
			read_notes(o, p);
		else if (p->p_type == PT_TLS) {
			o->tls_bytes = p->p_memsz;
			o->tls_align = p->p_align > 0 ? p->p_align : 1;
		} else if (p->p_type == PT_GNU_RELRO)
			o->relro = (struct sp_range){(o->bias + p->p_vaddr) & ~4095ULL,
						     (o->bias + p->p_vaddr + p->p_memsz) & ~4095ULL};
	}
}

/* ld.so has made most of these addresses, but not in a .dynamic that it cannot write to. */
static uint64_t dynamic_address(const struct sp_object *o, uint64_t value)
{
	return value >= o->whole.low && value < o->whole.high ? value : value + o->bias;
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
		case DT_JMPREL:
			o->slots = (const Elf64_Rela *)dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			o->n_slots = (uint32_t)(d->d_un.d_val / sizeof(Elf64_Rela));
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
		case DT_GNU_HASH:
			o->names = (const uint32_t *)dynamic_address(o, d->d_un.d_ptr);
			break;
		case DT_FLAGS:
			o->has_static_tls = o->has_static_tls || (d->d_un.d_val & DF_STATIC_TLS) != 0;
			break;
		case DT_TLSDESC_PLT:
			o->has_static_tls = true;
			break;
		case DT_SONAME:
			soname = d->d_un.d_val;
			break;
		default:
			break;
		}
	uint64_t n = relocation_bytes / sizeof(Elf64_Rela);
	if (o->relocations && o->symbols && n_relative <= n && n - n_relative < UINT32_MAX) {
		o->relocations += n_relative;
		o->n_relocations = (uint32_t)(n - n_relative);
	}
	if (o->strings && soname != UINT64_MAX)
		o->soname = o->strings + soname;
}

const char *sp_last_part(const char *path)
{
	const char *last = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			last = path + 1;
	return last;
}

bool sp_list_has(const char *list, const char *name)
{
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

/* Of all libraries ld.so is one; the vdso is not, since ld.so does not show it, and no table leads there. */
static bool is_counted(const struct sp_object *o)
{
	if (!sp_shared.header)
		return false;
	if (sp_shared.all)
		return !o->is_program;
	return (o->soname && sp_list_has(sp_shared.targets, o->soname)) ||
	       sp_list_has(sp_shared.targets, sp_last_part(o->path));
}

static struct sp_object *free_place(void)
{
	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (sp_objects[i].whole.high == 0)
			return &sp_objects[i];
	return sp_n_objects < SP_OBJECTS ? &sp_objects[sp_n_objects] : NULL;
}

static void objects_read_file(struct sp_object *o)
{
	struct stat st;

	if (sp_sys(SYS_newfstatat, (uint64_t)AT_FDCWD, (uint64_t)o->path, (uint64_t)&st, 0, 0, 0) != 0)
		return;
	o->size_bytes = (uint64_t)st.st_size;
	o->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
}

struct sp_object *sp_object_open(const struct link_map *map)
{
	struct sp_object *o = free_place(), made = {.bias = map->l_addr, .dynamic = map->l_ld, .path = map->l_name};

	made.is_program = map->l_name[0] == '\0';
	if (made.is_program)
		made.path = sp_program_file ? sp_program_file : sp_program_path;
	made.phdrs = headers_of(map, made.is_program, &made.n_phdrs);
	if (!o || !made.phdrs || !made.dynamic)
		return NULL;
	read_headers(&made);
	read_dynamic(&made);
	if (made.build_id_len == 0)
		objects_read_file(&made);
	made.is_target = is_counted(&made);
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
	uint64_t headers = (uint64_t)o->phdrs, from = headers & ~(uint64_t)(SP_CALLS_PAGE - 1);

	if (headers < o->whole.low || headers >= o->whole.high)
		sp_sys(SYS_munmap, from, headers + o->n_phdrs * sizeof(Elf64_Phdr) - from, 0, 0, 0, 0);
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

/* By its table of names, as ld.so looks for them. */
const Elf64_Sym *sp_object_defines(const struct sp_object *o, const char *name)
{
	const uint32_t *h = o->names; /* buckets, first symbol, words of a filter of 8 bytes, shift */
	uint32_t hash = 5381;

	if (!h || h[0] == 0)
		return NULL;
	for (const char *c = name; *c != '\0'; c++)
		hash = hash * 33 + (uint8_t)*c;
	const uint32_t *buckets = h + 4 + 2 * h[2], *chain = buckets + h[0];
	uint32_t i = buckets[hash % h[0]];
	for (; i >= h[1]; i++) {
		if ((chain[i - h[1]] | 1) == (hash | 1) && o->symbols[i].st_shndx != SHN_UNDEF &&
		    sp_equal(o->strings + o->symbols[i].st_name, name, sp_len(name) + 1))
			return &o->symbols[i];
		if ((chain[i - h[1]] & 1) != 0)
			break;
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

static bool is_target_at(const struct sp_object *o, uint64_t address)
{
	return o->is_target && address < sp_load(&o->whole.high) && address >= o->whole.low &&
	       sp_object_has_code(o, address);
}

/* Most references of an object lead to a few others, one after the other. */
struct sp_object *sp_target_at(uint64_t address)
{
	static uint32_t last;
	uint32_t n = sp_load(&sp_n_objects), hint = sp_load(&last);

	if (is_target_at(&sp_objects[hint], address))
		return &sp_objects[hint];
	for (uint32_t i = 0; i < n; i++)
		if (is_target_at(&sp_objects[i], address)) {
			sp_store(&last, i);
			return &sp_objects[i];
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
	size_t len = from ? sp_len(from) : 0, cut = len >= room ? len - room + 1 : 0;

	if (len > 0)
		sp_copy(to, from + cut, len - cut);
	return cut > 0;
}

uint32_t sp_object_id(struct sp_object *o)
{
	struct sp_calls_object wanted = {.build_id_len = o->build_id_len};

	if (o->shared_id != 0)
		return o->shared_id;
	wanted.flags = (o->is_target ? SP_CALLS_OBJECT_TARGET : 0) | (o->is_program ? SP_CALLS_OBJECT_PROGRAM : 0);
	if (copy_name(wanted.path, sizeof(wanted.path), o->path))
		wanted.flags |= SP_CALLS_OBJECT_PATH_CUT;
	copy_name(wanted.soname, sizeof(wanted.soname), o->soname);
	if (o->build_id_len > 0)
		sp_copy(wanted.build_id, o->build_id, o->build_id_len);
	wanted.size_bytes = o->size_bytes;
	wanted.mtime_ns = o->mtime_ns;
	uint32_t id = sp_shared_object(&wanted);
	sp_store(&o->shared_id, id);
	return id;
}
