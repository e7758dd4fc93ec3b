/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels of a profile's processes: a cgroup that is not found is shown by its number, and not said to be removed. */
#include "naming/enrich.h"
#include "proc/cgroup.h"
#include "profile/profile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static void a_cgroup_that_is_not_found_has_a_number(void **state)
{
	const struct sp_process process = {.pid = 1, .start_ns = 1, .cgroup = UINT64_C(1) << 50};
	struct sp_profile *p;

	(void)state;
	assert_int_equal(sp_profile_new(&p), 0);
	int64_t number = sp_profile_add_process(p, &process);
	assert_true(number > 0);
	assert_int_equal(sp_enrich_cgroups(p, NULL), 0);
	assert_string_equal(sp_profile_string(p, sp_profile_process(p, (uint32_t)number)->cgroup_path),
			    "[cgroup 1125899906842624, not found]");
	sp_profile_free(p);
}

/* Of a profile that lasts all cgroups are looked through again only when that costs little of the time. */
static void all_are_looked_through_now_and_then(void **state)
{
	struct sp_enrich_pace pace = {.again_ns = UINT64_MAX};
	struct sp_profile *p;
	uint64_t id;
	uint32_t level;

	(void)state;
	if (sp_cgroup_id("/", &id, &level) < 0)
		skip();
	assert_int_equal(sp_profile_new(&p), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		const struct sp_process process = {.pid = i, .start_ns = 1, .cgroup = id};
		int64_t number = sp_profile_add_process(p, &process);

		assert_true(number > 0);
		assert_int_equal(sp_enrich_cgroups(p, &pace), 0);
		assert_string_equal(sp_profile_string(p, sp_profile_process(p, (uint32_t)number)->cgroup_path),
				    i == 1 ? "[cgroup 1, not found]" : "/");
		assert_int_equal(pace.again_ns == UINT64_MAX, i == 1);
		pace.again_ns = 0;
	}
	assert_int_equal(sp_enrich_cgroups(p, &pace), 0);
	assert_int_equal(pace.again_ns, 0); /* nothing was looked for */
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_cgroup_that_is_not_found_has_a_number),
					   cmocka_unit_test(all_are_looked_through_now_and_then)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
