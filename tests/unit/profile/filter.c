/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static struct sp_profile *p, *filtered;
static struct sp_filter_result result;
static uint32_t n_tags;

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
	(void)state;
	if (sp_profile_new(&p) < 0 || sp_profile_add_value_type(p, "samples", "count") < 0)
		return -1;
	sp_profile_info(p)->duration_ns = 77;
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
	(void)state;
	sp_profile_free(filtered);
	sp_profile_free(p);
	filtered = NULL;
	return 0;
}

static void library(const char *glob, uint32_t n_kept, int64_t kept)
{
	sp_profile_free(filtered);
	assert_int_equal(sp_profile_filter_library(p, glob, &filtered, &result), 0);
	assert_int_equal(result.n_kept, n_kept);
	assert_int_equal(result.kept[0], kept);
	assert_int_equal(result.n_left_out, sp_profile_n_rows(p) - n_kept);
	assert_int_equal(result.left_out[0], 31 - kept);
	assert_int_equal(sp_profile_n_rows(filtered), n_kept);
}

static void libraries_by_name_path_and_module(void **state)
{
	(void)state;
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
	(void)state;
	assert_int_equal(sp_profile_filter_comm(p, "app*", &filtered, &result), 0);
	assert_int_equal(result.n_kept, 2);
	assert_int_equal(result.kept[0], 6);
	assert_int_equal(result.left_out[0], 25);
	assert_int_equal(sp_profile_info(filtered)->duration_ns, 77);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t comm = sp_profile_key(filtered, sp_profile_row(filtered, i)->key)->comm;
		assert_int_equal(strncmp(sp_profile_string(filtered, comm), "app", 3), 0);
	}
}

static void the_new_profile_is_compact_and_the_old_one_whole(void **state)
{
	(void)state;
	uint32_t n_rows = sp_profile_n_rows(p), n_files = sp_profile_n_files(p);
	library("libcrypto*", 1, 1);
	assert_int_equal(sp_profile_n_files(filtered), 3); /* none, app, libcrypto */
	assert_int_equal(sp_profile_n_stacks(filtered), 2);
	assert_int_equal(sp_profile_n_rows(p), n_rows);
	assert_int_equal(sp_profile_n_files(p), n_files);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_profile, close_profile)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(libraries_by_name_path_and_module),
	    TEST(threads_by_name),
	    TEST(the_new_profile_is_compact_and_the_old_one_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
