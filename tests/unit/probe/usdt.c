/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks for probes: those of a library that is made for it (marks.s), of real ones beside readelf, and of damaged ones.
 */
#include "probe/usdt.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKS SP_BUILD_ROOT "/tests/unit/probe/marks.so"

static uint8_t *bytes_of(const char *path, size_t *ret_size)
{
	struct stat st;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	uint8_t *bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static int marks_of(const uint8_t *bytes, size_t size, struct sp_usdts *u)
{
	struct sp_elf *e;
	int r = sp_elf_open_bytes(bytes, size, &e);
	if (r < 0)
		return r;
	r = sp_usdt_find(e, u);
	sp_elf_close(e);
	return r;
}

static void good_and_bad(void **state)
{
	size_t size;
	SP_FREE uint8_t *bytes = bytes_of(MARKS, &size);
	struct sp_usdts u;
	assert_int_equal(marks_of(bytes, size, &u), 0);
	assert_int_equal(u.n, 4);
	assert_int_equal(u.n_bad, 4);
	const struct sp_usdt *a = u.at; /* by name, then by place */
	assert_string_equal(a[0].provider, "another");
	assert_string_equal(a[0].name, "mark");
	assert_string_equal(a[1].name, "moved");
	assert_string_equal(a[2].name, "plain");
	assert_string_equal(a[2].arguments, "8@%rdi -4@$3");
	assert_string_equal(a[3].arguments, "");
	assert_int_equal(a[3].offset, a[2].offset + 2);
	assert_int_equal(a[0].offset, a[3].offset);
	assert_int_equal(a[1].offset, a[2].offset);
	assert_true(a[2].semaphore != 0 && a[1].semaphore == a[2].semaphore);
	assert_int_equal(a[0].semaphore, 0);
	assert_int_equal(bytes[a[2].offset], 0x90);
	sp_usdts_done(&u);
}

static void files_without(void **state)
{
	size_t size;
	SP_FREE uint8_t *bytes = bytes_of("/usr/lib/x86_64-linux-gnu/libz.so.1", &size);
	struct sp_usdts u;
	int r = marks_of(bytes, size, &u);
	assert_int_equal(r, -ENOENT);
	assert_string_equal(sp_error_text(r), "find the marks for probes: the file has no marks for probes (USDT)");
}

static void damaged(void **state)
{
	size_t size, n_good = 0;
	SP_FREE uint8_t *bytes = bytes_of(MARKS, &size), *bad = malloc(size);
	uint64_t seed = 1;
	for (int i = 0; i < 20000 / SP_FEWER; i++) {
		struct sp_usdts u;
		memcpy(bad, bytes, size);
		for (int k = 0; k < 40; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bad[64 + (seed >> 33) % (size - 64)] = (uint8_t)(seed >> 24);
		}
		if (marks_of(bad, size, &u) < 0) {
			sp_error_clear();
			continue;
		}
		n_good++;
		for (size_t k = 0; k < u.n; k++)
			assert_true(u.at[k].offset < size && u.at[k].semaphore < size && strlen(u.at[k].name) < size);
		sp_usdts_done(&u);
	}
	assert_true(n_good > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_and_bad),
	    cmocka_unit_test(files_without),
	    cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
