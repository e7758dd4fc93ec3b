/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/filter.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static struct sp_profile *p, *filtered;
static struct sp_filter_result result;
static uint32_t n_tags;
static int64_t whole; /* of all rows */

static uint32_t string(const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t file(uint8_t kind, const char *name, const char *path)
{
	struct sp_file f = {.kind = kind, .tag = ++n_tags, .name = string(name), .path = string(path)};

	return (uint32_t)sp_profile_add_file(p, &f);
}

static uint32_t stack(uint32_t leaf_file, uint32_t root_file, uint32_t func)
{
	uint32_t frames[] = {
	    (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = leaf_file, .offset = 1, .func = func}),
	    (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = root_file, .offset = 2}),
	};

	return (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 2, .frames = frames});
}

static void add(const char *comm, uint32_t user, uint32_t kernel, int64_t value)
{
	int64_t key = sp_profile_add_key(p, &(struct sp_key){.comm = string(comm)});

	assert_int_equal(sp_profile_add(p, (uint32_t)key, user, kernel, &value), 0);
}

/* 1: libcrypto under openssl. 2: libz under app; kernel above it for 4. 8: ext4 without a user stack. 16: nothing. */
static int open_profile(void **state)
{
	if (sp_profile_new(&p) < 0 || sp_profile_add_value_type(p, "samples", "count") < 0)
		return -1;
	sp_profile_info(p)->duration_ns = 77;
	whole = 31;
	uint32_t exe = file(SP_FILE_ELF, "app", "/usr/bin/app"), kernel = file(SP_FILE_KERNEL, "[kernel]", "");
	uint32_t crypto = file(SP_FILE_ELF, "libcrypto.so.3", "/usr/lib/libcrypto.so.3.0.15");
	uint32_t z = file(SP_FILE_ELF, "libz.so.1", "/opt/lib/libz.so.1.2"), ext4 = file(SP_FILE_KERNEL, "[ext4]", "");
	int64_t func = sp_profile_add_func(p, &(struct sp_func){.name = string("ext4_read"), .file = ext4});
	add("openssl", stack(crypto, exe, 0), 0, 1);
	add("app", stack(z, exe, 0), 0, 2);
	add("app 2", stack(z, exe, 0), stack(kernel, kernel, 0), 4);
	add("kworker/0:1", 0, stack(kernel, kernel, 0), 0);
	sp_profile_frame(p, (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = kernel, .offset = 9}))->func =
	    (uint32_t)func;
	uint32_t frame = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = kernel, .offset = 9});
	struct sp_stack in_ext4 = {.n_frames = 1, .frames = &frame};
	add("kworker/0:1", 0, (uint32_t)sp_profile_add_stack(p, &in_ext4), 8);
	add("", 0, 0, 16);
	return 0;
}

static int close_profile(void **state)
{
	sp_profile_free(filtered);
	sp_profile_free(p);
	filtered = NULL;
	return 0;
}

static void filter_by(enum sp_filter_by by, const char *glob)
{
	struct sp_glob_filter filter = {.by = by, .globs = &glob, .n_globs = 1};

	sp_profile_free(filtered);
	assert_int_equal(sp_profile_filter_by(p, &filter, &filtered, &result), 0);
}

static void library(const char *glob, uint32_t n_kept, int64_t kept)
{
	filter_by(SP_FILTER_LIBRARY, glob);
	assert_int_equal(result.n_kept, n_kept);
	assert_int_equal(result.kept[0], kept);
	assert_int_equal(result.n_left_out, sp_profile_n_rows(p) - n_kept);
	assert_int_equal(result.left_out[0], whole - kept);
	assert_int_equal(sp_profile_n_rows(filtered), n_kept);
}

static void libraries_by_name_path_and_module(void **state)
{
	library("libz*", 2, 6);
	library("libcrypto.so.3", 1, 1);
	library("libcrypto.so.3.0.*", 1, 1); /* the path's last component */
	library("/opt/*", 2, 6);
	library("app", 3, 7);
	library("\\[kernel\\]", 3, 12);
	library("[kernel]", 3, 12);
	library("[ext4]", 1, 8);
	library("[[]ext4]", 1, 8);
	library("LIBZ*", 0, 0);
	library("*", 5, 15);
}

static void threads_by_name(void **state)
{
	filter_by(SP_FILTER_COMM, "app*");
	assert_int_equal(result.n_kept, 2);
	assert_int_equal(result.kept[0], 6);
	assert_int_equal(result.left_out[0], 25);
	assert_int_equal(sp_profile_info(filtered)->duration_ns, 77);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t comm = sp_profile_key(filtered, sp_profile_row(filtered, i)->key)->comm;
		assert_int_equal(strncmp(sp_profile_string(filtered, comm), "app", 3), 0);
	}
}

/* Left out is what a filter with the same globs keeps when it excludes. */
static void by(enum sp_filter_by what, int64_t kept, size_t n, const char *const *globs)
{
	struct sp_glob_filter f = {.by = what, .globs = globs, .n_globs = n};

	for (int exclude = 0; exclude < 2; exclude++) {
		f.exclude = exclude;
		sp_profile_free(filtered);
		assert_int_equal(sp_profile_filter_by(p, &f, &filtered, &result), 0);
		assert_int_equal(result.kept[0], exclude ? whole - kept : kept);
		assert_int_equal(result.left_out[0], exclude ? kept : whole - kept);
		assert_int_equal(result.n_kept + result.n_left_out, sp_profile_n_rows(p));
		assert_int_equal(sp_profile_n_rows(filtered), result.n_kept);
	}
}
#define BY(what, kept, ...)                                                                                            \
	by(what, kept, SP_COUNT(((const char *[]){__VA_ARGS__})), (const char *const[]){__VA_ARGS__})

static void everything_by_globs(void **state)
{
	struct sp_process one = {.pid = 4711, .comm = string("one")}, two = {.pid = 4712, .comm = string("two")};
	uint32_t frame = 1;
	struct sp_stack in_crypto = {.n_frames = 1, .frames = &frame};
	int64_t value = 32, pod = 64;

	BY(SP_FILTER_LIBRARY, 7, "libz*", "libcrypto*");
	BY(SP_FILTER_FUNCTION, 8, "ext4_*");
	BY(SP_FILTER_FUNCTION, 0, "libz*");
	BY(SP_FILTER_COMM, 9, "kworker/*", "openssl");
	BY(SP_FILTER_ANY, 9, "ext4_read", "openssl");
	BY(SP_FILTER_ANY, 15, "libz.so.1", "libcrypto*", "kworker*");
	by(SP_FILTER_ANY, 0, 0, NULL);
	one.cgroup_path = string("/system.slice/docker-1.scope");
	two.cgroup_path = string("/kube/pod7/container");
	one.exe = sp_profile_frame(p, frame)->file;
	struct sp_key k1 = {.process = (uint32_t)sp_profile_add_process(p, &one), .comm = string("t"), .slice = 3};
	struct sp_key k2 = {.process = (uint32_t)sp_profile_add_process(p, &two), .comm = string("t")};
	uint32_t s = (uint32_t)sp_profile_add_stack(p, &in_crypto);
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &k1), s, 0, &value), 0);
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &k2), 0, 0, &pod), 0);
	static const struct {
		enum sp_filter_by by;
		const char *glob;
		int64_t kept;
	} cases[] = {
	    {SP_FILTER_PROCESS, "one", 32},
	    {SP_FILTER_PROCESS, "471?", 96},
	    {SP_FILTER_PROCESS, "/usr/lib/lib*", 32},
	    {SP_FILTER_PROCESS, "nobody", 0},
	    {SP_FILTER_CGROUP, "/system.slice", 32},
	    {SP_FILTER_CGROUP, "docker-*", 32},
	    {SP_FILTER_CGROUP, "/kube/pod?", 64},
	    {SP_FILTER_CGROUP, "/kube", 64},
	    {SP_FILTER_CGROUP, "pod7", 0},
	    {SP_FILTER_CGROUP, "/*", 96},
	    {SP_FILTER_ANY, "4712", 64},
	    {SP_FILTER_ANY, "container", 64},
	};
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_glob_filter f = {.by = cases[i].by, .globs = &cases[i].glob, .n_globs = 1};
		sp_profile_free(filtered);
		assert_int_equal(sp_profile_filter_by(p, &f, &filtered, &result), 0);
		assert_int_equal(result.kept[0], cases[i].kept);
		assert_int_equal(result.left_out[0], 127 - cases[i].kept);
	}
}

static void labels_by_name_and_value(void **state)
{
	struct sp_label words[] = {{.name = string("request"), .word = string("GET /a=b")},
				   {.name = string("request"), .word = string("second")}};
	struct sp_label number = {.name = string("bytes"), .number = 704, .unit = string("kilobytes")};
	struct sp_key k1 = {.labels = (uint32_t)sp_profile_add_labels(p, words, 2)};
	struct sp_key k2 = {.labels = (uint32_t)sp_profile_add_labels(p, &number, 1)};
	int64_t value = 32, other = 64;

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &k1), 0, 0, &value), 0);
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &k2), 0, 0, &other), 0);
	static const struct {
		const char *glob;
		int64_t kept;
	} cases[] = {{"request", 32},        {"request=GET /a=*", 32},
		     {"request=sec*", 32},   {"request=a", 0},
		     {"reques", 0},          {"requests=*", 0},
		     {"bytes=7*4", 64},      {"bytes=704 kilo*", 64},
		     {"bytes=704 bytes", 0}, {"bytes=", 0},
		     {"bytes", 64},          {"", 0}};
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_glob_filter f = {.by = SP_FILTER_LABEL, .globs = &cases[i].glob, .n_globs = 1};
		sp_profile_free(filtered);
		assert_int_equal(sp_profile_filter_by(p, &f, &filtered, &result), 0);
		assert_int_equal(result.kept[0], cases[i].kept);
		assert_int_equal(result.left_out[0], 127 - cases[i].kept);
	}
}

static void slices_stay_apart(void **state)
{
	int64_t value = 1;

	for (uint32_t slice = 1; slice < 4; slice++) {
		int64_t key = sp_profile_add_key(p, &(struct sp_key){.comm = string("sliced"), .slice = slice});
		assert_int_equal(sp_profile_add(p, (uint32_t)key, 0, 0, &value), 0);
	}
	filter_by(SP_FILTER_COMM, "sliced");
	assert_int_equal(sp_profile_n_rows(filtered), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sp_profile_key(filtered, sp_profile_row(filtered, i)->key)->slice, i + 1);
}

static void the_new_profile_is_compact_and_the_old_one_whole(void **state)
{
	uint32_t n_rows = sp_profile_n_rows(p), n_files = sp_profile_n_files(p);
	library("libcrypto*", 1, 1);
	assert_int_equal(sp_profile_n_files(filtered), 3); /* none, app, libcrypto */
	assert_int_equal(sp_profile_n_stacks(filtered), 2);
	assert_int_equal(sp_profile_n_rows(p), n_rows);
	assert_int_equal(sp_profile_n_files(p), n_files);
}

/* A waker's frames stand above a word, upside down: they choose nothing, whether samples are kept or left out. */
static void wakers_choose_no_samples(void **state)
{
	const char *const waker = "libwaker*", *const sleeper = "libsleeper*";
	uint32_t frames[3];
	uint32_t of[] = {file(SP_FILE_ELF, "libwaker.so", ""), file(SP_FILE_WORDS, "[waker]", ""),
			 file(SP_FILE_ELF, "libsleeper.so", "")};

	for (size_t i = 0; i < 3; i++)
		frames[i] = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = of[i], .offset = 1});
	add("woken", 0, (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 3, .frames = frames}), 32);
	whole += 32;
	by(SP_FILTER_LIBRARY, 0, 1, &waker);
	by(SP_FILTER_ANY, 0, 1, &waker);
	by(SP_FILTER_LIBRARY, 32, 1, &sleeper);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_profile, close_profile)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(wakers_choose_no_samples),
	    TEST(libraries_by_name_path_and_module),
	    TEST(threads_by_name),
	    TEST(everything_by_globs),
	    TEST(labels_by_name_and_value),
	    TEST(slices_stay_apart),
	    TEST(the_new_profile_is_compact_and_the_old_one_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
