/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/cgroup.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

static const char *mount; /* NULL = none here */

static bool is_cgroup2(const char *path)
{
	struct statfs s;

	return statfs(path, &s) == 0 && s.f_type == CGROUP2_SUPER_MAGIC;
}

static int find_mount(void **state)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < SP_COUNT(places); i++)
		if (is_cgroup2(places[i]))
			mount = places[i];
	return 0;
}

/* The inode number is the id, on 64-bit machines: another way to it than the one used. */
static uint64_t inode_of(const char *path)
{
	char full[PATH_MAX];
	struct stat s;

	(void)snprintf(full, sizeof(full), "%s%s", mount, path);
	return stat(full, &s) == 0 ? s.st_ino : 0;
}

static void need_mount(void)
{
	if (mount != NULL)
		return;
	printf("skip: no cgroup2 file system here\n");
	skip();
}

static void the_top(void **state)
{
	uint64_t id;
	uint32_t level;

	need_mount();
	assert_int_equal(sp_cgroup_id("/", &id, &level), 0);
	assert_int_equal(id, inode_of("/"));
	assert_int_equal(level, 0);
	assert_int_equal(sp_cgroup_id(mount, &id, &level), 0);
	assert_int_equal(id, inode_of("/"));
	assert_int_equal(level, 0);
}

static void what_is_none(void **state)
{
	static const char *const names[] = {"/no/such", "/..", "/cgroup.procs", "/./../..", "/cgroup.procs/x"};
	uint64_t id;
	uint32_t level;

	need_mount();
	for (size_t i = 0; i < SP_COUNT(names); i++)
		assert_int_equal(sp_cgroup_id(names[i], &id, &level), -ENOENT);
	assert_int_equal(strncmp(sp_error_text(-ENOENT), "find cgroup /cgroup.procs/x under ", 34), 0);
}

static void check_nested(const char *const *paths, size_t n)
{
	char full[PATH_MAX];
	struct sp_cgroups *c;
	uint64_t id;
	uint32_t level;

	assert_int_equal(sp_cgroups_new(&c), 0);
	assert_string_equal(sp_cgroups_path(c, inode_of("/")), "/");
	assert_string_equal(sp_cgroups_path(c, 0), "");
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(sp_cgroups_path(c, inode_of(paths[i])), paths[i]);
		assert_int_equal(sp_cgroup_id(paths[i], &id, &level), 0);
		assert_int_equal(id, inode_of(paths[i]));
		assert_int_equal(level, i + 1);
		(void)snprintf(full, sizeof(full), "%s/.%s/", mount, paths[i]);
		assert_int_equal(sp_cgroup_id(full, &id, &level), 0);
		assert_int_equal(id, inode_of(paths[i]));
		assert_int_equal(level, i + 1);
	}
	sp_cgroups_free(c);
	id = inode_of(paths[0]);
	assert_int_equal(sp_cgroups_begin(&id, 1, &c), 0);
	assert_int_equal(sp_cgroups_go_on(c, SIZE_MAX), 0);
	assert_string_equal(sp_cgroups_path(c, id), paths[0]);
	assert_string_equal(sp_cgroups_path(c, inode_of("/")), ""); /* and no other */
	sp_cgroups_free(c);
}

/* Entry by entry all is found, too; and what is not gone on with can be freed. */
static void check_in_parts(const char *const *paths, size_t n)
{
	struct sp_cgroups *c;
	size_t n_parts = 0;

	assert_int_equal(sp_cgroups_begin(NULL, 0, &c), 0);
	for (int r = 1; r; n_parts++) {
		r = sp_cgroups_go_on(c, 1);
		assert_true(r >= 0);
	}
	assert_true(n_parts > n);
	assert_int_equal(sp_cgroups_go_on(c, 1), 0);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(sp_cgroups_path(c, inode_of(paths[i])), paths[i]);
	sp_cgroups_free(c);
	assert_int_equal(sp_cgroups_begin(NULL, 0, &c), 0);
	assert_int_equal(sp_cgroups_go_on(c, 1), 1);
	sp_cgroups_free(c);
}

static char nested[3][64];
static size_t n_nested;

static int make_nested(void **state)
{
	char full[PATH_MAX];

	/* others have the same number in namespaces of their own, and the same cgroups */
	(void)snprintf(nested[0], sizeof(nested[0]), "/soprof-%" PRIx64, sp_time_ns(CLOCK_BOOTTIME));
	(void)snprintf(nested[1], sizeof(nested[1]), "%.30s/a b", nested[0]);
	(void)snprintf(nested[2], sizeof(nested[2]), "%.30s/a b/c", nested[0]);
	for (; mount != NULL && n_nested < SP_COUNT(nested); n_nested++) {
		(void)snprintf(full, sizeof(full), "%s%s", mount, nested[n_nested]);
		if (mkdir(full, 0755) < 0)
			break;
	}
	return 0;
}

static int remove_nested(void **state)
{
	char full[PATH_MAX];

	for (; n_nested > 0; n_nested--) {
		(void)snprintf(full, sizeof(full), "%s%s", mount, nested[n_nested - 1]);
		(void)rmdir(full);
	}
	return 0;
}

static void nested_ones_both_ways(void **state)
{
	const char *paths[] = {nested[0], nested[1], nested[2]};

	need_mount();
	if (n_nested < SP_COUNT(nested)) {
		printf("skip: may not make cgroups here\n");
		skip();
	}
	check_nested(paths, n_nested);
	check_in_parts(paths, n_nested);
}

static void our_own_is_in_the_table(void **state)
{
	char line[PATH_MAX] = "", path[PATH_MAX] = "";
	FILE *f = fopen("/proc/self/cgroup", "re");
	struct sp_cgroups *c;

	need_mount();
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "0::", 3) == 0)
			(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	fclose(f);
	assert_int_equal(path[0], '/');
	assert_int_equal(sp_cgroups_new(&c), 0);
	assert_string_equal(sp_cgroups_path(c, inode_of(path)), path);
	sp_cgroups_free(c);
	sp_cgroups_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_top),
	    cmocka_unit_test(what_is_none),
	    cmocka_unit_test_setup_teardown(nested_ones_both_ways, make_nested, remove_nested),
	    cmocka_unit_test(our_own_is_in_the_table),
	};

	return cmocka_run_group_tests(tests, find_mount, NULL);
}
