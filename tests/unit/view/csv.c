/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table as CSV: golden files for every grouping; the columns are always the same, and self adds up. */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_csv;

static const struct {
	const char *name;
	struct sp_view_options o;
} goldens[] = {
    {"csv-library.csv", {.by = SP_TOTAL_BY_LIBRARY, .value = 1}},
    {"csv-limit.csv", {.by = SP_TOTAL_BY_LIBRARY, .limit = 3}},
    {"csv-function.csv", {.by = SP_TOTAL_BY_FUNCTION}},
    {"csv-process.csv", {.by = SP_TOTAL_BY_PROCESS}},
    {"csv-caller.csv", {.by = SP_TOTAL_BY_CALLER}},
    {"csv-package.csv", {.by = SP_TOTAL_BY_PACKAGE}},
    {"csv-comm.csv", {.by = SP_TOTAL_BY_COMM}},
    {"csv-cgroup.csv", {.by = SP_TOTAL_BY_CGROUP}},
    {"csv-user.csv", {.by = SP_TOTAL_BY_USER}},
};

enum { N_COLUMNS = 16, COLUMN_SELF = 7 };

static void equal_to_the_golden_files(void **state)
{
	for (size_t i = 0; i < SP_COUNT(goldens); i++)
		fixture_golden(goldens[i].name, &sp_view_csv, &goldens[i].o);
}

/* The number of fields of a line, and the start of that number COLUMN_SELF; quotes are read as RFC 4180 says. */
static unsigned int read_line(const char *line, size_t len, const char **ret_self)
{
	unsigned int n = 0;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '"')
			quoted = !quoted;
		if (line[i] == ',' && !quoted && ++n == COLUMN_SELF)
			*ret_self = line + i + 1;
	}
	assert_false(quoted);
	return n + 1;
}

static void same_columns_and_all_of_self(void **state)
{
	struct sp_profile *p = fixture_profile();

	for (size_t i = 0; i < SP_COUNT(goldens); i++) {
		char *text SP_FREE = fixture_render(&sp_view_csv, p, &goldens[i].o, NULL);
		int64_t sum = 0;

		for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
			const char *self = NULL;

			assert_int_equal(read_line(line, strcspn(line, "\n"), &self), N_COLUMNS);
			sum += strtoll(self, NULL, 10); /* the heading is 0 */
		}
		assert_int_equal(sum, FIXTURE_SAMPLES * (goldens[i].o.value ? FIXTURE_PERIOD_NS : 1));
	}
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(same_columns_and_all_of_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
