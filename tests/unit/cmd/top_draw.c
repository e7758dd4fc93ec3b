/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the screen of top draws: bars, the last minute, meters of CPUs; and the numbers behind them. */
#include "cmd/top/top_draw.h"
#include "base/mem.h"
#include "cmd/top/top_history.h"
#include "cmd/top/top_page.h"
#include "random.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t columns_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void check_ascii(const char *text)
{
	for (; *text; text++)
		assert_true((unsigned char)*text >= ' ' && (unsigned char)*text < 0x7f);
}

static void test_bars(void **state)
{
	char text[SP_TOP_DRAWN], ascii[SP_TOP_DRAWN];
	size_t before = 0;

	for (int i = 0; i <= 1000; i++) {
		sp_top_bar(i / 1000.0, false, text);
		sp_top_bar(i / 1000.0, true, ascii);
		check_ascii(ascii);
		assert_true(columns_of(text) >= before && columns_of(text) <= SP_TOP_BAR);
		assert_int_equal(columns_of(text), strlen(ascii));
		assert_int_equal(!*text, !i); /* what is not 0 is seen */
		before = columns_of(text);
	}
	assert_int_equal(before, SP_TOP_BAR);
	sp_top_bar(0.5, false, text);
	assert_string_equal(text, "████");
	sp_top_bar(0.5 + 3 / 64.0, false, text);
	assert_string_equal(text, "████▍");
	sp_top_bar(0.5 + 5 / 64.0, true, ascii);
	assert_string_equal(ascii, "####=");
	sp_top_bar(7, true, ascii);
	assert_string_equal(ascii, "########");
}

static void test_last_minute(void **state)
{
	const double cells[] = {-1, 0, 0.25, 0.5, 1, -1}, low[] = {0, 0.001, 0.005};
	char text[SP_TOP_DRAWN];

	sp_top_spark(cells, SP_COUNT(cells), 0.01, false, text);
	assert_string_equal(text, " ▁▃▅█ ");
	sp_top_spark(cells, SP_COUNT(cells), 0.01, true, text);
	assert_string_equal(text, " _-+# ");
	sp_top_spark(low, SP_COUNT(low), 0.01, false, text);
	assert_string_equal(text, "▁▁▅");
}

static void test_cpus(void **state)
{
	struct sp_top_cpus c = {.fd = -1};

	/* user nice system idle iowait irq softirq steal guest guest_nice */
	sp_top_cpus_read(&c, "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 5 0 5 90 0 0 0 0 0 0\n"
			     "cpu3 1 1 1 1 1 1 1 1 0 0\nintr 1 2 3\n");
	assert_int_equal(c.n, 0);
	sp_top_cpus_read(&c, "cpu  9\ncpu0 140 10 110 820 0 5 5 10 40 10\ncpu3 1 1 1 101 1 1 1 1 0 0\ncpu9 1 2 3 4\n");
	assert_int_equal(c.n, 2); /* cpu1 is offline now, cpu9 is new */
	assert_int_equal(c.cpus[0].number, 0);
	assert_true(c.cpus[0].programs > 0.499 && c.cpus[0].programs < 0.501); /* of 100 ticks 50, 20 in the kernel */
	assert_true(c.cpus[0].kernel > 0.199 && c.cpus[0].kernel < 0.201);
	assert_int_equal(c.cpus[1].number, 3);
	assert_true(c.cpus[1].programs + c.cpus[1].kernel < 0.001);
	sp_top_cpus_read(&c, "no such lines\ncpux\ncpu99999 1 2 3 4\n");
	assert_int_equal(c.n, 0);
	sp_top_cpus_done(&c);
}

static void test_meters(void **state)
{
	char lines[SP_TOP_METER_LINES][SP_TOP_METER_LINE];
	struct sp_top_cpu cpus[600];
	struct sp_top_cpus all = {.fd = -1, .cpus = cpus, .n = 2};

	for (uint32_t i = 0; i < SP_COUNT(cpus); i++)
		cpus[i] = (struct sp_top_cpu){.number = i, .programs = i % 5 / 4.0};
	cpus[0] = (struct sp_top_cpu){.number = 0, .programs = 0.5, .kernel = 0.25};
	assert_int_equal(sp_top_meters(&all, 80, 2, false, lines), 1);
	assert_string_equal(lines[0], "0[|||||||:::    75%]  1[|||           25%]");
	assert_int_equal(sp_top_meters(&all, 80, 0, false, lines), 0);
	assert_int_equal(sp_top_meters(&all, 10, 2, false, lines), 0);
	for (all.n = 1; all.n <= SP_COUNT(cpus); all.n++)
		for (unsigned width = 40; width <= 320; width += 40) {
			size_t n = sp_top_meters(&all, width, 2, all.n % 2, lines), columns = 0;

			assert_in_range(n, 1, 2);
			for (size_t i = 0; i < n; i++) {
				columns += columns_of(lines[i]);
				assert_true(columns_of(lines[i]) <= width);
			}
			assert_true(strstr(lines[0], " CPUs [") ? n == 1 : columns >= all.n * 20);
		}
	all.n = 600;
	assert_int_equal(sp_top_meters(&all, 80, 2, true, lines), 1);
	assert_memory_equal(lines[0], "600 CPUs [####", 14);
	assert_non_null(strstr(lines[0], "] the busiest of 14 each"));
}

static void test_history(void **state)
{
	enum { SECOND = 1000000000 };
	const struct sp_top_state by_library = {.levels = {{.by = SP_TOTAL_BY_LIBRARY}}};
	struct sp_profile *p = random_profile(3);
	struct sp_top_history h = {0};
	double cells[SP_TOP_CELLS];
	char what[SP_TOP_WORD];
	struct sp_top_page page;

	assert_int_equal(sp_top_page_make(&by_library, p, &page), 0);
	sp_top_history_of(&h, "nothing yet", false, cells);
	assert_true(cells[SP_TOP_CELLS - 1] < 0);
	for (uint64_t t = 100; t <= 400; t += 2) {
		assert_int_equal(sp_top_history_add(&h, p, t * SECOND, 2ULL * SECOND), 0);
		assert_true(h.n <= 34); /* of more than a minute ago none is kept */
		if (t == 110) {         /* nothing was shown before the first */
			assert_true(sp_top_page_what(&page, 0, what));
			sp_top_history_of(&h, what, false, cells);
			assert_true(cells[SP_TOP_CELLS - 1] > 0 && cells[SP_TOP_CELLS - 4] < 0);
		}
	}
	for (size_t i = 0; i < page.n_rows; i++) {
		double self = (double)page.rows[i].total.self / (double)page.value;

		if (!sp_top_page_what(&page, i, what) || page.rows[i].total.total < page.value / 100)
			continue;
		sp_top_history_of(&h, what, false, cells);
		for (size_t c = 0; c < SP_TOP_CELLS; c++)
			assert_true(cells[c] > self - 1e-9 && cells[c] < self + 1e-9);
	}
	assert_int_equal(sp_top_history_add(&h, p, 430ULL * SECOND, 2ULL * SECOND), 0); /* it was paused */
	sp_top_page_what(&page, 0, what);
	sp_top_history_of(&h, what, false, cells);
	assert_true(cells[SP_TOP_CELLS - 1] > 0 && cells[SP_TOP_CELLS - 3] < 0 && cells[0] > 0);
	sp_top_page_done(&page);
	sp_top_history_done(&h);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bars),   cmocka_unit_test(test_last_minute), cmocka_unit_test(test_cpus),
	    cmocka_unit_test(test_meters), cmocka_unit_test(test_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
