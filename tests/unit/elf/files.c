/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reader says of real files is what libelf and libdw say. */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIB "/usr/lib/x86_64-linux-gnu/"

static const char *const samples[] = {
    LIB "libc.so.6",      LIB "ld-linux-x86-64.so.2",
    LIB "libcrypto.so.3", LIB "libstdc++.so.6",
    "/usr/bin/python3",   "/bin/bash",
    "/sbin/ldconfig",     LIB "crt1.o",
    LIB "libm.so.6",      "/proc/self/exe",
    LIB "libdw.so.1",     LIB "libz.so.1",
};

struct pair {
	int fd;
	struct sp_elf *ours;
	Elf *theirs;
};

static struct pair open_pair(const char *path)
{
	struct pair p = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	elf_version(EV_CURRENT);
	assert_true(p.fd >= 0);
	assert_int_equal(sp_elf_open_fd(p.fd, &p.ours), 0);
	p.theirs = elf_begin(p.fd, ELF_C_READ, NULL);
	assert_non_null(p.theirs);
	return p;
}

static void close_pair(struct pair *p)
{
	sp_elf_close(p->ours);
	elf_end(p->theirs);
	close(p->fd);
}

static void for_all(void (*check)(struct pair *p))
{
	for (size_t i = 0; i < SP_COUNT(samples); i++) {
		struct pair p = open_pair(samples[i]);
		check(&p);
		close_pair(&p);
	}
}

static void check_segments(struct pair *p)
{
	size_t n, k = 0;
	GElf_Phdr h;
	assert_int_equal(elf_getphdrnum(p->theirs, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(gelf_getphdr(p->theirs, (int)i, &h));
		if (h.p_type != PT_LOAD)
			continue;
		const struct sp_elf_segment *s = sp_elf_segment(p->ours, k++);
		assert_non_null(s);
		assert_true(s->offset == h.p_offset && s->vaddr == h.p_vaddr && s->file_size == h.p_filesz);
		assert_true(s->mem_size == h.p_memsz && s->executable == ((h.p_flags & PF_X) != 0));
	}
	assert_int_equal(sp_elf_n_segments(p->ours), k);
	assert_null(sp_elf_segment(p->ours, k));
}

static void check_header(struct pair *p)
{
	GElf_Ehdr h;
	assert_non_null(gelf_getehdr(p->theirs, &h));
	assert_int_equal(sp_elf_type(p->ours), h.e_type);
	assert_int_equal(sp_elf_entry(p->ours), h.e_entry);
}

static void check_sections(struct pair *p)
{
	size_t n, names;
	GElf_Shdr h;
	struct sp_elf_section s;
	assert_int_equal(elf_getshdrnum(p->theirs, &n), 0);
	assert_int_equal(elf_getshdrstrndx(p->theirs, &names), 0);
	assert_int_equal(sp_elf_n_sections(p->ours), n);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(gelf_getshdr(elf_getscn(p->theirs, i), &h));
		assert_int_equal(sp_elf_section_at(p->ours, i, &s), 0);
		assert_string_equal(s.name, elf_strptr(p->theirs, names, h.sh_name));
		assert_true(s.type == h.sh_type && s.flags == h.sh_flags && s.addr == h.sh_addr && s.size == h.sh_size);
		assert_true(s.offset == h.sh_offset && s.entry_size == h.sh_entsize && s.link == h.sh_link &&
			    s.info == h.sh_info);
	}
	assert_int_equal(sp_elf_section_at(p->ours, n, &s), -ENOENT);
	assert_int_equal(sp_elf_section(p->ours, ".no such section", &s), -ENOENT);
}

static void check_build_id(struct pair *p)
{
	uint8_t id[64];
	const void *theirs = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(p->theirs, &theirs);
	int r = sp_elf_build_id(p->ours, id, sizeof(id));
	assert_int_equal(r, n > 0 ? n : -ENOENT);
	if (n > 0) {
		assert_memory_equal(id, theirs, n);
		memset(id, 0xee, sizeof(id));
		assert_int_equal(sp_elf_build_id(p->ours, id, 5), 5);
		assert_int_equal(id[5], 0xee);
	}
}

static const char *their_soname(Elf *e)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e, scn));) {
		GElf_Shdr h;
		GElf_Dyn d;
		assert_non_null(gelf_getshdr(scn, &h));
		Elf_Data *data = h.sh_type == SHT_DYNAMIC ? elf_getdata(scn, NULL) : NULL;
		for (int i = 0; data && gelf_getdyn(data, i, &d); i++)
			if (d.d_tag == DT_SONAME)
				return elf_strptr(e, h.sh_link, d.d_un.d_val);
	}
	return NULL;
}

static void check_soname(struct pair *p)
{
	SP_FREE char *ours = NULL;
	const char *theirs = their_soname(p->theirs);
	assert_int_equal(sp_elf_soname(p->ours, &ours), theirs ? 0 : -ENOENT);
	if (theirs)
		assert_string_equal(ours, theirs);
}

/* First, middle and last byte of each segment, and the bytes around it. */
static void check_addresses(struct pair *p)
{
	uint64_t offset, vaddr;
	for (size_t i = 0; i < sp_elf_n_segments(p->ours); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(p->ours, i);
		const uint64_t at[] = {0, s->file_size / 2, s->file_size - 1};
		for (size_t k = 0; k < SP_COUNT(at) && s->file_size; k++) {
			assert_int_equal(sp_elf_offset_of(p->ours, s->vaddr + at[k], &offset), 0);
			assert_int_equal(offset, s->offset + at[k]);
			assert_int_equal(sp_elf_vaddr_of(p->ours, offset, &vaddr), 0);
			assert_int_equal(vaddr, s->vaddr + at[k]);
		}
	}
	assert_int_equal(sp_elf_offset_of(p->ours, UINT64_MAX, &offset), -ENOENT);
	assert_int_equal(sp_elf_vaddr_of(p->ours, UINT64_MAX, &vaddr), -ENOENT);
}

static void check_eh_frame(struct pair *p)
{
	struct sp_elf_eh_frame eh;
	struct sp_elf_section s, hdr;
	int r = sp_elf_eh_frame(p->ours, &eh);
	if (sp_elf_type(p->ours) == ET_REL) {
		assert_int_equal(r, -ENOENT); /* not placed yet */
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(sp_elf_section(p->ours, ".eh_frame", &s), 0);
	assert_true(eh.vaddr == s.addr && eh.offset == s.offset && eh.size == s.size);
	if (sp_elf_section(p->ours, ".eh_frame_hdr", &hdr) == 0)
		assert_true(eh.hdr_vaddr == hdr.addr && eh.hdr_offset == hdr.offset && eh.hdr_size == hdr.size);
}

/* It is the same for the same bytes, and another when any of those that are looked at is another. */
static void check_sample(struct pair *p)
{
	const off_t size = lseek(p->fd, 0, SEEK_END);
	SP_FREE uint8_t *bytes = malloc((size_t)size);
	const struct sp_elf_segment *s = sp_elf_segment(p->ours, sp_elf_n_segments(p->ours) / 2);
	struct sp_elf_eh_frame eh = {0};
	uint64_t of_file, sample;
	assert_int_equal(sp_elf_sample(p->ours, &of_file), 0);
	assert_int_equal(pread(p->fd, bytes, (size_t)size, 0), size);
	sp_elf_eh_frame(p->ours, &eh);
	/* 0: the padding of e_ident, which says nothing */
	const uint64_t changed[] = {0, s ? s->offset + s->file_size / 2 % 65536 : 0,
				    eh.hdr_offset + eh.hdr_size / 2 % 65536, (uint64_t)size - 1};
	for (size_t i = 0; i < SP_COUNT(changed); i++) {
		const uint64_t at = changed[i] ? changed[i] : 15;
		struct sp_elf *e = NULL;
		for (unsigned flip = 0; flip < 2; flip++) {
			bytes[at] ^= 1;
			assert_int_equal(sp_elf_open_bytes(bytes, (size_t)size, &e), 0);
			assert_int_equal(sp_elf_sample(e, &sample), 0);
			assert_int_equal(sample == of_file, flip);
			sp_elf_close(e);
		}
	}
}

static void samples_of_bytes(void **state)
{
	for_all(check_sample);
}

static void headers(void **state)
{
	for_all(check_header);
	for_all(check_segments);
}

static void sections(void **state)
{
	for_all(check_sections);
}

static void build_ids(void **state)
{
	for_all(check_build_id);
}

static void sonames(void **state)
{
	for_all(check_soname);
}

static void addresses(void **state)
{
	for_all(check_addresses);
}

static void eh_frames(void **state)
{
	for_all(check_eh_frame);
}

static void bytes_are_read(void **state)
{
	struct pair p = open_pair("/bin/bash");
	SP_FREE void *bytes = NULL;
	uint8_t expected[1000];
	assert_int_equal(pread(p.fd, expected, sizeof(expected), 4321), sizeof(expected));
	assert_int_equal(sp_elf_read(p.ours, 4321, sizeof(expected), &bytes), 0);
	assert_memory_equal(bytes, expected, sizeof(expected));
	off_t size = lseek(p.fd, 0, SEEK_END);
	void *none = NULL;
	assert_int_equal(sp_elf_read(p.ours, (uint64_t)size - 10, 11, &none), -ENODATA);
	assert_int_equal(sp_elf_read(p.ours, UINT64_MAX, 11, &none), -ENODATA);
	assert_int_equal(sp_elf_read(p.ours, 0, SIZE_MAX, &none), -ENODATA);
	assert_null(none);
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(headers),   cmocka_unit_test(sections),       cmocka_unit_test(samples_of_bytes),
	    cmocka_unit_test(build_ids), cmocka_unit_test(sonames),        cmocka_unit_test(addresses),
	    cmocka_unit_test(eh_frames), cmocka_unit_test(bytes_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
