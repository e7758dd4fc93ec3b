/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf.c: opening, reading, program headers, addresses. */
#include "elf/elf.h"

#include "base/error.h"
#include "base/io.h"
#include "base/machine.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int sp_elf_read_into(struct sp_elf *e, uint64_t offset, void *buffer, size_t size)
{
	if (offset > e->size || size > e->size - offset)
		return -ENODATA;
	if (size > SP_ELF_MAX_READ - e->n_read)
		return -EFBIG;
	e->n_read += size;
	if (e->fd >= 0)
		return sp_read_at(e->fd, buffer, size, offset);
	if (size > 0)
		memcpy(buffer, e->bytes + offset, size);
	return 0;
}

int sp_elf_read(struct sp_elf *e, uint64_t offset, size_t size, void **ret_bytes)
{
	if (offset > e->size || size > e->size - offset)
		return -ENODATA;
	if (size > SP_ELF_MAX_READ - e->n_read)
		return -EFBIG;
	SP_FREE void *bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	int r = sp_elf_read_into(e, offset, bytes, size);
	if (r < 0)
		return r;
	*ret_bytes = sp_take_ptr(bytes);
	return 0;
}

static int check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return sp_fail_said(-ENOEXEC, "not an ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64)
		return sp_fail_said(-ENOEXEC, "not a 64-bit ELF file");
	if (h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != SP_MACHINE_ELF)
		return sp_fail_said(-ENOEXEC, "an ELF file of another architecture, not x86-64");
	return 0;
}

/* More than 65,534 program headers are counted in section 0; the kernel runs no such file, so it is refused. */
static int load_phdrs(struct sp_elf *e)
{
	size_t n = e->header.e_phnum;
	if (n == 0 || e->header.e_phoff == 0)
		return 0;
	if (e->header.e_phentsize != sizeof(Elf64_Phdr) || n > SP_ELF_MAX_PHDRS)
		return sp_fail_said(-ENOEXEC, "its program headers make no sense");
	void *bytes;
	int r = sp_elf_read(e, e->header.e_phoff, n * sizeof(Elf64_Phdr), &bytes);
	if (r < 0)
		return r == -ENODATA ? sp_fail_said(-ENOEXEC, "its program headers are cut off") : r;
	e->phdrs = bytes;
	e->n_phdrs = n;
	return 0;
}

/* Makes a segment of a PT_LOAD, clipped to the file; false: another type, or it wraps around. */
static bool segment_of(const struct sp_elf *e, const Elf64_Phdr *p, struct sp_elf_segment *ret_segment)
{
	uint64_t end;
	if (p->p_type != PT_LOAD || p->p_offset > e->size || p->p_filesz > p->p_memsz)
		return false;
	if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end))
		return false;
	*ret_segment = (struct sp_elf_segment){
	    .offset = p->p_offset,
	    .vaddr = p->p_vaddr,
	    .file_size = SP_MIN(p->p_filesz, e->size - p->p_offset),
	    .mem_size = p->p_memsz,
	    .executable = (p->p_flags & PF_X) != 0,
	};
	return true;
}

static int load_segments(struct sp_elf *e)
{
	e->segments = calloc(e->n_phdrs ? e->n_phdrs : 1, sizeof(*e->segments));
	if (!e->segments)
		return -ENOMEM;
	for (size_t i = 0; i < e->n_phdrs; i++)
		if (segment_of(e, &e->phdrs[i], &e->segments[e->n_segments]))
			e->n_segments++;
	return 0;
}

static int load(struct sp_elf *e)
{
	int r = sp_elf_read_into(e, 0, &e->header, sizeof(e->header));
	if (r < 0)
		return r == -ENODATA ? sp_fail_said(-ENOEXEC, "not an ELF file: too short") : r;
	r = check_header(&e->header);
	if (r == 0)
		r = load_phdrs(e);
	if (r == 0)
		r = load_segments(e);
	if (r == 0)
		r = sp_elf_load_sections(e);
	if (r == 0)
		r = sp_elf_add_dynamic_sections(e);
	return r;
}

static int open_with(int fd, const void *bytes, uint64_t size, struct sp_elf **ret_elf)
{
	struct sp_elf *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->fd = fd;
	e->bytes = bytes;
	e->size = size;
	int r = load(e);
	if (r < 0) {
		sp_elf_close(e);
		return r;
	}
	*ret_elf = e;
	return 0;
}

int sp_elf_open_fd(int fd, struct sp_elf **ret_elf)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	return open_with(fd, NULL, (uint64_t)st.st_size, ret_elf);
}

int sp_elf_open_bytes(const void *bytes, size_t size, struct sp_elf **ret_elf)
{
	return open_with(-1, bytes, size, ret_elf);
}

void sp_elf_close(struct sp_elf *e)
{
	if (!e)
		return;
	free(e->phdrs);
	free(e->segments);
	free(e->sections);
	free(e->names);
	free(e);
}

uint16_t sp_elf_type(const struct sp_elf *e)
{
	return e->header.e_type;
}

uint64_t sp_elf_entry(const struct sp_elf *e)
{
	return e->header.e_entry;
}

static bool is_debug_file(const struct sp_elf *e)
{
	for (size_t i = 0; i < e->n_sections; i++)
		if (e->sections[i].type == SHT_NOBITS && e->sections[i].flags & SHF_EXECINSTR)
			return true;
	return false;
}

bool sp_elf_is_cut(const struct sp_elf *e)
{
	const Elf64_Ehdr *h = &e->header;
	uint64_t size = (uint64_t)h->e_shnum * sizeof(Elf64_Shdr);

	if (h->e_shoff && (h->e_shoff > e->size || size > e->size - h->e_shoff))
		return true;
	for (size_t i = 0; i < e->n_phdrs; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];
		if (p->p_type == PT_LOAD && p->p_filesz &&
		    (p->p_offset > e->size || p->p_filesz > e->size - p->p_offset))
			return !is_debug_file(e);
	}
	return false;
}

size_t sp_elf_n_segments(const struct sp_elf *e)
{
	return e->n_segments;
}

const struct sp_elf_segment *sp_elf_segment(const struct sp_elf *e, size_t i)
{
	return i < e->n_segments ? &e->segments[i] : NULL;
}

const struct sp_elf_segment *sp_elf_code_at(const struct sp_elf *e, uint64_t offset)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct sp_elf_segment *s = &e->segments[i];
		if (s->executable && offset >= s->offset && offset - s->offset < s->file_size)
			return s;
	}
	return NULL;
}

const Elf64_Phdr *sp_elf_phdr(const struct sp_elf *e, uint32_t type)
{
	for (size_t i = 0; i < e->n_phdrs; i++)
		if (e->phdrs[i].p_type == type)
			return &e->phdrs[i];
	return NULL;
}

int sp_elf_offset_of(const struct sp_elf *e, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct sp_elf_segment *s = &e->segments[i];
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size) {
			*ret_offset = s->offset + (vaddr - s->vaddr);
			return 0;
		}
	}
	return -ENOENT;
}

int sp_elf_vaddr_of(const struct sp_elf *e, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct sp_elf_segment *s = &e->segments[i];
		if (offset >= s->offset && offset - s->offset < s->file_size) {
			*ret_vaddr = s->vaddr + (offset - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}
