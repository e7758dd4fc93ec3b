/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cursor.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void reads_little_endian(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));

	assert_int_equal(sp_cursor_u8(&c), 1);
	assert_int_equal(sp_cursor_u16(&c), 0x0302);
	assert_int_equal(sp_cursor_u32(&c), 0x07060504);
	assert_true(sp_cursor_u64(&c) == UINT64_C(0x0f0e0d0c0b0a0908));
	assert_int_equal(sp_cursor_left(&c), 0);
	assert_false(c.bad);
}

static void what_does_not_fit_is_bad_for_ever(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));

	assert_int_equal(sp_cursor_u32(&c), 0);
	assert_true(c.bad);
	assert_int_equal(sp_cursor_u8(&c), 0);
	assert_int_equal(sp_cursor_left(&c), 0);
	sp_cursor_seek(&c, 0);
	assert_int_equal(sp_cursor_u8(&c), 0);
	assert_true(c.bad);
}

static void skip_and_seek_stay_inside(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));

	sp_cursor_skip(&c, 3);
	sp_cursor_skip(&c, 0);
	sp_cursor_seek(&c, 2);
	assert_int_equal(sp_cursor_u8(&c), 3);
	sp_cursor_seek(&c, 3);
	assert_false(c.bad);
	struct sp_cursor beyond = c;
	sp_cursor_seek(&beyond, 4);
	assert_true(beyond.bad);
	sp_cursor_skip(&c, SIZE_MAX);
	assert_true(c.bad);
}

static void a_part_has_its_own_bounds(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4};
	struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));

	(void)sp_cursor_u8(&c);
	struct sp_cursor part = sp_cursor_sub(&c, 2);
	assert_int_equal(sp_cursor_u16(&part), 0x0302);
	assert_int_equal(sp_cursor_u8(&part), 0);
	assert_true(part.bad);
	assert_false(c.bad);
	assert_int_equal(sp_cursor_u8(&c), 4);
	struct sp_cursor empty = sp_cursor_sub(&c, 0);
	assert_false(empty.bad);
	struct sp_cursor none = sp_cursor_sub(&c, 1);
	assert_true(none.bad && c.bad);
}

static void strings_end_inside(void **state)
{
	static const char bytes[] = {'a', 'b', '\0', '\0', 'c'};
	struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));

	assert_string_equal(sp_cursor_str(&c), "ab");
	assert_string_equal(sp_cursor_str(&c), "");
	assert_false(c.bad);
	assert_string_equal(sp_cursor_str(&c), "");
	assert_true(c.bad);
	struct sp_cursor none = sp_cursor_on(NULL, 0);
	assert_string_equal(sp_cursor_str(&none), "");
	assert_true(none.bad);
}

/* The encoders of the DWARF standard, appendix C, figures 44 and 45, in our words. */
static size_t put_uleb(uint8_t *out, uint64_t v)
{
	size_t n = 0;

	do {
		out[n] = v & 0x7f;
		v >>= 7;
		out[n++] |= v != 0 ? 0x80 : 0;
	} while (v != 0);
	return n;
}

static size_t put_sleb(uint8_t *out, int64_t v)
{
	for (size_t n = 0;; n++) {
		uint8_t byte = v & 0x7f;
		v >>= 7;
		if ((v == 0 && (byte & 0x40) == 0) || (v == -1 && (byte & 0x40) != 0)) {
			out[n] = byte;
			return n + 1;
		}
		out[n] = byte | 0x80;
	}
}

static void check_leb(uint64_t v)
{
	uint8_t bytes[16];
	size_t n = put_uleb(bytes, v);
	struct sp_cursor c = sp_cursor_on(bytes, n), cut = sp_cursor_on(bytes, n - 1);

	assert_true(sp_cursor_uleb(&c) == v && !c.bad && sp_cursor_left(&c) == 0);
	assert_true(sp_cursor_uleb(&cut) == 0 && cut.bad);
	n = put_sleb(bytes, (int64_t)v);
	c = sp_cursor_on(bytes, n);
	cut = sp_cursor_on(bytes, n - 1);
	assert_true(sp_cursor_sleb(&c) == (int64_t)v && !c.bad && sp_cursor_left(&c) == 0);
	assert_true(sp_cursor_sleb(&cut) == 0 && cut.bad);
}

static void leb_of_every_width(void **state)
{
	srandom(1);
	for (int bit = 0; bit < 64; bit++)
		for (int i = 0; i < 1000; i++) {
			uint64_t random_bits = (uint64_t)random() << 33 ^ (uint64_t)random();
			check_leb(random_bits >> bit);
			check_leb(~(random_bits >> bit));
		}
	for (int bit = 0; bit < 64; bit++) {
		check_leb(UINT64_C(1) << bit);
		check_leb((UINT64_C(1) << bit) - 1);
		check_leb(-(UINT64_C(1) << bit));
	}
}

static bool bad_leb(const char *bytes, size_t n, bool is_signed)
{
	struct sp_cursor c = sp_cursor_on(bytes, n);

	if (is_signed)
		(void)sp_cursor_sleb(&c);
	else
		(void)sp_cursor_uleb(&c);
	return c.bad;
}

static void leb_that_does_not_fit_is_bad(void **state)
{
	/* 2^64, eleven bytes (also when they say 0), and a sign that does not agree with bit 63 */
	assert_true(bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, false));
	assert_true(bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false));
	assert_true(bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, true));
	assert_true(bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, true));
	assert_true(bad_leb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7e", 10, true));
	assert_false(bad_leb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, false));
	assert_false(bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, false));
	assert_false(bad_leb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_little_endian),          cmocka_unit_test(what_does_not_fit_is_bad_for_ever),
	    cmocka_unit_test(skip_and_seek_stay_inside),    cmocka_unit_test(a_part_has_its_own_bounds),
	    cmocka_unit_test(strings_end_inside),           cmocka_unit_test(leb_of_every_width),
	    cmocka_unit_test(leb_that_does_not_fit_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
