/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a call ends in front of an address is read from files of any file system, and kept with the file. */
#include "base/error.h"
#include "base/mem.h"
#include "capture/priv.h"
#include "test.h"
#include "unwind/step_types.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint8_t code[64] = {[8] = 0xe8, [9] = 1}; /* a call, and nothing of the kind behind it */
enum { AFTER_CALL = 13 };

static sp_u64 word_of(uint32_t id)
{
	return (sp_u64)SP_FRAME_FILE << SP_FRAME_KIND_SHIFT | (sp_u64)id << SP_FRAME_ID_SHIFT;
}

/* 1: a call ends right before the offset. */
static int is_after_call(struct sp_capture *c, sp_u64 word, sp_u64 offset)
{
	sp_u8 found[SP_CALL_BYTES];
	int r = sp_code_before(c, word, offset, found);

	return r < 0 ? r : sp_ends_in_call(found);
}

static void check(int fd)
{
	struct sp_known_file known[2] = {{.fd = -1}, {.fd = fd}};
	struct sp_seen_file seen[3] = {[2] = {.number = 1}};
	struct sp_capture c = {.known = known, .n_known = 2, .seen = seen, .n_seen = 3};

	assert_int_equal(pwrite(fd, code, sizeof(code), 0), sizeof(code));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(is_after_call(&c, word_of(2), AFTER_CALL), 1);
		assert_int_equal(is_after_call(&c, word_of(2), AFTER_CALL + 1), 0);
		assert_int_equal(pwrite(fd, "", 1, 8), 1); /* kept: the second time nothing is read */
	}
	assert_int_equal(is_after_call(&c, word_of(1), AFTER_CALL), -ENOENT); /* not open */
	assert_int_equal(is_after_call(&c, word_of(2), sizeof(code) + 1), -ENOENT);
	assert_int_equal(is_after_call(&c, word_of(2), 7), -ENOENT);
	seen[2].birth++; /* another file has the number now */
	assert_int_equal(is_after_call(&c, word_of(2), AFTER_CALL), 0);
	free(c.code_known);
	close(fd);
}

static void test_disk(void **state)
{
	char path[] = "after-call.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	check(fd);
}

/* tmpfs does not know RWF_NOWAIT; neither does overlayfs. */
static void test_memory(void **state)
{
	int fd = memfd_create("after_call", MFD_CLOEXEC);
	assert_true(fd >= 0);
	check(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_disk), cmocka_unit_test(test_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
