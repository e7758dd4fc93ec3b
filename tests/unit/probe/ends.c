/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which instructions calls end, of functions that are made for it (ends.s): each `ret` has its number behind it.
 * That they are all that allocators' operators have is shown by counts: tests/cmd/mem_allocators.sh.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/point.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The numbers of the ends, in order, as digits; "" if there are none. */
static void ends_of(const char *const *names, size_t n, char *ret_numbers)
{
	const struct sp_probe_what what = {.globs = names, .n_globs = n, .any_glob = true, .ends = true};
	SP_CLOSE int fd = open(SP_BUILD_ROOT "/tests/unit/probe/ends.so", O_RDONLY | O_CLOEXEC);
	struct sp_probe_set set = {0};
	struct sp_elf *e;
	int r;

	assert_true(fd >= 0);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	r = sp_probe_points(e, &what, &set);
	sp_elf_close(e);
	if (r < 0)
		assert_int_equal(r, -ENOENT);
	sp_error_clear();
	for (size_t i = 0; i < set.n; i++) {
		const struct sp_probe_point *p = &set.points[i];
		unsigned char bytes[4];

		assert_int_equal(pread(fd, bytes, sizeof(bytes), (off_t)p->offset), sizeof(bytes));
		assert_int_equal(bytes[p->length - 1], 0xc3);
		assert_int_equal(bytes[p->length], 0xa8); /* test */
		assert_int_equal(p->cost, SP_PROBE_STEPPED);
		assert_int_equal(p->n_names, 0);
		*ret_numbers++ = (char)('0' + bytes[p->length + 1]);
	}
	*ret_numbers = '\0';
	sp_probe_set_done(&set);
}

static void expect(const char *name, const char *wanted)
{
	char numbers[16];

	ends_of(&name, 1, numbers);
	if (strcmp(numbers, wanted) != 0)
		fail_msg("%s ends at %s, not %s", name, wanted, numbers);
}

static void ends_are_found(void **state)
{
	expect("twice", "12");
	expect("tail", "3");
	expect("by_plt", "4");
	expect("by_got", "45");
	expect("split", "67");
	expect("ping", "89");
}

static void ends_elsewhere_are_none(void **state)
{
	expect("outside", "");
	expect("anywhere", "");
}

static void ends_of_several_are_told_once(void **state)
{
	static const char *const names[] = {"by_plt", "shown", "ping", "pong", "outside", "no such function"};
	char numbers[16];

	ends_of(names, SP_COUNT(names), numbers);
	assert_string_equal(numbers, "489");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ends_are_found),
	    cmocka_unit_test(ends_elsewhere_are_none),
	    cmocka_unit_test(ends_of_several_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
