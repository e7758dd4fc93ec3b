/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf.h: a bounded reader of ELF files, for unwind tables and symbols.
 *
 * Reads by pread from a descriptor that the caller keeps open, or from bytes in memory (the vDSO, tests, fuzzers);
 * never maps a file. Program headers come first; section headers are optional and may be wrong: a file without
 * sections still has its segments, build id, .eh_frame (PT_GNU_EH_FRAME) and dynamic symbols (PT_DYNAMIC). Every size
 * is limited (SP_ELF_MAX_*), every offset checked. Errors: -ENOEXEC for anything but 64-bit little-endian x86-64
 * files; -ENODATA past the end of the file, -EFBIG over a limit, -ENOENT for what the file does not have. No state but
 * the struct, no output.
 */
#ifndef SP_ELF_ELF_H
#define SP_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SP_ELF_MAX_PHDRS = 1024,
	SP_ELF_MAX_SHDRS = 65536,
	SP_ELF_MAX_READ = 1 << 30, /* bytes read from one file, all together */
};

struct sp_elf;

struct sp_elf_segment { /* PT_LOAD */
	uint64_t offset, vaddr, file_size, mem_size;
	bool executable;
};
struct sp_elf_section {
	const char *name; /* lives as long as the sp_elf */
	uint32_t type;
	uint64_t flags, addr, offset, size, entry_size;
	uint32_t link, info;
};

int sp_elf_open_fd(int fd, struct sp_elf **ret_elf);
int sp_elf_open_bytes(const void *bytes, size_t size, struct sp_elf **ret_elf);
void sp_elf_close(struct sp_elf *e);

/* Whether the file ends before its segments or section headers do; segments of a debug file do not count. */
bool sp_elf_is_cut(const struct sp_elf *e);
uint16_t sp_elf_type(const struct sp_elf *e);  /* ET_EXEC, ET_DYN ... */
uint64_t sp_elf_entry(const struct sp_elf *e); /* virtual address, 0 = none */
size_t sp_elf_n_segments(const struct sp_elf *e);
const struct sp_elf_segment *sp_elf_segment(const struct sp_elf *e, size_t i);
const struct sp_elf_segment *sp_elf_code_at(const struct sp_elf *e, uint64_t offset); /* NULL: no code is there */
/* Sections by name; -ENOENT when the file has none of that name. */
int sp_elf_section(const struct sp_elf *e, const char *name, struct sp_elf_section *ret_section);
size_t sp_elf_n_sections(const struct sp_elf *e);
int sp_elf_section_at(const struct sp_elf *e, size_t i, struct sp_elf_section *ret_section);

/* Converts between virtual addresses and file offsets by PT_LOAD segments; -ENOENT: outside of them. */
int sp_elf_offset_of(const struct sp_elf *e, uint64_t vaddr, uint64_t *ret_offset);
int sp_elf_vaddr_of(const struct sp_elf *e, uint64_t offset, uint64_t *ret_vaddr);

/* Reads into a new buffer (free it). -EFBIG over the limit, -ENODATA past the end of the file. */
int sp_elf_read(struct sp_elf *e, uint64_t offset, size_t size, void **ret_bytes);
int sp_elf_read_into(struct sp_elf *e, uint64_t offset, void *buffer,
		     size_t size); /* the same into the caller's buffer */

struct sp_elf_note { /* valid during the visit; len is not 0 */
	uint32_t type;
	const uint8_t *owner, *data;
	size_t owner_len, len; /* owner_len includes the NUL */
};

/*
 * Visits the notes of all PT_NOTE segments, or without these those of the named section, until a visit returns
 * non-zero, which is returned; of at most 1 MiB in all. Only fails with -ENOMEM itself.
 */
int sp_elf_walk_notes(struct sp_elf *e, const char *section, int (*visit)(void *arg, const struct sp_elf_note *note),
		      void *arg);

/* From PT_NOTE or .note.gnu.build-id: the length (at most `size`), or -ENOENT. */
int sp_elf_build_id(struct sp_elf *e, uint8_t *ret_id, size_t size);
/*
 * A hash of parts of the file: the beginnings of its segments and of .eh_frame_hdr, and its end. Two builds of a
 * program hardly ever have the same, unless somebody wants them to.
 */
int sp_elf_sample(struct sp_elf *e, uint64_t *ret_sample);
/* DT_SONAME into a new string (free it), or -ENOENT. */
int sp_elf_soname(struct sp_elf *e, char **ret_soname);

/* Where .eh_frame and .eh_frame_hdr are: by section, else by PT_GNU_EH_FRAME. -ENOENT when there is none. */
struct sp_elf_eh_frame {
	uint64_t vaddr, offset, size;             /* .eh_frame; without a section, up to the end of its segment */
	uint64_t hdr_vaddr, hdr_offset, hdr_size; /* .eh_frame_hdr; hdr_size 0 = none */
};
int sp_elf_eh_frame(struct sp_elf *e, struct sp_elf_eh_frame *ret_eh);

#endif
