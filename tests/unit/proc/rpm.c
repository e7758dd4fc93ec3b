/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpm's database: a real one, made by rpm, whose answers are compared with those of rpm -qf; databases of ours that are
 * none, hostile ones, and headers by hand.
 */
#include "proc/rpm.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/rpm_header.h"
#include "test.h"

#include <endian.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/soprof-rpm-XXXXXX";
static char odd[sizeof(dir) + 8]; /* a root below it, whose name a URI would take for something else */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int make_dir(void **state)
{
	memcpy(strrchr(dir, '-') + 1, "XXXXXX", 6);
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(odd, sizeof(odd), "%s/a ?%%41#", dir);
	return mkdir(odd, 0700);
}

static int remove_dir(void **state)
{
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ODD/var/lib/rpm/NAME, its directories made. */
static const char *in_root(const char *name)
{
	static char path[PATH_MAX];
	static const char *const above[] = {"var", "var/lib", "var/lib/rpm"};

	for (size_t i = 0; i < SP_COUNT(above); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", odd, above[i]);
		(void)mkdir(path, 0700);
	}
	(void)snprintf(path, sizeof(path), "%s/var/lib/rpm/%s", odd, name);
	return path;
}

static int find_in(const char *root, unsigned deadline_ms, const char *path, struct sp_rpm **ret_rpm)
{
	const struct sp_rpm_options o = {.root = root, .deadline_ms = deadline_ms};

	sp_error_clear();
	return sp_rpm_find(&o, &path, 1, ret_rpm);
}

static const char *owner_in(const char *root, const char *path, uint64_t *ret_n_skipped)
{
	static char name[256];
	struct sp_rpm *r;
	int e = find_in(root, 0, path, &r);

	if (e < 0)
		fail_msg("%s", sp_error_text(e));
	(void)snprintf(name, sizeof(name), "%s", sp_rpm_get(r, 0).name);
	*ret_n_skipped = sp_rpm_n_skipped(r);
	sp_rpm_free(r);
	return name;
}

/* --- a real one --- */
enum { MAX_PATHS = 64 };
static char lines[MAX_PATHS][512];
static const char *asked[MAX_PATHS];
static size_t n_asked;

/* What rpm says, a line a path; false: there is no rpm. */
static bool ask_rpm(void)
{
	extern char **environ;
	char *argv[] = {SP_SOURCE_ROOT "/tests/unit/proc/rpm-root", dir, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	FILE *f = fdopen(ends[0], "r");
	while (n_asked < MAX_PATHS && fgets(lines[n_asked], sizeof(lines[0]), f) != NULL)
		n_asked++;
	fclose(f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
	return WEXITSTATUS(status) == 0;
}

static void as_rpm_says(void **state)
{
	char root[PATH_MAX], got[1024];
	struct sp_rpm *r;

	if (!ask_rpm()) {
		printf("skip: no rpmbuild on this machine\n");
		skip();
	}
	assert_true(n_asked >= 9);
	for (size_t i = 0; i < n_asked; i++) {
		char *line = lines[i], *space = strchr(line, ' ');
		assert_non_null(space);
		*space = '\0';
		asked[i] = line;
	}
	(void)snprintf(root, sizeof(root), "%s/root", dir);
	const struct sp_rpm_options o = {.root = root};
	uint64_t before = sp_time_ns(CLOCK_MONOTONIC);
	assert_int_equal(sp_rpm_find(&o, asked, n_asked, &r), 0);
	print_message("%zu paths in %.1f ms\n", n_asked, (double)(sp_time_ns(CLOCK_MONOTONIC) - before) / 1e6);
	assert_int_equal(sp_rpm_n_skipped(r), 0);
	for (size_t i = 0; i < n_asked; i++) {
		struct sp_package p = sp_rpm_get(r, i);
		(void)snprintf(got, sizeof(got), "%s %s %s\n", p.name, p.version, p.arch);
		assert_string_equal(got, asked[i] + strlen(asked[i]) + 1);
	}
	sp_rpm_free(r);
	static const char *const others[][2] = {{"/usr/lib64/liblow.so.1", "libone"}, /* by its name in /usr */
						{"/lib64/libone.so.1", "libone"},
						{"/usr/lib64/none/libone.so.1", ""},
						{"/libone.so.1", ""},
						{"libone.so.1", ""},
						{"/usr/lib64/one/", ""},
						{"/", ""},
						{"", ""},
						{"/usr/lib64/'; DROP TABLE Packages; --", ""}};
	for (size_t i = 0; i < SP_COUNT(others); i++) {
		uint64_t n_skipped;
		assert_string_equal(owner_in(root, others[i][0], &n_skipped), others[i][1]);
		assert_int_equal(n_skipped, 0);
	}
}

/* --- what is no database --- */
static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(in_root(name), "we");

	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void no_rpm_no_packages(void **state)
{
	uint64_t n_skipped;
	struct sp_rpm *r;

	assert_string_equal(owner_in(odd, "/usr/lib/x", &n_skipped), "");
	const struct sp_rpm_options o = {.root = odd};
	assert_int_equal(sp_rpm_find(&o, NULL, 0, &r), 0);
	sp_rpm_free(r);
	sp_rpm_free(NULL);
	assert_int_equal(mkfifo(in_root("rpmdb.sqlite"), 0600), 0); /* would never answer */
	assert_string_equal(owner_in(odd, "/usr/lib/x", &n_skipped), "");
}

static void older_kinds(void **state)
{
	struct sp_rpm *r;

	write_file("Packages.db", "RpmP");
	assert_int_equal(find_in(odd, 0, "/usr/lib/x", &r), -EOPNOTSUPP);
	assert_non_null(strstr(sp_error_text(-EOPNOTSUPP), "rpm's database is an ndb; only SQLite is read"));
	write_file("Packages", "x");
	assert_int_equal(find_in(odd, 0, "/usr/lib/x", &r), -EOPNOTSUPP);
	assert_non_null(strstr(sp_error_text(-EOPNOTSUPP), "/var/lib/rpm/Packages: rpm's database is a Berkeley DB"));
}

static void make_database(const char *sql)
{
	sqlite3 *db;

	(void)remove(in_root("rpmdb.sqlite"));
	assert_int_equal(sqlite3_open(in_root("rpmdb.sqlite"), &db), SQLITE_OK);
	char *words = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &words) != SQLITE_OK)
		fail_msg("%s", words);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_bad(const char *words)
{
	struct sp_rpm *r;

	assert_int_equal(find_in(odd, 0, "/usr/lib/x", &r), -EBADMSG);
	const char *said = sp_error_text(-EBADMSG);
	if (strstr(said, "/var/lib/rpm/rpmdb.sqlite: ") == NULL || strstr(said, words) == NULL)
		fail_msg("said: %s", said);
}

static void hostile_databases(void **state)
{
	uint64_t n_skipped;

	write_file("rpmdb.sqlite",
		   "this is not a database, but a text that is long enough to be looked at as if it was");
	expect_bad("not a database");
	write_file("rpmdb.sqlite", "");
	expect_bad("no such table");
	make_database("CREATE TABLE Basenames (key, hnum, idx); CREATE TABLE Packages (hnum, other)");
	expect_bad("no such column");
	make_database(
	    "CREATE TABLE Packages (hnum, blob); CREATE VIEW Basenames AS SELECT 'x' AS key, 1 AS hnum, 0 AS idx");
	expect_bad("view");
	/* rows that are nonsense are skipped */
	make_database("CREATE TABLE Basenames (key, hnum, idx); CREATE TABLE Packages (hnum, blob);"
		      "INSERT INTO Packages VALUES (1, x'00'), (2, NULL), (3, 'text'), (4, 7.5),"
		      " (5, x'0000000000000000'), (6, zeroblob(100000));"
		      "INSERT INTO Basenames VALUES ('x', 1, 0), ('x', 2, 0), ('x', 3, 0), ('x', 4, 0), ('x', 5, -1),"
		      " ('x', 5, 99999999999), ('x', 5, 'text'), ('x', 5, NULL), ('x', 6, 0), ('x', 77, 0)");
	assert_string_equal(owner_in(odd, "/usr/lib/x", &n_skipped), "");
	assert_int_equal(n_skipped, 9);
}

static void in_time(void **state)
{
	struct sp_rpm *r;

	/* no index, and an equal name in each of 10^6 pairs */
	make_database("CREATE TABLE Basenames (key, hnum, idx); CREATE TABLE Packages (hnum, blob);"
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
		      " INSERT INTO Basenames SELECT 'x', 1, i FROM n;"
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
		      " INSERT INTO Packages SELECT 1, x'00' FROM n");
	uint64_t before = sp_time_ns(CLOCK_MONOTONIC);
	assert_int_equal(find_in(odd, 50, "/usr/lib/x", &r), -ETIMEDOUT);
	assert_non_null(strstr(sp_error_text(-ETIMEDOUT), "took too long"));
	assert_true(sp_time_ns(CLOCK_MONOTONIC) - before < 5 * SP_NS_PER_S);
}

/* Every page of a good database, broken in turn: an answer or an error, nothing else. */
static void damaged(void **state)
{
	size_t size;
	uint32_t random = 1;

	make_database("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob); CREATE TABLE Basenames (key, hnum, idx);"
		      "CREATE INDEX by_key ON Basenames(key);"
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
		      " INSERT INTO Basenames SELECT 'x' || (i % 7), i, i FROM n;"
		      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
		      " INSERT INTO Packages SELECT i, zeroblob(300) FROM n");
	FILE *f = fopen(in_root("rpmdb.sqlite"), "r+e");
	assert_non_null(f);
	SP_FREE char *good = malloc(1 << 20);
	size = fread(good, 1, 1 << 20, f);
	for (int i = 0; i < 300; i++) {
		struct sp_rpm *r;
		rewind(f);
		assert_int_equal(fwrite(good, 1, size, f), size);
		for (int k = 0; k < 4; k++) {
			random = random * 1664525 + 1013904223;
			(void)fseek(f, (long)(random >> 4) % (long)size, SEEK_SET);
			(void)fputc((int)(random >> 24), f);
		}
		assert_int_equal(fflush(f), 0);
		int e = find_in(odd, 1000, "/usr/lib/x3", &r);
		assert_true(e == 0 || e == -EBADMSG || e == -ETIMEDOUT);
		if (e == 0)
			sp_rpm_free(r);
	}
	fclose(f);
}

/* --- headers by hand --- */
struct made {
	uint32_t words[2 + 4 * 16];
	size_t n_entries, n_data;
	uint8_t data[512], all[2048];
};

static void add(struct made *m, uint32_t tag, uint32_t type, uint32_t count, const void *data, size_t n)
{
	uint32_t *e = m->words + 2 + 4 * m->n_entries++;

	e[0] = htobe32(tag);
	e[1] = htobe32(type);
	e[2] = htobe32((uint32_t)m->n_data);
	e[3] = htobe32(count);
	memcpy(m->data + m->n_data, data, n);
	m->n_data += n;
}

static size_t finish(struct made *m)
{
	size_t head = 8 + 16 * m->n_entries;

	m->words[0] = htobe32((uint32_t)m->n_entries);
	m->words[1] = htobe32((uint32_t)m->n_data);
	memcpy(m->all, m->words, head);
	memcpy(m->all + head, m->data, m->n_data);
	return head + m->n_data;
}

static size_t make_header(struct made *m, const char *name)
{
	*m = (struct made){0};
	add(m, 1000, 6, 1, name, strlen(name) + 1);
	add(m, 1001, 6, 1, "1", 2);
	add(m, 1002, 6, 1, "2", 2);
	add(m, 1116, 4, 2, "\0\0\0\1\0\0\0\0", 8);
	add(m, 1117, 8, 2, "x\0y", 4);
	add(m, 1118, 8, 2, "/a/\0/b/", 8);
	add(m, 1029, 1, 2, "\0\1", 2);
	return finish(m);
}

/* What the header says of file i: "NAME-VERSION-RELEASE DIR BASE STATE", NULL if it makes no sense. */
static const char *read_header(const void *bytes, size_t size, uint32_t i)
{
	static char said[1024];
	struct sp_rpm_header h;
	struct sp_rpm_owner o;
	struct sp_rpm_file f;
	SP_FREE void *copy = malloc(size ? size : 1);

	memcpy(copy, bytes, size);
	if (sp_rpm_header_open(copy, size, &h) < 0 || sp_rpm_header_owner(&h, &o) < 0 ||
	    sp_rpm_header_file(&h, i, &f) < 0)
		return NULL;
	(void)snprintf(said, sizeof(said), "%u:%s-%s-%s.%s %s %s %u", o.epoch, o.name, o.version, o.release, o.arch,
		       f.dir, f.base, f.state);
	return said;
}

static void headers(void **state)
{
	static struct made m;
	size_t size = make_header(&m, "n");

	assert_string_equal(read_header(m.all, size, 0), "0:n-1-2. /b/ x 0");
	assert_string_equal(read_header(m.all, size, 1), "0:n-1-2. /a/ y 1");
	assert_null(read_header(m.all, size, 2));
	assert_null(read_header(m.all, size, UINT32_MAX));
	for (size_t cut = 0; cut < size; cut++)
		assert_null(read_header(m.all, cut, 0));
	/* what was added at installation stands behind, and counts */
	add(&m, 1118, 8, 2, "/c/\0/d/", 8);
	add(&m, 1003, 4, 1, "\0\0\0\7", 4);
	add(&m, 1022, 6, 1, "noarch", 7);
	size = finish(&m);
	assert_string_equal(read_header(m.all, size, 0), "7:n-1-2.noarch /d/ x 0");
	size = make_header(&m, "a\nb");
	assert_null(read_header(m.all, size, 0));
	size = make_header(&m, "");
	assert_null(read_header(m.all, size, 0));
}

/* Each byte of the index and of the numbers in the data, set to all that is awkward. */
static void hostile_headers(void **state)
{
	static const uint8_t values[] = {0, 1, 7, 0x7f, 0x80, 0xff};
	static struct made m;
	size_t size = make_header(&m, "n"), n_taken = 0;

	for (size_t at = 0; at < size; at++)
		for (size_t k = 0; k < SP_COUNT(values); k++) {
			uint8_t was = m.all[at];
			m.all[at] = values[k];
			for (uint32_t i = 0; i < 3; i++)
				n_taken += read_header(m.all, size, i) != NULL;
			m.all[at] = was;
		}
	assert_true(n_taken > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(as_rpm_says, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(no_rpm_no_packages, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(older_kinds, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(hostile_databases, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(in_time, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(damaged, make_dir, remove_dir),
	    cmocka_unit_test(headers),
	    cmocka_unit_test(hostile_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
