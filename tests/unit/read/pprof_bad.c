/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.proto that must be refused, and what keep_going keeps of it. */
#include "pprof_made.h"
#include "profile/values.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static void expect_bad(const struct pb *b, const char *words, uint64_t n_kept, uint64_t n_lost)
{
	struct sp_read_options o = {.format = "pprof"};
	struct sp_read_result result;
	struct sp_profile *p;

	assert_int_equal(reading_bytes(b->data, b->n, &o, &p, &result), -EBADMSG);
	assert_string_equal(reading_words(-EBADMSG), words);
	o.keep_going = true;
	assert_int_equal(reading_bytes(b->data, b->n, &o, &p, &result), 0);
	assert_string_equal(result.first_loss, words);
	assert_int_equal(result.n_samples, n_kept);
	assert_int_equal(result.n_lost, n_lost);
	sp_profile_free(p);
}

/* A good profile with one thing behind it. */
static struct pb *begin(void)
{
	static struct pb b;

	b.n = 0;
	put_types(&b);
	put_leaf_sample(&b, true);
	put_tables(&b);
	put_strings(&b);
	return &b;
}

static void expect_words(const struct pb *b, size_t at, const char *words, uint64_t n_kept, uint64_t n_lost)
{
	char all[256];

	snprintf(all, sizeof(all), "in: byte %zu: %s", at, words);
	expect_bad(b, all, n_kept, n_lost);
}

static void put_bad_sample(struct pb *b, uint64_t location, uint64_t n_times)
{
	for (uint64_t i = 0; i < n_times; i++) {
		PACKED(&sample, 1, 1, location);
		PACKED(&sample, 2, 1, 1);
		put_sample(b);
	}
}

static void test_bad_ids(void **state)
{
	struct pb *b = begin();
	size_t at = b->n;

	put_bad_sample(b, 99, 3);
	expect_words(b, at, "sample: location id 99, which there is none of", 1, 3);
	b = begin();
	LOCATION(b, 50, 9, 0, 1);
	expect_words(b, at, "location: mapping id 9, which there is none of", 1, 1);
	b = begin();
	LOCATION(b, 50, 1, 0, 77);
	expect_words(b, at, "location: function id 77, which there is none of", 1, 1);
	b = begin();
	LOCATION(b, 2, 1, 0, 1);
	expect_words(b, at, "location: id 2 a second time", 1, 1);
	b = begin();
	PB_MESSAGE(b, FUNCTION, 2, 1);
	expect_words(b, at, "function: id 2 a second time", 1, 1);
	b = begin();
	PB_MESSAGE(b, MAPPING, 1, 1);
	expect_words(b, at, "mapping: id 1 a second time", 1, 1);
	b = begin();
	LOCATION(b, 0, 1, 0, 1);
	expect_words(b, at, "location: id 0; expected one from 1 up", 1, 1);
	b = begin();
	PB_MESSAGE(b, FUNCTION, 0, 1);
	expect_words(b, at, "function: id 0; expected one from 1 up", 1, 1);
	b = begin();
	PB_MESSAGE(b, MAPPING, 0, 1);
	expect_words(b, at, "mapping: id 0; expected one from 1 up", 1, 1);
}

static void test_bad_strings(void **state)
{
	static struct pb first;
	struct pb *b = begin();
	size_t at = b->n;

	PB_MESSAGE(b, MAPPING, 9, 0, 0, 0, 1000);
	expect_words(b, at, "mapping's file: string 1000, of a table of 27", 1, 1);
	b = begin();
	PB_MESSAGE(b, FUNCTION, 9, UINT64_MAX);
	LOCATION(b, 9, 0, 0, 9);
	expect_words(b, at, "function's name: string 4294967295, of a table of 27", 1, 1);
	b = begin();
	put_label(1000, 1, 0);
	put_leaf_sample(b, true);
	expect_words(b, at, "label: a string that is not in the table of 27", 2, 1);
	first.n = 0;
	PB_MESSAGE(&first, TYPE, 1, 1);
	at = first.n;
	pb_string(&first, "not empty");
	pb_string(&first, "samples");
	expect_words(&first, at, "string table: begins with \"not empty\"; expected \"\"", 0, 1);
	first.n = 0;
	PB_MESSAGE(&first, TYPE, 0, 0);
	expect_words(&first, first.n, "ends without a string table; expected one", 0, 1);
}

static void test_bad_values(void **state)
{
	struct pb *b = begin();
	size_t at = b->n;

	PACKED(&sample, 2, 1, 2, 3);
	put_sample(b);
	expect_words(b, at, "sample: 3 values; expected 2", 1, 1);
	b = begin();
	put_sample(b);
	expect_words(b, at, "sample: 0 values; expected 2", 1, 1);
	b = begin();
	pb_bytes(&sample, 2, "\x80", 1); /* a varint that does not end */
	put_sample(b);
	expect_words(b, at, "sample: not a message as profile.proto has it", 1, 1);
	b = begin();
	pb_bytes(&sample, 1, "\x80", 1);
	PACKED(&sample, 2, 1, 2);
	put_sample(b);
	expect_words(b, at, "sample: broken list of locations", 1, 1);
	b = begin();
	pb_bytes(b, LOCATION, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); /* more than 64 bits */
	expect_words(b, at, "location: not a message as profile.proto has it", 1, 1);
	b = begin();
	pb_bytes(b, MAPPING, "\x0a\x01x", 3); /* an id that is a string */
	expect_words(b, at, "mapping: not a message as profile.proto has it", 1, 1);
	b = begin();
	pb_number(b, SAMPLE, 5);
	expect_words(b, at, "field 2: a number; expected a message", 1, 1);
	b = begin();
	pb_bytes(b, PERIOD, "x", 1);
	expect_words(b, at, "field 12: a message; expected a number", 1, 1);
}

static void test_bad_ends(void **state)
{
	struct pb *b = begin();
	size_t at = b->n;

	pb_varint(b, SAMPLE << 3 | 2);
	pb_varint(b, 100);
	pb_varint(b, 1);
	expect_words(b, at + 2, "ends after 1 of 100 bytes", 1, 1);
}

static void test_too_many_types(void **state)
{
	static struct pb b;
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;

	b.n = 0;
	for (unsigned int i = 0; i < 17; i++)
		PB_MESSAGE(&b, TYPE, S_SAMPLES, S_COUNT);
	PACKED(&sample, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
	put_sample(&b);
	put_strings(&b);
	assert_int_equal(reading_bytes(b.data, b.n, &o, &p, &result), -EBADMSG);
	assert_string_equal(reading_words(-EBADMSG), "in: byte 96: 17 sample types; at most 16 are read");
	o.keep_going = true;
	assert_int_equal(reading_bytes(b.data, b.n, &o, &p, &result), 0);
	assert_int_equal(sp_profile_n_value_types(p), 16);
	assert_int_equal(sp_profile_row(p, 0)->values[15], 16);
	assert_int_equal(sp_profile_default_value(p), 15);
	assert_string_equal(result.first_loss, "in: byte 96: 17 sample types; at most 16 are read");
	sp_profile_free(p);
}

/* Every beginning of a profile, and every one of its bytes changed: an answer, at once, and never a crash. */
static void test_every_byte(void **state)
{
	struct pb *b = begin();
	struct sp_read_options o = {.format = "pprof"};
	struct sp_read_result result;
	struct sp_profile *p;

	for (size_t i = 0; i < 2 * b->n; i++) {
		size_t at = i / 2;

		o.keep_going = i % 2;
		p = NULL;
		if (reading_bytes(b->data, at, &o, &p, &result) == 0)
			sp_profile_free(p);
		b->data[at] ^= 0xff;
		if (reading_bytes(b->data, b->n, &o, &p, &result) == 0)
			sp_profile_free(p);
		b->data[at] ^= 0xff;
	}
}

static void test_truncated_gzip(void **state)
{
	struct pb *b = begin();
	size_t n;
	uint8_t *bytes SP_FREE = reading_gzip(b->data, b->n, &n);
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;

	assert_int_equal(reading_bytes(bytes, n, &o, &p, &result), 0);
	assert_int_equal(result.bytes, n);
	sp_profile_free(p);
	assert_int_equal(reading_bytes(bytes, n - 20, &o, &p, &result), -EBADMSG);
	assert_non_null(strstr(reading_words(-EBADMSG), "of the file: truncated gzip data"));
	o.keep_going = true;
	assert_int_equal(reading_bytes(bytes, n - 20, &o, &p, &result), 0);
	assert_int_equal(result.n_samples, 1);
	assert_true(result.n_lost >= 1);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bad_ids),        cmocka_unit_test(test_bad_strings),
	    cmocka_unit_test(test_bad_values),     cmocka_unit_test(test_bad_ends),
	    cmocka_unit_test(test_too_many_types), cmocka_unit_test(test_every_byte),
	    cmocka_unit_test(test_truncated_gzip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
