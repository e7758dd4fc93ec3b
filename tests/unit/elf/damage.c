/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are cut, false, huge, or of another kind: an error or less to read, never more than the file has. */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBZ "/usr/lib/x86_64-linux-gnu/libz.so.1"

static uint8_t *load(const char *path, size_t *ret_size)
{
	struct stat st;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	uint8_t *bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* Everything the reader offers, on bytes of exactly this size, so that a sanitizer sees what goes beyond. */
static int use(const uint8_t *bytes, size_t size)
{
	struct sp_elf *e = NULL;
	struct sp_elf_section s;
	struct sp_elf_eh_frame eh;
	uint8_t id[20];
	uint64_t x;
	SP_FREE uint8_t *copy = malloc(size ? size : 1);
	SP_FREE char *soname = NULL;
	memcpy(copy, bytes, size);
	int r = sp_elf_open_bytes(copy, size, &e);
	if (r < 0)
		return r;
	for (size_t i = 0; sp_elf_section_at(e, i, &s) == 0; i++)
		assert_true(strlen(s.name) < size);
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(e, i);
		assert_true(g->offset <= size && g->file_size <= size - g->offset);
	}
	if (sp_elf_eh_frame(e, &eh) == 0)
		assert_true(eh.offset <= size && eh.size <= size - eh.offset);
	sp_elf_build_id(e, id, sizeof(id));
	sp_elf_soname(e, &soname);
	sp_elf_offset_of(e, sp_elf_entry(e), &x);
	sp_elf_close(e);
	return 0;
}

static void cut_anywhere(void **state)
{
	size_t size;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	for (size_t n = 0; n < size; n += n < 2000 ? 1 : 487)
		use(bytes, n);
	assert_int_equal(use(bytes, 0), -ENOEXEC);
	assert_int_equal(use(bytes, 63), -ENOEXEC);
	assert_int_equal(use(bytes, size), 0);
}

/* Whatever is missing at its end, as long as it can be read at all. */
static void cut_is_told(void **state)
{
	size_t size, n_open = 0;
	struct sp_elf *e;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	for (size_t n = 0; n<size; n += n + 2000> size ? 1 : 487) {
		if (sp_elf_open_bytes(bytes, n, &e) < 0)
			continue;
		assert_true(sp_elf_is_cut(e));
		sp_elf_close(e);
		n_open++;
	}
	assert_true(n_open > 1000);
	assert_int_equal(sp_elf_open_bytes(bytes, size, &e), 0);
	assert_false(sp_elf_is_cut(e));
	sp_elf_close(e);
}

/* Every byte of the headers and of the notes set to values that hurt. */
static void false_anywhere(void **state)
{
	size_t size;
	const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	uint64_t shoff;
	memcpy(&shoff, bytes + 40, sizeof(shoff));
	for (size_t i = 0; i < size; i = i == 1023 ? (size_t)shoff : i + 1) {
		uint8_t before = bytes[i];
		for (size_t k = 0; k < sizeof(values); k++) {
			bytes[i] = values[k];
			use(bytes, size);
		}
		bytes[i] = before;
	}
}

static void other_kinds_are_refused(void **state)
{
	size_t size;
	struct sp_elf *e = NULL;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {{0, 0}, {EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {18, EM_AARCH64}, {54, 55}};
	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		uint8_t before = bytes[wrong[i].at];
		bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(use(bytes, size), -ENOEXEC);
		bytes[wrong[i].at] = before;
	}
	SP_CLOSE int dir = open("/", O_RDONLY | O_CLOEXEC), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(dir, &e), -ENOEXEC);
	assert_int_equal(sp_elf_open_fd(zero, &e), -ENOEXEC);
	assert_int_equal(sp_elf_open_fd(-1, &e), -EBADF);
}

/* The dynamic symbols without section headers: as many as the section has that they replace. */
static void dynamic_symbols_without_sections(void **state)
{
	size_t size;
	struct sp_elf *e = NULL;
	struct sp_elf_section with, str_with, without, str_without;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	assert_int_equal(sp_elf_open_bytes(bytes, size, &e), 0);
	assert_int_equal(sp_elf_section(e, ".dynsym", &with), 0);
	assert_int_equal(sp_elf_section(e, ".dynstr", &str_with), 0);
	sp_elf_close(e);
	memset(bytes + 40, 0, 8); /* e_shoff */
	assert_int_equal(sp_elf_open_bytes(bytes, size, &e), 0);
	assert_int_equal(sp_elf_n_sections(e), 2);
	assert_int_equal(sp_elf_section(e, ".dynsym", &without), 0);
	assert_int_equal(sp_elf_section_at(e, without.link, &str_without), 0);
	assert_true(without.type == SHT_DYNSYM && without.offset == with.offset && without.size == with.size &&
		    without.entry_size == with.entry_size && without.addr == with.addr);
	assert_true(str_without.type == SHT_STRTAB && str_without.offset == str_with.offset &&
		    str_without.size == str_with.size);
	sp_elf_close(e);
}

/* A sparse file of 8 TiB: what is read counts, and there is an end to it. */
static void reading_has_a_cap(void **state)
{
	char path[] = "/tmp/soprof-elf.XXXXXX";
	enum { PART = 64 << 20 };
	size_t size;
	struct sp_elf *e = NULL;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	SP_CLOSE int fd = mkstemp(path);
	assert_true(fd >= 0 && unlink(path) == 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	if (ftruncate(fd, (off_t)8 << 40) < 0)
		assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0); /* the file system has no more */
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	int n = 0, r = 0;
	for (; n < 20 && r == 0; n++) {
		SP_FREE void *part = NULL;
		r = sp_elf_read(e, (uint64_t)n << 30, PART, &part);
	}
	assert_int_equal(r, -EFBIG);
	assert_int_equal(n, SP_ELF_MAX_READ / PART); /* the last one does not fit: the headers were read before */
	void *part = NULL;
	assert_int_equal(sp_elf_read(e, 0, (size_t)1 << 39, &part), -EFBIG);
	sp_elf_close(e);
}

/* Cut behind our back after it was opened. */
static void shrinking_file(void **state)
{
	char path[] = "/tmp/soprof-elf.XXXXXX";
	size_t size;
	struct sp_elf *e = NULL;
	void *part = NULL;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	SP_CLOSE int fd = mkstemp(path);
	assert_true(fd >= 0 && unlink(path) == 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(ftruncate(fd, 5000), 0);
	assert_int_equal(sp_elf_read(e, 4000, 2000, &part), -ENODATA);
	assert_null(part);
	sp_elf_close(e);
}

/* The table of names is said to be as long as any may be, and the file is not. */
static void what_is_not_there_is_not_allocated(void **state)
{
	enum { LONGEST = 16 << 20 };
	size_t size;
	SP_FREE uint8_t *bytes = load(LIBZ, &size);
	Elf64_Ehdr *h = (Elf64_Ehdr *)bytes;
	struct sp_elf *e = NULL;
	struct sp_elf_section s;
	((Elf64_Shdr *)(bytes + h->e_shoff))[h->e_shstrndx].sh_size = LONGEST;
	struct mallinfo2 before = mallinfo2();
	assert_int_equal(sp_elf_open_bytes(bytes, size, &e), 0);
	struct mallinfo2 after = mallinfo2();
	assert_true(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd < LONGEST / 16);
	assert_int_equal(sp_elf_section_at(e, 1, &s), 0);
	assert_string_equal(s.name, "");
	sp_elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cut_anywhere),
	    cmocka_unit_test(cut_is_told),
	    cmocka_unit_test(false_anywhere),
	    cmocka_unit_test(other_kinds_are_refused),
	    cmocka_unit_test(dynamic_symbols_without_sections),
	    cmocka_unit_test(reading_has_a_cap),
	    cmocka_unit_test(shrinking_file),
	    cmocka_unit_test(what_is_not_there_is_not_allocated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
