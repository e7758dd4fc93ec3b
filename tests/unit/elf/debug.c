/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug links and packed debug data, written by the test itself with liblzma, and by those who mean harm. */
#include "elf/debug.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An ELF file of one section beside that of the names. */
struct image {
	uint8_t *bytes;
	size_t size;
};

static struct image image_with(const char *section, uint32_t type, const void *data, size_t size)
{
	char names[64] = "";
	size_t names_size = 1 + strlen(section) + 1, at = sizeof(Elf64_Ehdr), headers = at + names_size + size;
	struct image m = {calloc(1, headers + 3 * sizeof(Elf64_Shdr)), headers + 3 * sizeof(Elf64_Shdr)};
	assert_non_null(m.bytes);
	memcpy(names + 1, section, strlen(section));
	Elf64_Ehdr h = {.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_shoff = headers,
			.e_ehsize = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	Elf64_Shdr s[3] = {{0},
			   {.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names_size},
			   {.sh_name = 1, .sh_type = type, .sh_offset = at + names_size, .sh_size = size}};
	memcpy(m.bytes, &h, sizeof(h));
	memcpy(m.bytes + at, names, names_size);
	memcpy(m.bytes + at + names_size, data, size);
	memcpy(m.bytes + headers, s, sizeof(s));
	return m;
}

static struct sp_elf *open_image(const struct image *m)
{
	struct sp_elf *e = NULL;
	assert_int_equal(sp_elf_open_bytes(m->bytes, m->size, &e), 0);
	return e;
}

static void check_link(const void *data, size_t size, const char *link, uint32_t crc)
{
	struct image m = image_with(".gnu_debuglink", SHT_PROGBITS, data, size);
	struct sp_elf *e = open_image(&m);
	struct sp_elf_debug d;
	assert_int_equal(sp_elf_debug_look(e, &d), 0);
	assert_string_equal(d.link, link);
	assert_int_equal(d.link_crc, crc);
	sp_elf_close(e);
	free(m.bytes);
}

static void test_links(void **state)
{
	check_link("a.debug\0\x01\x02\x03\x04", 12, "a.debug", 0x04030201);
	check_link("ab.debug\0\0\0\0\x01\x02\x03\x04", 16, "ab.debug", 0x04030201);
	check_link("../debug\0\0\0\0\x01\x02\x03\x04", 16, "", 0);
	check_link("..\0\0\x01\x02\x03\x04", 8, "", 0);
	check_link("/etc/xy\0\x01\x02\x03\x04", 12, "", 0);
	check_link("\0\0\0\0\x01\x02\x03\x04", 8, "", 0);
	check_link("a.debug\0\x01\x02", 10, "", 0); /* no room for the CRC */
	check_link("a.debugxxxxxxxxx", 16, "", 0);  /* no end */
	char longest[SP_DEBUGLINK_MAX + 8];
	memset(longest, 'x', sizeof(longest));
	check_link(longest, sizeof(longest), "", 0);
	longest[SP_DEBUGLINK_MAX] = 0;
	check_link(longest, sizeof(longest), "", 0);
}

static size_t packed(const void *bytes, size_t size, uint8_t *out, size_t room)
{
	size_t n = 0;
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, bytes, size, out, &n, room), LZMA_OK);
	return n;
}

static int unpack_of(const void *data, size_t size, uint32_t type, void **ret_bytes, size_t *ret_size)
{
	struct image m = image_with(".gnu_debugdata", type, data, size);
	struct sp_elf *e = open_image(&m);
	int r = sp_elf_debugdata(e, ret_bytes, ret_size);
	sp_elf_close(e);
	free(m.bytes);
	sp_error_clear();
	return r;
}

static void test_packed(void **state)
{
	static const char text[] = "any bytes: what they are is the reader's part";
	static uint8_t out[4096];
	SP_FREE void *got = NULL;
	size_t n = packed(text, sizeof(text), out, sizeof(out)), size = 0;
	assert_int_equal(unpack_of(out, n, SHT_PROGBITS, &got, &size), 0);
	assert_int_equal(size, sizeof(text));
	assert_memory_equal(got, text, size);
	void *none = NULL;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(unpack_of(out, cut, SHT_PROGBITS, &none, &size), cut ? -EBADMSG : -ENOENT);
	for (size_t i = 0; i < n; i++) {
		out[i] ^= 0x10;
		int r = unpack_of(out, n, SHT_PROGBITS, &none, &size);
		assert_true(r == -EBADMSG || r == -EFBIG || r == -ENOMEM);
		out[i] ^= 0x10;
	}
	assert_int_equal(unpack_of(out, n, SHT_NOBITS, &none, &size), -ENOENT);
	assert_null(none);
}

/* One byte more than is allowed. */
static void test_bomb(void **state)
{
	static uint8_t out[1 << 20];
	size_t size = (size_t)SP_DEBUGDATA_MAX + 1;
	void *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *got = NULL;
	assert_true(zeros != MAP_FAILED);
	size_t n = packed(zeros, size, out, sizeof(out));
	munmap(zeros, size);
	assert_int_equal(unpack_of(out, n, SHT_PROGBITS, &got, &size), -EFBIG);
	assert_null(got);
}

/* The catalogue's check value of CRC-32. */
static void test_crc(void **state)
{
	SP_CLOSE int fd = memfd_create("crc", MFD_CLOEXEC);
	uint32_t crc = 0;
	assert_int_equal(write(fd, "123456789", 9), 9);
	assert_int_equal(sp_elf_crc(fd, &crc), 0);
	assert_int_equal(crc, 0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_links),
	    cmocka_unit_test(test_packed),
	    cmocka_unit_test(test_bomb),
	    cmocka_unit_test(test_crc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
