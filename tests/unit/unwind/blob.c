/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blobs: lookups agree with the rows, damage is found, the vDSO and section-less files work, FDEs are all walked. */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/build.h"
#include "unwind/priv.h"
#include "unwind/survey.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
enum { VDSO_MAX_BYTES = 8192 };

static struct sp_elf *open_elf(const char *path, int *ret_fd)
{
	struct sp_elf *e = NULL;
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*ret_fd >= 0);
	assert_int_equal(sp_elf_open_fd(*ret_fd, &e), 0);
	return e;
}

static struct sp_blob *blob_of(struct sp_elf *e)
{
	struct sp_blob *b = NULL;
	assert_int_equal(sp_blob_build(e, &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	return b;
}

static struct sp_blob *blob_of_file(const char *path)
{
	SP_CLOSE int fd = -1;
	struct sp_elf *e = open_elf(path, &fd);
	struct sp_blob *b = blob_of(e);
	sp_elf_close(e);
	return b;
}

static void *bytes_of_file(const char *path, size_t *ret_size)
{
	struct stat st;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	void *bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* Walks the rows one after the other, without the index's help but for the groups' starts. */
static void lookups_agree_with_rows(void **state)
{
	SP_FREE struct sp_blob *b = blob_of_file(LIBC);
	const uint32_t *index = sp_blob_index(b), *rows = sp_blob_rows(b);
	const struct sp_rule *rules = sp_blob_rules(b);
	assert_true(b->n_fdes > 1000 && b->n_rows > 10000 && b->n_bad_fdes == 0 && b->flags == 0);
	assert_in_range(b->n_rows / b->n_groups, 8, 24);
	for (uint32_t g = 0, at = 0; g < b->n_groups; g++) {
		uint64_t start = ((uint64_t)b->first + g) << b->shift, end = start + (1ULL << b->shift);
		uint32_t n = index[g] & SP_INDEX_COUNT_MASK;
		for (uint64_t offset = start, i = at; offset < end; offset++) {
			while (i + 1 < at + n && (rows[i + 1] & 0xffff) <= (offset & 0xffff))
				i++;
			assert_ptr_equal(sp_blob_find(b, offset), n ? &rules[rows[i] >> 16] : rules);
		}
		at += n;
	}
	assert_ptr_equal(sp_blob_find(b, 0), rules);
	assert_ptr_equal(sp_blob_find(b, ((uint64_t)b->first + b->n_groups) << b->shift), rules);
	assert_ptr_equal(sp_blob_find(b, UINT64_MAX), rules);
}

static void damage_is_found(void **state)
{
	SP_FREE struct sp_blob *b = blob_of_file("/bin/true");
	uint8_t *bytes = (uint8_t *)b;
	size_t size = b->bytes;
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x40;
		assert_int_equal(sp_blob_validate(b, size), -EBADMSG);
		bytes[i] ^= 0x40;
	}
	for (size_t n = 0; n < size; n += 7)
		assert_int_equal(sp_blob_validate(b, n), -EBADMSG);
	assert_int_equal(sp_blob_validate(b, size), 0);
}

/* A lie of the width of `size` at `at`, with a right hash: only the structure tells. */
static void assert_lie_found(struct sp_blob *b, void *at, uint32_t lie, size_t size)
{
	uint8_t before[4];
	size_t bytes = b->bytes;
	memcpy(before, at, size);
	memcpy(at, &lie, size);
	if (b->bytes == bytes)
		b->check = sp_blob_hash(b);
	assert_int_equal(sp_blob_validate(b, bytes), -EBADMSG);
	memcpy(at, before, size);
	b->check = sp_blob_hash(b);
	assert_int_equal(sp_blob_validate(b, bytes), 0);
}

static void lies_are_found(void **state)
{
	SP_FREE struct sp_blob *b = blob_of_file("/bin/true");
	uint32_t *index = (uint32_t *)(b + 1), *rows = index + b->n_groups;
	struct sp_rule *rules = (struct sp_rule *)((uint8_t *)b + b->bytes) - b->n_rules;
	uint32_t *const header[] = {&b->version,           &b->shift,       &b->n_groups, &b->n_rows, &b->n_rules,
				    (uint32_t *)&b->bytes, &b->build_id_len};
	const uint32_t numbers[] = {0, 1u << 23, UINT32_MAX};
	for (size_t i = 0; i < SP_COUNT(header); i++)
		for (size_t k = header[i] == &b->build_id_len; k < SP_COUNT(numbers); k++)
			assert_lie_found(b, header[i], numbers[k], 4);
	for (uint32_t bit = 1; bit != 0; bit <<= 1) {
		assert_lie_found(b, &index[0], index[0] ^ bit, 4);
		assert_lie_found(b, &index[b->n_groups - 1], index[b->n_groups - 1] ^ bit, 4);
	}
	for (uint32_t bit = 1; bit <= 0x8000; bit <<= 1)
		assert_lie_found(b, &rows[0], rows[0] ^ bit, 4);
	assert_lie_found(b, &rows[1], rows[0], 4); /* not ascending */
	assert_lie_found(b, &rows[1], (rows[1] & 0xffff) | b->n_rules << 16, 4);
	for (size_t i = 0; i < 4; i++)
		assert_lie_found(b, (uint8_t *)&rules[2] + i, 0x7f, 1);
	assert_lie_found(b, &rules[0].off, 1, 4);
}

static void assert_same_blob(const struct sp_blob *a, const struct sp_blob *b)
{
	assert_int_equal(a->bytes, b->bytes);
	assert_memory_equal(a, b, a->bytes);
}

static void sections_are_not_needed(void **state)
{
	size_t size;
	struct sp_elf *e = NULL;
	SP_FREE uint8_t *bytes = bytes_of_file(LIBC, &size);
	SP_FREE struct sp_blob *with = blob_of_file(LIBC);
	memset(bytes + 40, 0, 8); /* e_shoff */
	memset(bytes + 58, 0, 6); /* e_shentsize, e_shnum, e_shstrndx */
	assert_int_equal(sp_elf_open_bytes(bytes, size, &e), 0);
	assert_int_equal(sp_elf_section(e, ".eh_frame", &(struct sp_elf_section){0}), -ENOENT);
	SP_FREE struct sp_blob *without = blob_of(e);
	sp_elf_close(e);
	assert_same_blob(with, without);
}

/* The image is as long as its section headers, which end it, say. */
static size_t vdso_bytes(const uint8_t *image)
{
	uint64_t at;
	uint16_t size, n;
	memcpy(&at, image + 40, sizeof(at));
	memcpy(&size, image + 58, sizeof(size));
	memcpy(&n, image + 60, sizeof(n));
	return SP_MIN((size_t)at + (size_t)size * n, (size_t)VDSO_MAX_BYTES);
}

static void vdso_in_memory(void **state)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	assert_non_null(image);
	size_t size = vdso_bytes(image);
	struct sp_elf *e = NULL;
	assert_int_equal(sp_elf_open_bytes(image, size, &e), 0);
	SP_FREE struct sp_blob *b = blob_of(e);
	SP_FREE char *soname = NULL;
	struct sp_elf_section s;
	assert_true(b->n_rows > 0 && b->n_bad_fdes == 0 && b->build_id_len == 20);
	assert_int_equal(sp_elf_soname(e, &soname), 0);
	assert_string_equal(soname, "linux-vdso.so.1");
	assert_int_equal(sp_elf_section(e, ".text", &s), 0);
	assert_int_equal(sp_blob_find(b, s.offset + s.size / 2)->cfa, SP_CFA_REG);
	sp_elf_close(e);
}

struct ranges {
	const struct sp_blob *b;
	uint64_t n, bytes, n_none;
};

static int take_range(void *arg, uint64_t start, uint64_t size)
{
	struct ranges *r = arg;
	r->n++;
	r->bytes += size;
	r->n_none +=
	    sp_blob_find(r->b, start)->cfa == SP_CFA_NONE || sp_blob_find(r->b, start + size - 1)->cfa == SP_CFA_NONE;
	return 0;
}

static int stop_at_third(void *arg, uint64_t start, uint64_t size)
{
	return ++*(int *)arg == 3 ? 42 : 0;
}

static void fdes_are_walked(void **state)
{
	SP_CLOSE int fd = -1;
	int n = 0;
	struct sp_elf *e = open_elf(LIBC, &fd);
	SP_FREE struct sp_blob *b = blob_of(e);
	struct ranges r = {.b = b};
	assert_int_equal(sp_fde_walk(e, take_range, &r), 0);
	assert_int_equal(r.n, b->n_fdes);
	assert_true(r.bytes > 1000000 && r.n_none == 0);
	assert_int_equal(sp_fde_walk(e, stop_at_third, &n), 42);
	sp_elf_close(e);
}

static void no_eh_frame_is_no_error(void **state)
{
	SP_FREE struct sp_blob *b = blob_of_file("/usr/lib/x86_64-linux-gnu/crt1.o");
	assert_int_equal(b->flags, SP_BLOB_NO_EH_FRAME);
	assert_int_equal(b->n_rows, 0);
	assert_int_equal(sp_blob_find(b, 0)->cfa, SP_CFA_NONE);
}

/* More rows in 256 bytes than a group of the usual size for such a sparse table could count. */
static void crowded_group_narrows_groups(void **state)
{
	enum { CROWD = 4000 };
	static uint64_t rows[CROWD + 2];
	const struct sp_rule rules[] = {{.cfa = SP_CFA_NONE}, {.cfa = SP_CFA_BAD}, {.cfa = SP_CFA_ROOT}};
	SP_FREE struct sp_blob *b = NULL;
	for (size_t i = 0; i < CROWD; i++)
		rows[i] = sp_unwind_row_make(0x1000 + i, false, 1 + i % 2);
	rows[CROWD] = sp_unwind_row_make(0x4000000, false, 2);
	rows[CROWD + 1] = sp_unwind_row_make(0x8000000, false, 0);
	assert_int_equal(sp_blob_pack(&(struct sp_blob){0}, rows, CROWD + 2, rules, 3, &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	assert_int_equal(b->flags, 0);
	assert_true(b->shift < 10);
	assert_int_equal(b->n_bad_rows, CROWD / 2);
	for (size_t i = 0; i < CROWD; i++)
		assert_int_equal(sp_blob_find(b, 0x1000 + i)->cfa, i % 2 ? SP_CFA_ROOT : SP_CFA_BAD);
	assert_int_equal(sp_blob_find(b, 0x3ffffff)->cfa, SP_CFA_ROOT);
	assert_int_equal(sp_blob_find(b, 0x8000000)->cfa, SP_CFA_NONE);
}

/* Groups in which a gap goes on have no row; those that a rule reaches have one. */
static void gaps_need_no_rows(void **state)
{
	enum { GROUPS = 1000, SHIFT = 16, FROM = 10, TO = 990 };
	const struct sp_rule rules[] = {{.cfa = SP_CFA_NONE}, {.cfa = SP_CFA_BAD}, {.cfa = SP_CFA_ROOT}};
	const uint64_t rows[] = {sp_unwind_row_make(0, false, 1), sp_unwind_row_make((FROM << SHIFT) + 1, false, 0),
				 sp_unwind_row_make(TO << SHIFT, false, 2),
				 sp_unwind_row_make((GROUPS << SHIFT) - 1, false, 0)};
	SP_FREE struct sp_blob *b = NULL;
	assert_int_equal(sp_blob_pack(&(struct sp_blob){0}, rows, SP_COUNT(rows), rules, SP_COUNT(rules), &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	assert_int_equal(b->shift, SHIFT);
	assert_int_equal(b->n_groups, GROUPS);
	assert_int_equal(b->n_rows, FROM + 2 + GROUPS - TO + 1);
	for (uint64_t at = 0; at < GROUPS << SHIFT; at += 0xfff)
		assert_int_equal(sp_blob_find(b, at)->cfa, at <= FROM << SHIFT ? SP_CFA_BAD
							   : at < TO << SHIFT  ? SP_CFA_NONE
									       : SP_CFA_ROOT);
	struct sp_blob_survey s = sp_blob_survey(b);
	assert_int_equal(s.ruled_bytes, (FROM << SHIFT) + 1 + ((GROUPS - TO) << SHIFT) - 1);
}

/* So far apart that groups narrow enough for the crowd are too many: the table ends, and says so. */
static void too_much_is_partial(void **state)
{
	enum { CROWD = 4000 };
	static uint64_t rows[2 * CROWD];
	const struct sp_rule rules[] = {{.cfa = SP_CFA_NONE}, {.cfa = SP_CFA_BAD}};
	SP_FREE struct sp_blob *b = NULL;
	for (size_t i = 0; i < CROWD; i++) {
		rows[i] = sp_unwind_row_make(0x1000 + i, false, (uint16_t)(i % 2));
		rows[CROWD + i] = sp_unwind_row_make((1ULL << 39) + i, false, (uint16_t)(i % 2));
	}
	assert_int_equal(sp_blob_pack(&(struct sp_blob){0}, rows, 2 * CROWD, rules, 2, &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	assert_int_equal(b->flags, SP_BLOB_PARTIAL);
	assert_int_equal(sp_blob_find(b, 0x1001)->cfa, SP_CFA_BAD);
	assert_int_equal(sp_blob_find(b, (1ULL << 39) + 1)->cfa, SP_CFA_NONE);
}

/* Bytes and rows of each kind; reasons that nobody has made count as the last one. */
static void kinds_of_rows_are_counted(void **state)
{
	const struct sp_rule rules[] = {
	    {.cfa = SP_CFA_NONE},
	    {.cfa = SP_CFA_BAD},
	    {.cfa = SP_CFA_REG, .reg = SP_REG_SP, .off = 8, .ra_off = -8},
	    {.cfa = SP_CFA_BAD, .reg = SP_BAD_SP},
	    {.cfa = SP_CFA_BAD, .reg = 15},
	    {.cfa = SP_CFA_REG, .reg = SP_REG_SP, .off = 8, .ra = SP_RA_CFA | SP_RULE_DERIVED, .ra_off = -8}};
	const uint64_t rows[] = {sp_unwind_row_make(0x1010, false, 2), sp_unwind_row_make(0x1030, false, 3),
				 sp_unwind_row_make(0x1034, false, 0), sp_unwind_row_make(0x1050, false, 2),
				 sp_unwind_row_make(0x1051, false, 1), sp_unwind_row_make(0x1061, false, 4),
				 sp_unwind_row_make(0x1063, false, 2), sp_unwind_row_make(0x1ff00, false, 5),
				 sp_unwind_row_make(0x20000, false, 0)};
	SP_FREE struct sp_blob *b = NULL;
	assert_int_equal(sp_blob_pack(&(struct sp_blob){0}, rows, SP_COUNT(rows), rules, SP_COUNT(rules), &b), 0);
	assert_int_equal(sp_blob_validate(b, b->bytes), 0);
	struct sp_blob_survey s = sp_blob_survey(b);
	assert_int_equal(s.n_rows, b->n_rows);
	assert_int_equal(s.ruled_bytes, 0x1ff00 - 0x1010 - 0x1c);
	assert_int_equal(s.derived_bytes, 0x100);
	assert_true(s.n_derived_rows >= 1 && b->n_derived_rows == 1); /* with copies, and without */
	assert_int_equal(s.bad_bytes, 4 + 16 + 2);
	assert_int_equal(s.n_bad[SP_BAD_SP], 1);
	assert_int_equal(s.n_bad[SP_BAD_CAP], 1);
	assert_int_equal(s.n_bad[SP_N_BAD - 1], 1);
	assert_int_equal(s.n_bad[SP_BAD_CFA] + s.n_bad[SP_BAD_RA], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lookups_agree_with_rows), cmocka_unit_test(damage_is_found),
	    cmocka_unit_test(lies_are_found),          cmocka_unit_test(sections_are_not_needed),
	    cmocka_unit_test(vdso_in_memory),          cmocka_unit_test(fdes_are_walked),
	    cmocka_unit_test(no_eh_frame_is_no_error), cmocka_unit_test(crowded_group_narrows_groups),
	    cmocka_unit_test(too_much_is_partial),     cmocka_unit_test(kinds_of_rows_are_counted),
	    cmocka_unit_test(gaps_need_no_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
