/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flame graph's colours, labels and units. */
#include "view/svg/svg_text.h"
#include "base/mem.h"
#include "test.h"
#include "view/svg/svg_colour.h"
#include "view/svg/svg_palette.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double linear(uint32_t c)
{
	double v = c / 255.0;
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double contrast_with_black(uint32_t rgb)
{
	return (0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255) + 0.05) /
	       0.05;
}

static void test_contrast(void **state)
{
	for (int i = 0; i < 3000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "lib%d.so.1", i);
		assert_true(contrast_with_black(sp_svg_colour(name, i % 5 == 0, false)) >= 7);
		assert_true(contrast_with_black(sp_svg_colour(name, i % 5 == 0, true)) >= 5);
	}
	for (int i = -50; i <= 50; i++) {
		assert_true(contrast_with_black(sp_svg_diff_colour(i / 50.0, false)) >= 7);
		assert_true(contrast_with_black(sp_svg_diff_colour(i / 50.0, true)) >= 5);
	}
}

/* Colours are a promise over versions of soprof and of the libraries. */
static void test_stable_colours(void **state)
{
	assert_int_equal(sp_svg_colour("libcrypto.so.3", false, false),
			 sp_svg_colour("libcrypto.so.1.1", false, false));
	assert_int_not_equal(sp_svg_colour("libcrypto.so.3", false, false), sp_svg_colour("libssl.so.3", false, false));
	assert_int_equal(sp_svg_colour("libcrypto.so.3", false, false), 0x4abcd0);
	assert_int_equal(sp_svg_colour("libc.so.6", false, false), 0x9ca4ec);
	assert_int_equal(sp_svg_colour("[kernel]", true, false), 0xb7c2d4);
}

/* The heaviest keeps its own; nobody of the first twelve is near another. */
static void test_palette(void **state)
{
	static const char *const names[] = {"cc1",  "soprof",  "libc.so.6",      "ld", "libcrypto.so.3", "libz.so.1",
					    "node", "python3", "libstdc++.so.6", "as", "cc1plus",        "perl"};
	struct sp_svg_palette l = {.tinted = NULL};
	for (size_t i = 0; i < SP_COUNT(names); i++)
		sp_svg_palette_add(&l, names[i], false);
	sp_svg_palette_add(&l, "libc.so.7", false);
	sp_svg_palette_add(&l, "[kernel]", true);
	assert_int_equal(l.n_libraries, SP_COUNT(names));
	for (uint32_t i = 0; i < l.n_libraries; i++)
		for (uint32_t k = 0; k < i; k++) {
			uint32_t d = (uint32_t)abs((int)l.libraries[i].hue - (int)l.libraries[k].hue);
			assert_true(SP_MIN(d, 360 - d) >= 15);
		}
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		assert_int_equal(sp_svg_palette_colour(&l, "cc1", false, is_dark),
				 sp_svg_colour("cc1", false, is_dark));
		assert_int_equal(sp_svg_palette_colour(&l, "no", false, is_dark), sp_svg_colour("no", false, is_dark));
		for (uint32_t i = 0; i < l.n_libraries; i++)
			assert_true(contrast_with_black(sp_svg_palette_colour(&l, names[i], false, is_dark)) >=
				    (is_dark ? 5 : 7));
	}
}

static void assert_owned(char *text, const char *wanted)
{
	SP_FREE char *owned = text;
	assert_string_equal(owned, wanted);
}

static void test_amounts(void **state)
{
	assert_owned(sp_svg_amount(1, "samples", "count"), "1 sample");
	assert_owned(sp_svg_amount(1234567, "samples", "count"), "1,234,567 samples");
	assert_owned(sp_svg_amount(12, "locks", "holders"), "12 holders");
	assert_owned(sp_svg_amount(999, "cpu", "nanoseconds"), "999 ns cpu");
	assert_owned(sp_svg_amount(1234567, "cpu", "nanoseconds"), "1.23 ms cpu");
	assert_owned(sp_svg_amount(10101010101, "cpu", "nanoseconds"), "10.1 s cpu");
	assert_owned(sp_svg_amount(3600, "", "seconds"), "3,600 s");
	assert_owned(sp_svg_amount(4 << 20, "held", "bytes"), "4 MiB held");
	assert_owned(sp_svg_amount(1500, "", "bytes"), "1.46 KiB");
	assert_owned(sp_svg_fixed(0.005, 2), "0.01");
	assert_owned(sp_svg_fixed(100, 2), "100.00");
}

static void assert_label(const char *text, uint32_t n_cells, const char *wanted)
{
	SP_FREE char *label = NULL;
	size_t len;
	FILE *f = open_memstream(&label, &len);
	assert_non_null(f);
	assert_int_equal(sp_svg_put_label(f, text, n_cells), 0);
	fclose(f);
	assert_string_equal(label, wanted);
}

static void test_labels(void **state)
{
	assert_label("function", 8, "function");
	assert_label("function", 7, "functi…");
	assert_label("function", 3, "fu…");
	assert_label("function", 2, "");
	assert_label("libcrypto.so.3+0x29db40", 16, "libcry…+0x29db40");
	assert_label("libcrypto.so.3+0x29db40", 12, "li…+0x29db40");
	assert_label("libcrypto.so.3+0x29db40", 11, "…+0x29db40");
	assert_label("libcrypto.so.3+0x29db40", 5, "…db40");
	assert_label("libcrypto.so.3+0x29db40", 4, "lib…");
	assert_label("operator+0x", 9, "operator…");
	assert_label("f", 1, "f");
	assert_label("f", 0, "");
	assert_label("漢字かな", 8, "漢字かな");
	assert_label("漢字かな", 7, "漢字か…");
	assert_label("漢字かな", 6, "漢字…");
	assert_label("a<b>c", 4, "a&lt;b…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_contrast), cmocka_unit_test(test_stable_colours), cmocka_unit_test(test_palette),
	    cmocka_unit_test(test_amounts),  cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
