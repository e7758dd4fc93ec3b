/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gmon.out and what LD_PROFILE writes, byte by byte: calls, times, places in the file, and what is refused. */
#include "reading.h"

#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	uint8_t data[4096];
	size_t n;
};

static void put(struct bytes *b, uint64_t value, int n_bytes)
{
	for (int i = 0; i < n_bytes; i++)
		b->data[b->n++] = (uint8_t)(value >> 8 * i);
}

static void put_head(struct bytes *b, uint32_t version)
{
	memcpy(b->data, "gmon", 4);
	b->n = 4;
	put(b, version, 4);
	put(b, 0, 8);
	put(b, 0, 4);
}

/* 64 bins of four bytes each from 0x1000 on, 50 times a second: 5 ticks in bin 3, 65535 in bin 60. */
static void put_histogram(struct bytes *b)
{
	static const char dimension[15] = "seconds";

	put(b, 0x1000, 8);
	put(b, 0x1100, 8);
	put(b, 64, 4);
	put(b, 50, 4);
	memcpy(b->data + b->n, dimension, sizeof(dimension));
	b->n += sizeof(dimension);
	put(b, 's', 1);
	for (int i = 0; i < 64; i++)
		put(b, i == 3 ? 5 : i == 60 ? 65535 : 0, 2);
}

static void put_call(struct bytes *b, uint64_t from, uint64_t to, uint32_t n)
{
	put(b, from, 8);
	put(b, to, 8);
	put(b, n, 4);
}

static struct bytes library_file(void)
{
	struct bytes b = {0};

	put_head(&b, 0x1ffff);
	put(&b, 0, 4);
	put_histogram(&b);
	put(&b, 1, 4);
	put(&b, 4, 4);
	put_call(&b, 0, 0x10, 7);
	put_call(&b, 0x21, 0x80, 4000000000);
	put_call(&b, 0, 0x10, 3); /* the same again */
	put_call(&b, 0x21, 0x80, 4000000000);
	return b;
}

static struct bytes program_file(void)
{
	struct bytes b = {0};

	put_head(&b, 1);
	put(&b, 0, 1);
	put_histogram(&b);
	put(&b, 1, 1);
	put_call(&b, 0x1021, 0x1080, 9);
	put(&b, 2, 1); /* counts of two basic blocks */
	put(&b, 2, 4);
	for (int i = 0; i < 4; i++)
		put(&b, 1, 8);
	put(&b, 0, 1);
	put_histogram(&b);
	return b;
}

/* Code lies 0x1000 lower in the file than in memory. */
static int object(void *arg, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret)
{
	const char **asked = arg;

	*asked = library ? "library" : "program";
	assert_true(!library || (!strcmp(library, "libx.so.1") && low == 0x1000 && high == 0x1100));
	snprintf(ret->path, sizeof(ret->path), "/usr/lib/libx.so.1");
	ret->build_id[0] = 0xab;
	ret->build_id_len = 8;
	ret->n_segments = 1;
	ret->segments[0] = (struct sp_read_segment){.vaddr = 0x1000, .offset = 0, .size = 0x100};
	return 1;
}

/* The values of the row whose leaf lies at `at`, called from `caller` (UINT64_MAX: by nobody). */
static void check_row(const struct sp_profile *p, uint64_t at, uint64_t caller, int64_t calls, int64_t cpu_ns)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack s = sp_profile_stack(p, row->user);
		bool has_caller = s.n_frames == 2;

		if (sp_profile_frame(p, s.frames[0])->offset != at || has_caller == (caller == UINT64_MAX) ||
		    (has_caller && sp_profile_frame(p, s.frames[1])->offset != caller))
			continue;
		assert_int_equal(row->values[0], calls);
		assert_int_equal(row->values[1], cpu_ns);
		return;
	}
	fail_msg("no row at 0x%llx", (unsigned long long)at);
}

static struct sp_profile *read_good(const struct bytes *b, const struct sp_read_options *o, const char *name,
				    struct sp_read_result *result)
{
	int fd SP_CLOSE = reading_file(b->data, b->n);
	struct sp_profile *p = NULL;
	int r = sp_read_fd(fd, name, o, &p, result);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	assert_string_equal(result->format, "gmon");
	assert_int_equal(result->n_lost, 0);
	assert_true(result->wants_names);
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 0)->name), "calls");
	assert_string_equal(sp_profile_string(p, sp_profile_value_type(p, 1)->unit), "nanoseconds");
	assert_int_equal(sp_profile_info(p)->period, 20000000);
	return p;
}

static void a_library_without_its_file(void **state)
{
	struct bytes b = library_file();
	struct sp_read_result result;
	struct sp_profile *p = read_good(&b, &(struct sp_read_options){0}, "/tmp/x/libx.so.1.profile", &result);

	assert_string_equal(sp_profile_string(p, sp_profile_file(p, 1)->name), "libx.so.1");
	assert_int_equal(sp_profile_n_rows(p), 4);
	check_row(p, 0x1010, UINT64_MAX, 10, 0);
	check_row(p, 0x1080, 0x1020, 8000000000, 0);
	check_row(p, 0x100c, UINT64_MAX, 0, 5 * 20000000LL);
	check_row(p, 0x10f0, UINT64_MAX, 0, 65535 * 20000000LL);
	assert_int_equal(result.n_samples, 4 + 5 + 65535);
	sp_profile_free(p);
}

static void addresses_become_offsets(void **state)
{
	const char *asked = NULL;
	const struct sp_read_options o = {.object = object, .object_arg = &asked};
	struct sp_read_result result;
	struct bytes b = library_file();
	struct sp_profile *p = read_good(&b, &o, "libx.so.1.profile", &result);

	assert_string_equal(asked, "library");
	assert_string_equal(sp_profile_string(p, sp_profile_file(p, 1)->path), "/usr/lib/libx.so.1");
	assert_int_equal(sp_profile_file(p, 1)->build_id_len, 8);
	check_row(p, 0x80, 0x20, 8000000000, 0);
	check_row(p, 0x0c, UINT64_MAX, 0, 5 * 20000000LL);
	sp_profile_free(p);
	b = program_file();
	p = read_good(&b, &o, "gmon.out", &result);
	assert_string_equal(asked, "program");
	check_row(p, 0x80, 0x20, 9, 0);
	check_row(p, 0xf0, UINT64_MAX, 0, 2 * 65535 * 20000000LL); /* both histograms */
	sp_profile_free(p);
}

/* Where it ends too early is said, and with keep_going what was there is kept. */
static void cut_anywhere(void **state)
{
	for (int library = 0; library < 2; library++) {
		struct bytes b = library ? library_file() : program_file();

		for (size_t n = 20; n < b.n; n++) {
			const struct sp_read_options go_on = {.keep_going = true, .format = "gmon"};
			struct sp_read_result result;
			struct sp_profile *p = NULL;
			int r = reading_bytes(b.data, n, &(struct sp_read_options){0}, &p, &result);

			if (r == 0) { /* between two records of a program */
				assert_false(library);
				sp_profile_free(p);
				continue;
			}
			assert_int_equal(r, -EBADMSG);
			assert_non_null(strstr(reading_words(r), "in: byte "));
			assert_int_equal(reading_bytes(b.data, n, &go_on, &p, &result), 0);
			if (result.n_lost != 1)
				fail_msg("%d, %zu bytes: lost %d, %s", library, n, (int)result.n_lost,
					 result.first_loss);
			sp_profile_free(p);
		}
	}
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		const char *words;
	} bad[] = {
	    {4, 2, "known format"},         {20, 9, "a record of tag 9"}, {24 + 8, 0, "a histogram from"},
	    {24 + 19, 0xff, "a histogram"}, {24 + 24, 'S', "of seconds"}, {24 + 20, 0, "at 0 Hz"},
	    {24 + 40 + 128, 7, "of tag 7"},
	};

	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		struct bytes b = library_file();
		struct sp_read_result result;
		struct sp_profile *p = NULL;
		int r;

		b.data[bad[i].at] = bad[i].byte;
		b.data[33] = i == 2 ? 0 : b.data[33]; /* 0x1100, its other byte */
		r = reading_bytes(b.data, b.n, &(struct sp_read_options){0}, &p, &result);
		assert_int_equal(r, -EBADMSG);
		if (!strstr(reading_words(r), bad[i].words))
			fail_msg("%zu: %s", i, sp_error_text(r));
	}
}

static int no_object(void *arg, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret)
{
	return sp_fail_said(-EINVAL, "not that one");
}

static void an_object_that_is_wrong_ends_it(void **state)
{
	struct bytes b = library_file();
	struct sp_read_result result;
	struct sp_profile *p = NULL;

	assert_int_equal(reading_bytes(b.data, b.n, &(struct sp_read_options){.object = no_object}, &p, &result),
			 -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "not that one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_library_without_its_file),
	    cmocka_unit_test(addresses_become_offsets),
	    cmocka_unit_test(cut_anywhere),
	    cmocka_unit_test(what_makes_no_sense_is_refused),
	    cmocka_unit_test(an_object_that_is_wrong_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
