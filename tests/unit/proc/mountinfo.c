/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library reads /proc/self/mounts, where the same mounts stand in the same order, by other code. */
#include "proc/mountinfo.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ODD "/a b\tc\nd\\040"

static void compare_all(size_t *ret_n, const char *wanted)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/mountinfo", "re");
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	SP_FREE char *line = NULL;
	size_t capacity = 0;
	struct sp_mount_line m;
	bool found = wanted == NULL;

	assert_non_null(f);
	assert_non_null(mounts);
	for (*ret_n = 0; getline(&line, &capacity, f) > 0; (*ret_n)++) {
		struct mntent *e = getmntent(mounts);
		assert_non_null(e);
		assert_true(sp_mountinfo_parse(line, &m));
		assert_string_equal(m.point, e->mnt_dir);
		assert_string_equal(m.type, e->mnt_type);
		found = found || strcmp(m.point, wanted) == 0;
	}
	assert_null(getmntent(mounts));
	assert_true(found);
	endmntent(mounts);
}

static void all_mounts_are_read_as_the_library_reads_them(void **state)
{
	size_t n;

	compare_all(&n, NULL);
	assert_true(n > 0);
}

static void odd_names_are_decoded(void **state)
{
	char at[] = "/tmp/soprof-mounts-XXXXXX", odd[64];
	size_t n;

	assert_non_null(mkdtemp(at));
	(void)snprintf(odd, sizeof(odd), "%s" ODD, at);
	assert_int_equal(mkdir(odd, 0700), 0);
	if (mount("none", odd, "tmpfs", 0, NULL) < 0) {
		int r = errno;
		rmdir(odd);
		rmdir(at);
		printf("skip: cannot mount: %s\n", strerror(r));
		skip();
	}
	compare_all(&n, odd);
	assert_int_equal(umount(odd), 0);
	rmdir(odd);
	rmdir(at);
}

static void what_is_no_line_is_refused(void **state)
{
	static const char *const lines[] = {
	    "",
	    "36 25 0:3",
	    "36 25 0:3 / /x rw",
	    "36 25 0:3.12.36 / /x rw - cgroup2 a b",
	    "36 25 03 / /x rw - cgroup2 a b",
	    "-6 25 0:3 / /x rw - cgroup2 a b",
	    "36 25 0:3 / - cgroup2 a b",
	    "36 25 0:3 - cgroup2 a b",
	};

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		SP_FREE char *text = strdup(lines[i]);
		struct sp_mount_line m;
		assert_false(sp_mountinfo_parse(text, &m));
	}
}

static void fields_are_kept_apart(void **state)
{
	char text[] = "36 25 8:17 /sub\\040dir /a\\134b\\9 rw,nosuid shared:9 master:1 - overlay over lay,x y\n";
	struct sp_mount_line m;

	assert_true(sp_mountinfo_parse(text, &m));
	assert_int_equal(m.id, 36);
	assert_int_equal(m.dev, 8 << 20 | 17);
	assert_string_equal(m.root, "/sub\\040dir");
	assert_string_equal(m.point, "/a\\b\\9");
	assert_string_equal(m.type, "overlay");
	assert_string_equal(m.options, "lay,x y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_mounts_are_read_as_the_library_reads_them),
	    cmocka_unit_test(odd_names_are_decoded),
	    cmocka_unit_test(what_is_no_line_is_refused),
	    cmocka_unit_test(fields_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
