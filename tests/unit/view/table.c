/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table: golden files for every grouping, the limit, units, and a terminal of 80 columns. */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"
#include "view/units.h"
#include "view/value.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_csv, sp_view_json, sp_view_table;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"table-library.txt", {.by = SP_TOTAL_BY_LIBRARY}},
    {"table-library-v.txt", {.by = SP_TOTAL_BY_LIBRARY, .verbose = true}},
    {"table-library-ns.txt", {.by = SP_TOTAL_BY_LIBRARY, .value = 1}},
    {"table-limit.txt", {.by = SP_TOTAL_BY_LIBRARY, .value = 1, .limit = 3}},
    {"table-function.txt", {.by = SP_TOTAL_BY_FUNCTION, .value = 1}},
    {"table-process.txt", {.by = SP_TOTAL_BY_PROCESS, .value = 1}},
    {"table-caller.txt", {.by = SP_TOTAL_BY_CALLER, .value = 1}},
    {"table-package.txt", {.by = SP_TOTAL_BY_PACKAGE, .value = 1}},
    {"table-comm.txt", {.by = SP_TOTAL_BY_COMM, .value = 1}},
    {"table-cgroup.txt", {.by = SP_TOTAL_BY_CGROUP, .value = 1}},
    {"table-user.txt", {.by = SP_TOTAL_BY_USER, .value = 1}},
    {"table-colour.txt", {.by = SP_TOTAL_BY_LIBRARY, .colour = true, .limit = 4}},
};

static void equal_to_the_golden_files(void **state)
{
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_table, &goldens[i].o);
}

/* Self adds up to everything in every grouping, rows left out included: 100 % but for the rounding of each row. */
static void self_adds_up(void **state)
{
	struct sp_profile *p = fixture_profile();

	for (size_t i = 0; i < SP_COUNT(goldens) - 1; i++) {
		char *text SP_FREE = fixture_render(&sp_view_table, p, &goldens[i].o, NULL);
		double sum = 0;

		for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
			sum += strtod(at + 1, NULL);
		assert_true(fabs(sum - 100) < 0.2);
	}
	sp_profile_free(p);
}

/* A colour is only where it was asked for, and without it the same text stands there. */
static void colour_changes_nothing_else(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct sp_view_options o = {.by = SP_TOTAL_BY_LIBRARY, .colour = true};
	char *coloured SP_FREE = fixture_render(&sp_view_table, p, &o, NULL);
	char *plain SP_FREE = NULL;
	char *to = coloured;

	o.colour = false;
	plain = fixture_render(&sp_view_table, p, &o, NULL);
	assert_non_null(strchr(coloured, '\033'));
	assert_null(strchr(plain, '\033'));
	for (const char *from = coloured; *from; from++) {
		if (*from != '\033')
			*to++ = *from;
		else
			from += strcspn(from, "m");
	}
	*to = '\0';
	assert_string_equal(coloured, plain);
	sp_profile_free(p);
}

static void units_suit_the_values(void **state)
{
	char text[32];

	sp_unit_write("nanoseconds", 999, text, sizeof(text));
	assert_string_equal(text, "999 ns");
	sp_unit_write("nanoseconds", 1500, text, sizeof(text));
	assert_string_equal(text, "1.5 us");
	sp_unit_write("nanoseconds", 12345678, text, sizeof(text));
	assert_string_equal(text, "12.3 ms");
	sp_unit_write("nanoseconds", 2000000000, text, sizeof(text));
	assert_string_equal(text, "2.00 s");
	sp_unit_write("bytes", 1536, text, sizeof(text));
	assert_string_equal(text, "1.5 KiB");
	sp_unit_write("bytes", 48ULL << 20, text, sizeof(text));
	assert_string_equal(text, "48.0 MiB");
	sp_unit_write("count", 12345678, text, sizeof(text));
	assert_string_equal(text, "12345678");
}

static void empty_profile(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	text = fixture_render(&sp_view_table, p, &o, NULL);
	assert_string_equal(text, "samples: 0\n self %      self  total %     total  library\n");
	sp_profile_free(p);
}

/* The first words of the names, behind the headings and the line of sums. */
static void order_is(const struct sp_profile *p, enum sp_sort sort, const char *const names[3])
{
	struct sp_view_options o = {.by = SP_TOTAL_BY_COMM, .all_values = true, .sort = sort};
	char *text SP_FREE = fixture_render(&sp_view_table, p, &o, NULL), *at = strstr(text, "all\n");

	for (size_t i = 0; i < 3; i++) {
		at = strchr(at, '\n') + 1;
		assert_non_null(strstr(at, names[i]));
		assert_true(strstr(at, names[i]) < strchr(at, '\n'));
	}
}

static struct sp_profile *several_new(void)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	assert_true(sp_profile_add_value_type(p, "faults", "count") >= 0);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = {"idle", "busy", "both of these ones"};
		static const int64_t values[][3] = {{9, 0, 9}, {1, 2000000, 0}, {2, 1000000, 1}};
		int64_t comm = sp_profile_add_string(p, names[i]);
		struct sp_key key = {.comm = (uint32_t)comm};
		int64_t number = sp_profile_add_key(p, &key);

		assert_true(number > 0);
		assert_int_equal(sp_profile_add(p, (uint32_t)number, 0, 0, values[i]), 0);
	}
	return p;
}

/* A row for a library that only one of the events has met, too, and the line of sums. */
static void a_column_a_cost(void **state)
{
	struct sp_profile *p = several_new();
	struct sp_view_options o = {.by = SP_TOTAL_BY_COMM, .all_values = true, .width = 46};
	SP_FREE char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(sp_view_table.write(p, &o, f), 0);
	o.limit = 1;
	assert_int_equal(sp_view_table.write(p, &o, f), 0);
	fclose(f);
	assert_string_equal(text, "------- cpu us  ----- faults\n"
				  "  self   total   self  total  comm\n"
				  "3000.0  3000.0     10     10  all\n"
				  "   0.0     0.0      9      9  idle\n"
				  "2000.0  2000.0      0      0  busy\n"
				  "1000.0  1000.0      1      1  both of these o…\n"
				  "------- cpu us  ----- faults\n"
				  "  self   total   self  total  comm\n"
				  "3000.0  3000.0     10     10  all\n"
				  "   0.0     0.0      9      9  idle\n"
				  "2 more rows\n");
	assert_true(sp_value_has_several(p));
	order_is(p, SP_SORT_NAME, (const char *const[]){"both", "busy", "idle"});
	order_is(p, SP_SORT_SAMPLES, (const char *const[]){"idle", "both", "busy"});
	order_is(p, SP_SORT_TOTAL, (const char *const[]){"idle", "busy", "both"});
	sp_profile_free(p);
}

/* Two columns a cost for scripts, too, behind those of one; a group without anything of that one is there. */
static void a_cost_has_columns_and_keys(void **state)
{
	struct sp_profile *p = several_new();
	struct sp_view_options o = {.by = SP_TOTAL_BY_COMM, .all_values = true, .value = 1, .limit = 2};
	char *csv SP_FREE = fixture_render(&sp_view_csv, p, &o, NULL);
	char *json SP_FREE = fixture_render(&sp_view_json, p, &o, NULL);

	assert_string_equal(
	    csv, "by,name,library,path,build_id,package,pid,self,self_percent,total,total_percent,samples,"
		 "functions,value,unit,package_version,cpu_self,cpu_total,faults_self,faults_total\n"
		 "comm,idle,,,,,,0,0.000000,0,0.000000,0,,cpu,nanoseconds,,0,0,9,9\n"
		 "comm,busy,,,,,,2000000,66.666667,2000000,66.666667,1,,cpu,nanoseconds,,2000000,2000000,0,0\n"
		 "rest,1 more,,,,,,1000000,33.333333,,,,,cpu,nanoseconds,,1000000,,1,\n");
	assert_non_null(strstr(
	    json, "{\"name\":\"idle\",\"self\":0,\"self_percent\":0.000000,\"total\":0,\"total_percent\":0.000000,"
		  "\"samples\":0,\"values\":{\"cpu\":{\"self\":0,\"total\":0},\"faults\":{\"self\":9,\"total\":9}}}"));
	assert_non_null(strstr(json, "\"left_out\":{\"groups\":1,\"self\":1000000,\"self_percent\":33.333333,"
				     "\"values\":{\"cpu\":{\"self\":1000000},\"faults\":{\"self\":1}}}"));
	o.all_values = false;
	free(csv);
	csv = fixture_render(&sp_view_csv, p, &o, NULL);
	assert_null(strstr(csv, "cpu_self"));
	assert_null(strstr(csv, "idle"));
	sp_profile_free(p);
}

/* As many columns as the terminal has, however long an event is called. */
static void headings_fit_the_terminal(void **state)
{
	struct sp_view_options o = {.by = SP_TOTAL_BY_COMM, .all_values = true, .width = 46};
	static const int64_t values[] = {1, 2000000, 7};
	SP_FREE char *wide = NULL, *narrow = NULL;
	struct sp_key key = {0};
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "block:block_rq_complete", "nanoseconds") >= 0);
	assert_true(sp_profile_add_value_type(p, "sched:sched_switch", "count") >= 0);
	key.comm = (uint32_t)sp_profile_add_string(p, "a name of some length");
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 0, 0, values), 0);
	narrow = fixture_render(&sp_view_table, p, &o, NULL);
	o.width = 0;
	wide = fixture_render(&sp_view_table, p, &o, NULL);
	sp_profile_free(p);
	assert_string_equal(narrow, "block:bloc… us  sched:sched…\n"
				    "  self   total   self  total  comm\n"
				    "2000.0  2000.0      7      7  all\n"
				    "2000.0  2000.0      7      7  a name of some …\n");
	assert_string_equal(wide, "block:block_rq_complete us  sched:sched_switch\n"
				  "        self         total      self     total  comm\n"
				  "      2000.0        2000.0         7         7  all\n"
				  "      2000.0        2000.0         7         7  a name of some length\n");
}

/* A profile of one process, sleeping in the kernel and running without it, with one cost more for each name. */
static struct sp_profile *costs_new(const char *const *names, size_t n)
{
	static const int64_t values[2][6] = {{9, 0, 9000000, 1, 1, 1}, {7, 2000000, 1000000, 20, 20, 20}};
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(sp_profile_add_value_type(p, names[i], i && i < 3 ? "nanoseconds" : "count") >= 0);
	for (size_t i = 0; i < 2; i++) {
		struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, i ? "works" : "sleeps a long time")};

		assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 0, 0, values[i]), 0);
	}
	return p;
}

/* Totals alone where both numbers of each cost have no room, and the last costs not at all: both are told. */
static void costs_fit_the_terminal(void **state)
{
	static const char *const names[] = {"samples", "cpu", "offcpu", "faults", "sched:sched_switch", "locks"};
	struct sp_view_options o = {.by = SP_TOTAL_BY_COMM, .all_values = true, .width = 46};
	struct sp_profile *three = costs_new(names, 4), *five = costs_new(names, 6);
	SP_FREE char *text = NULL, *more = NULL, *self = NULL;

	text = fixture_render(&sp_view_table, three, &o, NULL);
	more = fixture_render(&sp_view_table, five, &o, NULL);
	o.width = 42 + 16 + 6;
	self = fixture_render(&sp_view_table, three, &o, NULL);
	sp_profile_free(three);
	sp_profile_free(five);
	assert_string_equal(text, "cpu us  offcpu ms  faults\n"
				  " total      total   total  comm\n"
				  "2000.0       10.0      21  all\n"
				  "2000.0        1.0      20  works\n"
				  "   0.0        9.0       1  sleeps a long time\n"
				  "self needs a wider terminal\n");
	assert_non_null(strstr(more, "without room: locks\nself needs a wider terminal\n"));
	for (const char *line = more; *line; line = strchr(line, '\n') + 1)
		assert_true(strcspn(line, "\n") <= 46 + 2); /* bytes: an ellipsis has three */
	assert_non_null(strstr(self, "  self  total"));
	assert_null(strstr(self, "wider"));
}

/* Names of values in words for pictures; what a system calls its events stays. */
static void captions_are_words(void **state)
{
	static const struct {
		const char *name, *words;
	} cases[] = {{"live_bytes", "live bytes"},
		     {"cpu", "cpu"},
		     {"sched:sched_switch", "sched:sched_switch"},
		     {"cpu_core/cycles/", "cpu_core/cycles/"}};
	struct sp_profile *p = several_new();
	char *one SP_FREE = sp_value_caption(p, 1, false), *all SP_FREE = sp_value_caption(p, 1, true);

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char *words SP_FREE = sp_value_words(cases[i].name);

		assert_string_equal(words, cases[i].words);
	}
	assert_string_equal(one, "cpu: 3.0 ms in 3 samples; other values: samples, faults");
	assert_string_equal(all, "cpu: 3.0 ms in 3 samples, faults: 10 in 11 samples");
	sp_profile_free(p);
}

/* Of one event, of another program's values without samples, and of counted calls there is one table a value. */
static void several_events_are_samples_with_costs(void **state)
{
	static const struct {
		const char *values[3];
		bool wanted;
	} cases[] = {{{"samples", "cpu"}, false},
		     {{"samples", "cpu", "offcpu"}, true},
		     {{"alloc_objects", "alloc_space", "inuse_space"}, false},
		     {{"calls", "samples", "cpu"}, false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p;

		assert_int_equal(sp_profile_new(&p), 0);
		for (size_t k = 0; k < 3 && cases[i].values[k]; k++)
			assert_true(sp_profile_add_value_type(p, cases[i].values[k], "count") >= 0);
		assert_int_equal(sp_value_has_several(p), cases[i].wanted);
		sp_profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(self_adds_up),
	    cmocka_unit_test(colour_changes_nothing_else),
	    cmocka_unit_test(units_suit_the_values),
	    cmocka_unit_test(empty_profile),
	    cmocka_unit_test(a_column_a_cost),
	    cmocka_unit_test(a_cost_has_columns_and_keys),
	    cmocka_unit_test(headings_fit_the_terminal),
	    cmocka_unit_test(costs_fit_the_terminal),
	    cmocka_unit_test(captions_are_words),
	    cmocka_unit_test(several_events_are_samples_with_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
