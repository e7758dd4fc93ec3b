/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/package.h"
#include "base/mem.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a small dpkg of our own, for what this machine may not have --- */
static char dir[] = "/tmp/soprof-dpkg-XXXXXX";

static void put_bytes(const char *name, const char *bytes, size_t n)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static void remove_all(const char *const *names, size_t n)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)remove(path);
	}
	(void)rmdir(dir);
}

static int make_dir(void **state)
{
	static const char nul[] = "/usr/lib/a\0b.so\n/usr/lib/after.so\n\0\n/usr/lib/c\0d";
	char path[PATH_MAX], *too_long = malloc(40001);

	if (mkdtemp(dir) == NULL || too_long == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/info", dir);
	if (mkdir(path, 0700) < 0)
		return -1;
	put("info/libone:amd64.list", "/.\n/usr\n/lib/libone.so.1\n/usr/share/doc/one\n");
	put("info/libone:i386.list", "/usr/share/doc/one\n/lib32/libone.so.1\n");
	put("info/two.list", "/usr/lib/libtwo.so\n/usr/bin/tool\n/usr/share/x\n/opt/lib/y");
	put("info/three.list", "/bin/tool\n/usr/share/x\n");
	put("info/nostatus.list", "/usr/lib/nostatus.so\n");
	memset(too_long, 'x', 40000);
	too_long[40000] = '\0';
	too_long[39999] = '\n';
	put("info/long.list", too_long);
	free(too_long);
	put_bytes("info/nul.list", nul, sizeof(nul) - 1);
	put("info/not-a-list.md5sums", "/usr/lib/nothing\n");
	put("diversions", "/bin/tool\n/bin/tool.real\nthree\n/usr/share/x\n/usr/share/x.local\n:\n");
	put("status",
	    "Package: libone\nStatus: install ok installed\nArchitecture: i386\nVersion: 1-i\n\n"
	    "Package: libone\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1-a\nDescription: x\n"
	    " Version: no\n\n"
	    "Package: two\nStatus: install ok installed\nArchitecture: all\nVersion: 2:2.0~rc1\n\n"
	    "Package: two\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: old\n\n"
	    "Package: three\nStatus: install ok installed\nArchitecture: all\nVersion: 3");
	return 0;
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"info/libone:amd64.list",
					    "info/libone:i386.list",
					    "info/two.list",
					    "info/three.list",
					    "info/nostatus.list",
					    "info/not-a-list.md5sums",
					    "info/long.list",
					    "info/nul.list",
					    "diversions",
					    "status",
					    "info"};

	remove_all(names, SP_COUNT(names));
	return 0;
}

struct want {
	const char *path, *name, *version, *arch;
};

static void answers(void **state)
{
	static const struct want wants[] = {
	    {"/lib/libone.so.1", "libone", "1-a", "amd64"},
	    {"/usr/lib/libone.so.1", "libone", "1-a", "amd64"},
	    {"/usr/lib32/libone.so.1", "libone", "1-i", "i386"},
	    {"/usr/share/doc/one", "libone", "1-a", "amd64"}, /* both have it: the first by name */
	    {"/lib/libtwo.so", "two", "2:2.0~rc1", "all"},
	    {"/usr/bin/tool", "three", "3", "all"}, /* the diverter's own file */
	    {"/usr/bin/tool.real", "two", "2:2.0~rc1", "all"},
	    {"/usr/share/x", "", "", ""}, /* diverted by the administrator: nobody's */
	    {"/usr/share/x.local", "three", "3", "all"},
	    {"/opt/lib/y", "two", "2:2.0~rc1", "all"},
	    {"/opt/usr/lib/y", "", "", ""},
	    {"/usr/lib/nostatus.so", "nostatus", "", ""},
	    {"/usr/lib/nothing", "", "", ""},
	    {"/usr/lib/a", "", "", ""},
	    {"/usr/lib/after.so", "nul", "", ""},
	    {"/usr/lib/c", "", "", ""},
	    {"", "", "", ""},
	    {"/lib/libone.so.1", "libone", "1-a", "amd64"}, /* asked twice */
	};
	const char *paths[SP_COUNT(wants)];
	struct sp_packages *p;

	for (size_t i = 0; i < SP_COUNT(wants); i++)
		paths[i] = wants[i].path;
	assert_int_equal(sp_packages_find(dir, paths, SP_COUNT(paths), &p), 0);
	for (size_t i = 0; i < SP_COUNT(wants); i++) {
		struct sp_package got = sp_packages_get(p, i);
		assert_string_equal(got.name, wants[i].name);
		assert_string_equal(got.version, wants[i].version);
		assert_string_equal(got.arch, wants[i].arch);
	}
	assert_int_equal(sp_packages_n_skipped(p), 4); /* one too long, three with a NUL in them */
	sp_packages_free(p);
}

static void no_dpkg_no_packages(void **state)
{
	const char *const paths[] = {"/usr/lib/x"};
	struct sp_packages *p;

	assert_int_equal(sp_packages_find("/no/such", paths, 1, &p), 0);
	assert_string_equal(sp_packages_get(p, 0).name, "");
	sp_packages_free(p);
	assert_int_equal(sp_packages_find("/no/such", NULL, 0, &p), 0);
	sp_packages_free(p);
	sp_packages_free(NULL);
}

/* --- this machine's dpkg, against dpkg itself --- */
enum { MAX_PATHS = 400 };
static char *paths[MAX_PATHS], *owners[MAX_PATHS], *versions[MAX_PATHS];
static size_t n_paths;

/* What a program prints, read through a pipe; NULL if it cannot be run. */
static FILE *output_of(char *const *argv, pid_t *ret_pid)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
	int r = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	FILE *f = fdopen(ends[0], "r");
	if (r == 0)
		return f;
	fclose(f);
	return NULL;
}

static char *other_name(const char *path)
{
	char other[PATH_MAX];

	if (strncmp(path, "/usr", 4) == 0)
		(void)snprintf(other, sizeof(other), "%s", path + 4);
	else
		(void)snprintf(other, sizeof(other), "/usr%s", path);
	return strdup(other);
}

/* "libc6:amd64: /path": each as dpkg has it and under its other name in /usr or out of it. */
static void take_answer(char *line)
{
	char *path = strstr(line, ": ");

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "diversion ", 10) == 0 || path == NULL || n_paths + 2 > MAX_PATHS)
		return;
	*path = '\0';
	path += 2;
	if (strchr(line, ',') != NULL || strstr(path, "/lib") == NULL ||
	    strncmp(path + strspn(path, "usr/"), "lib", 3) != 0)
		return;
	paths[n_paths] = strdup(path);
	owners[n_paths++] = strdup(line);
	paths[n_paths] = other_name(path);
	owners[n_paths++] = strdup(line);
}

static void version_from_dpkg(size_t i)
{
	char *argv[] = {"dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", owners[i], NULL};
	char line[512] = "";
	pid_t pid;
	FILE *f = output_of(argv, &pid);

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	waitpid(pid, NULL, 0);
	versions[i] = strdup(line);
}

static bool ask_dpkg(void)
{
	char *argv[] = {"dpkg", "-S", "*.so.?", NULL}, line[PATH_MAX + 512];
	pid_t pid;
	FILE *f = output_of(argv, &pid);

	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		take_answer(line);
	fclose(f);
	waitpid(pid, NULL, 0);
	return n_paths > 0;
}

static void as_dpkg_says(void **state)
{
	struct sp_packages *p;
	char got[512];

	if (!ask_dpkg()) {
		printf("skip: no dpkg on this machine\n");
		skip();
	}
	uint64_t before = sp_time_ns(CLOCK_MONOTONIC);
	assert_int_equal(sp_packages_find(NULL, (const char *const *)paths, n_paths, &p), 0);
	print_message("%zu paths in %.1f ms\n", n_paths, (double)(sp_time_ns(CLOCK_MONOTONIC) - before) / 1e6);
	assert_int_equal(sp_packages_n_skipped(p), 0);
	for (size_t i = 0; i < n_paths; i++) {
		struct sp_package package = sp_packages_get(p, i);
		if (i % 20 == 0) /* one call of dpkg-query each */
			version_from_dpkg(i);
		(void)snprintf(got, sizeof(got), "%s %s %s", package.name, package.version, package.arch);
		if (versions[i] != NULL)
			assert_string_equal(got, versions[i]);
		owners[i][strcspn(owners[i], ":")] = '\0';
		assert_string_equal(package.name, owners[i]);
		free(paths[i]);
		free(owners[i]);
		free(versions[i]);
	}
	sp_packages_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(answers, make_dir, remove_dir),
	    cmocka_unit_test(no_dpkg_no_packages),
	    cmocka_unit_test(as_dpkg_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
