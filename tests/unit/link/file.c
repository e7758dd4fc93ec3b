/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making, continuing, reading and merging files of calls; files that are damaged, somebody else's, or do not fit. */
#include "base/error.h"
#include "link/buckets.h"
#include "made.h"
#include "test.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *const two[] = {"libone.so.1", "libtwo.so"};

static int path_of(const char *directory, const char *const *libraries, size_t n, char **ret_path)
{
	return sp_calls_path(directory, "", &(struct sp_calls_what){.libraries = libraries, .n_libraries = n},
			     ret_path);
}

static int prepare_as(const char *path, const char *const *libraries, size_t n, enum sp_calls_depth depth, bool *made)
{
	const struct sp_calls_what what = {.libraries = libraries, .n_libraries = n, .depth = depth};

	return sp_calls_prepare(path, &what, made);
}

static int prepare(const char *path)
{
	bool made;

	return prepare_as(path, two, 2, SP_CALLS_BY_OBJECT, &made);
}

static void refuses(int r, int wanted, const char *words)
{
	assert_int_equal(r, wanted);
	if (strstr(sp_error_text(r), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", sp_error_text(r), words);
	sp_error_clear();
}

static void write_at(const char *path, uint64_t offset, const void *bytes, size_t len)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, (off_t)offset), len);
	close(fd);
}

static void test_path(void **state)
{
	char directory[] = "/tmp/soprof-path-XXXXXX", wanted[128];
	const char *const bad[] = {"a/b", "a,b", "", "a\nb", ".."};
	char *path;
	struct stat st;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(path_of(directory, two, 2, &path), 0);
	snprintf(wanted, sizeof(wanted), "%s/libone.so.1,libtwo.so.profile", directory);
	assert_string_equal(path, wanted);
	if (geteuid() == 0) { /* somebody else's file has the name */
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		assert_int_equal(chown(path, 65534, 65534), 0);
		free(path);
		assert_int_equal(path_of(directory, two, 2, &path), 0);
		snprintf(wanted, sizeof(wanted), "%s/libone.so.1,libtwo.so.0.profile", directory);
		assert_string_equal(path, wanted);
		snprintf(wanted, sizeof(wanted), "%s/libone.so.1,libtwo.so.profile", directory);
		unlink(wanted);
	}
	free(path);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(path_of(directory, &bad[i], 1, &path), -EINVAL, "is not the name of a library");
	refuses(path_of(directory, two, 0, &path), -EINVAL, "no library");
	refuses(path_of("/nowhere/at/all", two, 2, &path), -ENOENT, "/nowhere/at/all");
	snprintf(wanted, sizeof(wanted), "%s/new", directory);
	umask(002);
	assert_int_equal(path_of(wanted, two, 1, &path), 0);
	free(path);
	assert_int_equal(stat(wanted, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	rmdir(wanted);
	setenv("XDG_STATE_HOME", directory, 1);
	assert_int_equal(path_of(NULL, two, 1, &path), 0);
	snprintf(wanted, sizeof(wanted), "%s/soprof/calls/libone.so.1.profile", directory);
	assert_string_equal(path, wanted);
	free(path);
	snprintf(wanted, sizeof(wanted), "%s/soprof/calls", directory);
	assert_int_equal(stat(wanted, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(chmod(wanted, 0777), 0);
	refuses(path_of(NULL, two, 1, &path), -EPERM, "only you can write to");
	rmdir(wanted);
	snprintf(wanted, sizeof(wanted), "%s/soprof", directory);
	rmdir(wanted);
	rmdir(directory);
}

static void test_long_list(void **state)
{
	char names[60][48];
	const char *list[60];
	char *path, *other;

	for (int i = 0; i < 60; i++) {
		snprintf(names[i], sizeof(names[i]), "libnumber%d.so.%d", i, i);
		list[i] = names[i];
	}
	assert_int_equal(path_of("/tmp", list, 60, &path), 0);
	assert_true(strlen(strrchr(path, '/') + 1) < 255);
	snprintf(names[59], sizeof(names[59]), "libother.so");
	assert_int_equal(path_of("/tmp", list, 60, &other), 0);
	assert_string_not_equal(path, other);
	free(path);
	free(other);
}

static int prepare_some(const char *path, const char *const *functions, size_t n, char **ret_path)
{
	const struct sp_calls_what what = {
	    .libraries = two, .n_libraries = 2, .functions = functions, .n_functions = n, .depth = SP_CALLS_BY_SITE};
	bool made;
	int r = sp_calls_prepare(path, &what, &made);

	return r < 0 ? r : sp_calls_path("/tmp", "", &what, ret_path);
}

/* The functions are a part of what a file counts: another file has another name, and this one is no file of others. */
static void test_functions(void **state)
{
	const char *const some[] = {"str*", "mem?py"}, *const bad[] = {"a,b", "", "[[:alpha:]]", "a\nb"};
	char directory[] = "/tmp/soprof-some-XXXXXX", path[64], *name, *other, *all;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.profile", directory);
	assert_int_equal(prepare_some(path, some, 2, &name), 0);
	assert_int_equal(prepare_some(path, some, 2, &other), 0);
	assert_string_equal(name, other);
	free(other);
	refuses(prepare_some(path, some, 1, &other), -EEXIST, "it counts str*,mem?py of libone.so.1,libtwo.so");
	refuses(prepare_some(path, NULL, 0, &other), -EEXIST, "it counts str*,mem?py of");
	unlink(path);
	assert_int_equal(prepare_some(path, NULL, 0, &all), 0);
	refuses(prepare_some(path, some, 2, &other), -EEXIST, "it counts all functions of libone.so.1,libtwo.so");
	assert_string_not_equal(name, all);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(prepare_some(path, &bad[i], 1, &other), -EINVAL, "glob of functions");
	free(name);
	free(all);
	unlink(path);
	rmdir(directory);
}

static void test_prepare(void **state)
{
	char directory[] = "/tmp/soprof-file-XXXXXX", path[64], other[64];
	const char *const one[] = {"libone.so.1"};
	struct sp_calls_snapshot s;
	struct stat st;
	bool made;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a.profile", directory);
	snprintf(other, sizeof(other), "%s/b.profile", directory);
	umask(0);
	assert_int_equal(prepare_as(path, two, 2, SP_CALLS_BY_OBJECT, &made), 0);
	assert_true(made);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true((uint64_t)st.st_blocks * 512 < 64 << 20);
	assert_int_equal(prepare_as(path, two, 2, SP_CALLS_BY_SITE, &made), 0);
	assert_false(made);
	assert_int_equal(sp_calls_read(path, &s), 0);
	assert_int_equal(s.depth, SP_CALLS_BY_SITE);
	assert_string_equal(s.targets, "libone.so.1,libtwo.so");
	assert_int_equal(s.n_arcs + s.n_libraries + s.n_callees, 0);
	sp_calls_done(&s);
	refuses(prepare_as(path, one, 1, SP_CALLS_BY_SITE, &made), -EEXIST, "it counts calls of libone.so.1,libtwo.so");

	assert_int_equal(symlink(path, other), 0);
	refuses(prepare(other), -ELOOP, "b.profile");
	unlink(other);
	assert_int_equal(mkfifo(other, 0600), 0);
	refuses(prepare(other), -EPERM, "only you can read and write");
	refuses(sp_calls_read(other, &s), -EBADMSG, "not a file of calls");
	unlink(other);
	assert_int_equal(chmod(path, 0644), 0);
	refuses(prepare(path), -EPERM, "only you can read and write");
	assert_int_equal(chmod(path, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		refuses(prepare(path), -EPERM, "only you can read and write");
		assert_int_equal(sp_calls_read(path, &s), 0);
		sp_calls_done(&s);
		assert_int_equal(chown(path, 0, 0), 0);
	}
	unlink(path);
	refuses(sp_calls_read(path, &s), -ENOENT, "a.profile");
	rmdir(directory);
}

static void test_other_versions(void **state)
{
	struct sp_calls_header h;
	struct sp_calls_snapshot s;
	struct made m;
	const char *path = m.path;
	struct stat st;

	assert_true(made_open(&m));
	munmap(m.base, m.header->size_bytes);
	assert_int_equal(stat(path, &st), 0);
	write_at(path, offsetof(struct sp_calls_header, version), &(uint32_t){7}, 4);
	refuses(prepare(path), -EPROTONOSUPPORT, "version 7");
	refuses(sp_calls_read(path, &s), -EPROTONOSUPPORT, "version 7");
	write_at(path, offsetof(struct sp_calls_header, version), &(uint32_t){SP_CALLS_VERSION}, 4);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	refuses(prepare(path), -EBADMSG, "damaged");
	refuses(sp_calls_read(path, &s), -EBADMSG, "damaged");
	assert_int_equal(truncate(path, sizeof(h) - 1), 0);
	refuses(prepare(path), -EBADMSG, "not a file of calls");
	refuses(sp_calls_read(path, &s), -EBADMSG, "not a file of calls");
	assert_int_equal(truncate(path, 0), 0);
	refuses(prepare(path), -EBADMSG, "not a file of calls");
	unlink(path);
	rmdir(m.directory);
}

static void test_full_disk(void **state)
{
	char directory[] = "/tmp/soprof-full-XXXXXX", path[64];

	assert_non_null(mkdtemp(directory));
	if (mount("none", directory, "tmpfs", 0, "size=64k") < 0) {
		rmdir(directory);
		print_message("skip: mount needs root\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/a.profile", directory);
	refuses(prepare(path), -ENOSPC, "a.profile");
	umount2(directory, MNT_DETACH);
	assert_int_equal(mount("none", directory, "tmpfs", 0, "size=64k"), 0);
	refuses(prepare(path), -ENOSPC, "a.profile");
	assert_int_equal(umount2(directory, 0), 0); /* not busy */
	assert_int_equal(rmdir(directory), 0);      /* nothing was left below it */
}

/* --- reading --- */
enum { BILLION = 1000000000 };

static void fill(struct made *m, uint8_t build)
{
	uint32_t library = made_object(m, "/lib/libmade.so", build, SP_CALLS_OBJECT_TARGET);
	uint32_t program = made_object(m, "/bin/program", 0, SP_CALLS_OBJECT_PROGRAM);
	uint32_t one = made_function(m, library, 0x1000, "made_one");
	uint32_t two_ = made_function(m, library, 0x1000, "made_two"); /* one place, two names */

	made_row(m,
		 (struct sp_calls_row){.function = one, .caller = program, .site_object = program, .site_offset = 0x10},
		 10ULL * BILLION, 10ULL * BILLION + 24);
	made_row(
	    m, (struct sp_calls_row){.function = two_, .caller = library, .site_object = program, .site_offset = 0x20},
	    0, 5);
	made_row(m, (struct sp_calls_row){.function = one}, 7, 0);
	made_row(m, (struct sp_calls_row){.function = two_, .site_object = program, .site_offset = 0x30}, 0, 0);
}

static const struct sp_calls_arc *arc_at(const struct sp_calls_snapshot *s, const char *name, uint64_t site)
{
	for (size_t i = 0; i < s->n_arcs; i++)
		if (s->arcs[i].site_offset == site && strcmp(s->callees[s->arcs[i].callee].name, name) == 0)
			return &s->arcs[i];
	fail_msg("no arc to %s from 0x%lx", name, (unsigned long)site);
	return NULL;
}

static void test_read(void **state)
{
	struct sp_calls_snapshot s;
	struct made m;

	assert_true(made_open(&m));
	fill(&m, 1);
	m.header->counters[SP_CALLS_N_PROCESSES] = 3;
	assert_int_equal(sp_calls_read(m.path, &s), 0);
	assert_int_equal(s.n_libraries, 2);
	assert_int_equal(s.n_callees, 2);
	assert_int_equal(s.n_arcs, 3); /* one was never called */
	assert_int_equal(s.counters[SP_CALLS_N_PROCESSES], 3);
	const struct sp_calls_arc *a = arc_at(&s, "made_one", 0x10);
	assert_true(a->n_calls == 20ULL * BILLION + 24);
	assert_string_equal(s.libraries[a->caller].path, "/bin/program");
	assert_true(s.libraries[a->caller].is_program && !s.libraries[a->caller].is_target);
	a = arc_at(&s, "made_two", 0x20);
	assert_int_equal(a->n_calls, 5);
	assert_string_equal(s.libraries[a->caller].soname, "libmade.so");
	assert_string_equal(s.libraries[a->site_library].soname, "program");
	a = arc_at(&s, "made_one", 0);
	assert_true(a->n_calls == 7 && a->caller == SP_CALLS_NONE && a->site_library == SP_CALLS_NONE);
	sp_calls_done(&s);

	*made_counter(&m, made_block(&m, SP_CALLS_ROW) * SP_CALLS_IDS, 0) = UINT64_MAX;
	assert_int_equal(sp_calls_read(m.path, &s), 0);
	assert_true(arc_at(&s, "made_one", 0x10)->n_calls == INT64_MAX);
	sp_calls_done(&s);
	made_close(&m);
}

/* Two processes of two files are two, though their records have one number; those of one file are those read before. */
static void test_processes(void **state)
{
	struct sp_calls_snapshot s, more;
	struct made first, second, *const m[] = {&first, &second};
	uint32_t row = 0;

	for (uint32_t i = 0; i < 2; i++) {
		assert_true(made_open(m[i]));
		uint32_t library = made_object(m[i], "/lib/libmade.so", 1, SP_CALLS_OBJECT_TARGET),
			 program = made_object(m[i], "/bin/program", 2, SP_CALLS_OBJECT_PROGRAM),
			 one = made_function(m[i], library, 0x1000, "made_one");
		struct sp_calls_row r = {.function = one, .caller = program, .site_object = program, .site_offset = 16};
		made_row(m[i], r, 3, 0);
		r.process = made_process(m[i], 100 + i, program, "name");
		row = made_row(m[i], r, 5 + i, 0);
	}
	assert_int_equal(sp_calls_read(m[0]->path, &s), 0);
	assert_int_equal(sp_calls_read(m[1]->path, &more), 0);
	assert_true(s.n_whos == 1 && s.n_arcs == 2 && s.whos[0].pid == 100);
	assert_string_equal(s.whos[0].name, "name");
	assert_string_equal(s.libraries[s.whos[0].program].path, "/bin/program");
	assert_int_equal(s.whos[0].uid, geteuid());
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_whos == 2 && s.n_arcs == 1 && s.arcs[0].n_calls == 5 && s.whos[s.arcs[0].who].pid == 100);
	sp_calls_done(&s);
	*made_counter(m[1], row, 1) += 4;
	assert_int_equal(sp_calls_read(m[1]->path, &s), 0);
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_arcs == 1 && s.arcs[0].n_calls == 4 && s.whos[s.arcs[0].who].pid == 101);
	sp_calls_done(&s);
	sp_calls_done(&more);
	made_close(m[0]);
	made_close(m[1]);
}

static void test_gained(void **state)
{
	struct sp_calls_snapshot s, more;
	struct made a, b;

	assert_true(made_open(&a) && made_open(&b));
	fill(&a, 1);
	fill(&b, 1);
	*made_counter(&a, made_block(&a, SP_CALLS_ROW) * SP_CALLS_IDS, 0) += 3;
	a.header->counters[SP_CALLS_N_PROCESSES] = 3;
	b.header->counters[SP_CALLS_N_PROCESSES] = 1;
	assert_int_equal(sp_calls_read(a.path, &s), 0);
	assert_int_equal(sp_calls_read(b.path, &more), 0);
	s.n_torn = 3;
	more.n_torn = 2;
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_arcs == 1 && arc_at(&s, "made_one", 0x10)->n_calls == 3);
	assert_true(s.n_torn == 1 && s.counters[SP_CALLS_N_PROCESSES] == 2);
	assert_string_equal(s.targets, "libmade.so");
	sp_calls_done(&s);
	sp_calls_done(&more);
	made_close(&b);
	/* The library was replaced in between: another build id, other functions. */
	assert_true(made_open(&b));
	fill(&b, 2);
	assert_int_equal(sp_calls_read(b.path, &more), 0);
	assert_int_equal(sp_calls_read(a.path, &s), 0);
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_libraries == 3 && s.n_callees == 4 && s.n_arcs == 3);
	assert_true(arc_at(&s, "made_one", 0x10)->n_calls == 20ULL * BILLION + 27);
	sp_calls_done(&more);
	sp_calls_done(&s);
	made_close(&a);
	made_close(&b);
}

static void test_buckets(void **state)
{
	for (uint64_t ticks = 0; ticks < 70000; ticks++) {
		unsigned b = sp_calls_bucket(ticks);
		assert_true(sp_calls_bucket_low(b) <= ticks && ticks < sp_calls_bucket_low(b + 1));
	}
	for (unsigned bit = 2; bit < 64; bit++) {
		assert_true(sp_calls_bucket_low(sp_calls_bucket(1ULL << bit)) == 1ULL << bit);
		assert_int_equal(sp_calls_bucket((1ULL << bit) - 1) + 1, sp_calls_bucket(1ULL << bit));
	}
	assert_int_equal(sp_calls_bucket(UINT64_MAX), SP_CALLS_BUCKETS - 1);
}

static const struct sp_calls_time *time_at(const struct sp_calls_snapshot *s, uint64_t low_ns, uint64_t high_ns)
{
	for (size_t i = 0; i < s->n_times; i++)
		if (s->times[i].low_ns == low_ns && s->times[i].high_ns == high_ns)
			return &s->times[i];
	fail_msg("no time from %lu to %lu ns", (unsigned long)low_ns, (unsigned long)high_ns);
	return NULL;
}

static void times_fill(struct made *m, uint32_t function)
{
	m->header->ticks_hz = 2ULL * BILLION;
	made_row(m, (struct sp_calls_row){.function = function, .part = SP_CALLS_PART_TICKS}, 3000, 1000);
	made_row(m, (struct sp_calls_row){.function = function, .part = SP_CALLS_PART_BUCKET + sp_calls_bucket(1024)},
		 2, 1);
	made_row(m, (struct sp_calls_row){.function = function, .part = SP_CALLS_PART_BUCKET + SP_CALLS_BUCKETS - 1}, 1,
		 0);
}

static void test_times(void **state)
{
	struct sp_calls_snapshot s, more;
	struct made m;
	uint32_t first = 0;

	assert_true(made_open(&m));
	fill(&m, 1);
	first = made_block(&m, SP_CALLS_FUNCTION) * SP_CALLS_IDS;
	times_fill(&m, first);
	struct sp_calls_function *f =
	    (struct sp_calls_function *)(m.base + m.blocks[made_block(&m, SP_CALLS_FUNCTION)].offset);
	f->flags |= SP_CALLS_FUNCTION_UNTIMED;
	assert_int_equal(sp_calls_read(m.path, &s), 0);
	assert_true(s.n_arcs == 3 && s.n_times == 3);
	assert_int_equal(time_at(&s, 0, 0)->n, 2000);
	assert_int_equal(time_at(&s, 512, 640)->n, 3);
	assert_int_equal(time_at(&s, 7ULL << 60, INT64_MAX)->n, 1);
	assert_string_equal(s.callees[time_at(&s, 512, 640)->callee].name, "made_one");
	assert_true(s.callees[time_at(&s, 512, 640)->callee].untimed && !s.callees[1].untimed);

	assert_int_equal(sp_calls_read(m.path, &more), 0);
	s.times[time_at(&s, 0, 0) - s.times].n = 4500;
	s.times[time_at(&s, 512, 640) - s.times].n = 7;
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_times == 2 && s.n_arcs == 0);
	assert_int_equal(time_at(&s, 0, 0)->n, 2500);
	assert_int_equal(time_at(&s, 512, 640)->n, 4);
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_int_equal(sp_calls_subtract(&s, &more), 0);
	assert_true(s.n_times == 0 && s.n_arcs == 0);
	sp_calls_done(&s);
	sp_calls_done(&more);

	m.header->ticks_hz = 0;
	refuses(sp_calls_read(m.path, &s), -EBADMSG, "a row of times");
	made_close(&m);
}

static void test_time(void **state)
{
	struct made m;

	assert_true(made_open(&m));
	assert_int_equal(sp_calls_time(m.path, 0), 0);
	assert_true(m.header->ticks_hz == 0 && m.header->is_timed == 0);
	assert_int_equal(sp_calls_time(m.path, 2000000000), 0);
	assert_true(m.header->ticks_hz == 2000000000 && m.header->is_timed == 1);
	assert_int_equal(sp_calls_time(m.path, 2000900000), 0);
	assert_true(m.header->ticks_hz == 2000000000);
	assert_int_equal(sp_calls_time(m.path, 0), 0);
	assert_true(m.header->ticks_hz == 2000000000 && m.header->is_timed == 0);
	assert_int_equal(sp_calls_time(m.path, 3000000000), 0);
	assert_true(m.header->ticks_hz == 3000000000 && m.header->is_timed == 1);
	assert_string_equal(m.header->targets, "libmade.so");
	assert_int_equal(sp_calls_time("/nonexistent", 0), -ENOENT);
	made_close(&m);
}

/* What may be wrong in a record or block, and is said. */
static void test_damaged(void **state)
{
	struct sp_calls_snapshot s;
	struct made m;

	assert_true(made_open(&m));
	fill(&m, 1);
	struct sp_calls_row *row = (struct sp_calls_row *)(m.base + m.blocks[made_block(&m, SP_CALLS_ROW)].offset);
	struct sp_calls_function *f =
	    (struct sp_calls_function *)(m.base + m.blocks[made_block(&m, SP_CALLS_FUNCTION)].offset);
	struct sp_calls_object *o =
	    (struct sp_calls_object *)(m.base + m.blocks[made_block(&m, SP_CALLS_OBJECT)].offset);
#define DAMAGED(field, value, words)                                                                                   \
	do {                                                                                                           \
		__typeof__(field) before = (field);                                                                    \
		(field) = (value);                                                                                     \
		refuses(sp_calls_read(m.path, &s), -EBADMSG, words);                                                   \
		(field) = before;                                                                                      \
	} while (0)
	DAMAGED(row->function, 1, "names one that is not there");
	DAMAGED(row->function, UINT32_MAX, "names one that is not there");
	DAMAGED(row->caller, row->function, "names one that is not there");
	DAMAGED(row->site_object, 0, "in no library");
	DAMAGED(row->part, SP_CALLS_PART_TICKS, "a row of times");
	DAMAGED(row[2].part, SP_CALLS_PART_TICKS, "a row of times"); /* without the speed of the clock */
	m.header->ticks_hz = BILLION;
	DAMAGED(row[2].part, SP_CALLS_PART_BUCKET + SP_CALLS_BUCKETS, "a row of times");
	DAMAGED(row->state, 9, "no known state");
	DAMAGED(f->object, 0, "names one that is not there");
	DAMAGED(f->name, 0, "outside of the names");
	DAMAGED(f->name, UINT64_MAX, "outside of the names");
	DAMAGED(f->name_len, 70000, "outside of the names");
	DAMAGED(f->name_len, 0, "has no end");
	DAMAGED(f->name_len, 30, "has no end");
	DAMAGED(o->build_id_len, 33, "library's record");
	DAMAGED(m.blocks[1].offset, m.blocks[2].offset, "lie over one another");
	DAMAGED(m.blocks[1].offset, m.header->size_bytes - 4096, "outside of it");
	DAMAGED(m.blocks[1].offset, UINT64_MAX & ~4095ULL, "outside of it");
	DAMAGED(m.blocks[1].offset, 4096, "outside of it");
	DAMAGED(m.blocks[1].offset, m.blocks[1].offset + 8, "outside of it");
	DAMAGED(m.blocks[1].kind, 77, "outside of it");
	DAMAGED(m.blocks[0].level, 10, "outside of it");
	DAMAGED(m.blocks[0].level, 9, "lie over one another");
	DAMAGED(m.header->n_slots, 1, "do not agree");
	DAMAGED(m.header->n_slots, 5000, "do not agree");
	DAMAGED(m.header->depth, 0, "do not agree");
	DAMAGED(m.header->magic[0], 'x', "not a file of calls");
	memset(o->path, 'x', sizeof(o->path));
	refuses(sp_calls_read(m.path, &s), -EBADMSG, "library's record");
	made_close(&m);
}

/* Any bit turned: read, or refused with words. */
static void test_flipped(void **state)
{
	struct sp_calls_snapshot s;
	struct made m;
	unsigned n_read = 0, n_refused = 0;

	assert_true(made_open(&m));
	fill(&m, 1);
	srand(7);
	for (unsigned i = 0; i < 3000 / SP_FEWER; i++) {
		uint32_t block = (uint32_t)rand() % 12;
		uint64_t at = i % 3 == 0 ? (uint64_t)rand() % (SP_CALLS_PAGE + 6 * sizeof(struct sp_calls_block))
					 : m.blocks[block].offset + (uint64_t)rand() % 1200;
		uint8_t bit = (uint8_t)(1 << rand() % 8);
		m.base[at] ^= bit;
		int r = sp_calls_read(m.path, &s);
		if (r == 0)
			sp_calls_done(&s);
		else if (r != -EBADMSG && r != -EPROTONOSUPPORT)
			fail_msg("bit at 0x%lx: %s", (unsigned long)at, sp_error_text(r));
		sp_error_clear();
		n_read += r == 0;
		n_refused += r < 0;
		m.base[at] ^= bit;
	}
	assert_true(n_read > 0 && n_refused > 0);
	made_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_path),    cmocka_unit_test(test_long_list),      cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_prepare), cmocka_unit_test(test_other_versions), cmocka_unit_test(test_full_disk),
	    cmocka_unit_test(test_read),    cmocka_unit_test(test_processes),      cmocka_unit_test(test_gained),
	    cmocka_unit_test(test_damaged), cmocka_unit_test(test_flipped),        cmocka_unit_test(test_buckets),
	    cmocka_unit_test(test_times),   cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
