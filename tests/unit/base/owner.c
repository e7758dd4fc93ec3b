/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is given to another user, and what never is. */
#include "base/owner.h"
#include "base/error.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HIS = 47110, OTHERS = 47112 };

static char top[] = "/tmp/soprof-owner-XXXXXX", directory[64];

static bool is_ours(void *arg, const char *name)
{
	return strncmp(name, "our", 3) == 0;
}

static const struct sp_new_owner to_him = {.uid = HIS, .gid = HIS, .is_ours = is_ours};

static const char *at(const char *name)
{
	static char paths[4][128];
	static unsigned n;
	char *path = paths[n++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static void make(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static uid_t owner_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(at(name), &st), 0);
	return st.st_uid;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static int begin(void **state)
{
	memcpy(top + strlen(top) - 6, "XXXXXX", 6);
	if (!mkdtemp(top))
		return -1;
	(void)snprintf(directory, sizeof(directory), "%s/d", top);
	return mkdir(directory, 0750);
}

static int end(void **state)
{
	return nftw(top, take_away, 8, FTW_DEPTH | FTW_PHYS);
}

static void gives_a_directory_and_what_is_ours(void **state)
{
	make("our1");
	make("our2");
	assert_int_equal(sp_owner_change(directory, &to_him, true), 0);
	assert_int_equal(owner_of("."), 0);
	assert_int_equal(owner_of("our1"), 0);
	assert_int_equal(sp_owner_change(directory, &to_him, false), 0);
	assert_int_equal(owner_of("."), HIS);
	assert_int_equal(owner_of("our1"), HIS);
	assert_int_equal(owner_of("our2"), HIS);
	make("our3"); /* by root, later */
	make("root's");
	assert_int_equal(sp_owner_change(directory, &to_him, false), 0);
	assert_int_equal(owner_of("our3"), HIS);
	assert_int_equal(owner_of("root's"), 0);
}

static void gives_nothing_where_others_have_files(void **state)
{
	make("our1");
	make("passwd");
	assert_int_equal(sp_owner_change(directory, &to_him, false), -EPERM);
	assert_non_null(strstr(sp_error_text(-EPERM), "it holds other files, such as passwd"));
	assert_int_equal(owner_of("."), 0);
	assert_int_equal(owner_of("our1"), 0);
}

static void gives_nothing_that_others_can_write_to(void **state)
{
	assert_int_equal(chmod(directory, 0775), 0);
	assert_int_equal(sp_owner_change(directory, &to_him, false), -EPERM);
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chown(directory, OTHERS, 0), 0);
	assert_int_equal(sp_owner_change(directory, &to_him, false), -EPERM);
	assert_int_equal(owner_of("."), OTHERS);
	assert_int_equal(sp_owner_change(at("none"), &to_him, false), -ENOENT);
}

static void follows_no_link(void **state)
{
	char link_to[96];

	make("our-linked");
	assert_int_equal(chown(directory, HIS, HIS), 0);
	(void)snprintf(link_to, sizeof(link_to), "%s/secret", top);
	int fd = open(link_to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(symlink(link_to, at("our-symbolic")), 0);
	assert_int_equal(link(link_to, at("our-hard")), 0);
	assert_int_equal(sp_owner_change(directory, &to_him, false), 0);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(owner_of("our-linked"), HIS);
	/* nor on the way */
	(void)snprintf(link_to, sizeof(link_to), "%s/way", top);
	assert_int_equal(symlink(directory, link_to), 0);
	assert_int_equal(sp_owner_change(link_to, &to_him, false), -ELOOP);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(gives_a_directory_and_what_is_ours, begin, end),
	    cmocka_unit_test_setup_teardown(gives_nothing_where_others_have_files, begin, end),
	    cmocka_unit_test_setup_teardown(gives_nothing_that_others_can_write_to, begin, end),
	    cmocka_unit_test_setup_teardown(follows_no_link, begin, end),
	};
	if (geteuid() != 0) {
		puts("needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
