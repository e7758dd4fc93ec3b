/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels of a profile's processes: a cgroup that is not found is shown by its number, and not said to be removed. */
#include "naming/enrich.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/cgroup.h"
#include "profile/profile.h"
#include "test.h"
#include <inttypes.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static void a_cgroup_that_is_not_found_has_a_number(void **state)
{
	const struct sp_process process = {.pid = 1, .start_ns = 1, .cgroup = UINT64_C(1) << 50};
	struct sp_profile *p;

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
	struct sp_enrich_walk walk = {.pace = &pace, .n_entries = SIZE_MAX};
	struct sp_profile *p;
	uint64_t id;
	uint32_t level;

	if (sp_cgroup_id("/", &id, &level) < 0)
		skip();
	assert_int_equal(sp_profile_new(&p), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		const struct sp_process process = {.pid = i, .start_ns = 1, .cgroup = id};
		int64_t number = sp_profile_add_process(p, &process);

		assert_true(number > 0);
		assert_int_equal(sp_enrich_cgroups(p, &walk), 0);
		assert_string_equal(sp_profile_string(p, sp_profile_process(p, (uint32_t)number)->cgroup_path),
				    i == 1 ? "[cgroup 1, not found]" : "/");
		assert_int_equal(pace.again_ns == UINT64_MAX, i == 1);
		pace.again_ns = 0;
	}
	assert_int_equal(sp_enrich_cgroups(p, &walk), 0);
	assert_int_equal(pace.again_ns, 0); /* nothing was looked for */
	sp_profile_free(p);
}

static const char *cgroup_of(struct sp_profile *p, uint32_t process)
{
	return sp_profile_string(p, sp_profile_process(p, process)->cgroup_path);
}

/* So that there is something to look through: nobody else may have made any. */
static char made[128];

static int make_cgroup(void **state)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct statfs f;

	for (size_t i = 0; i < SP_COUNT(places) && !*made; i++) {
		(void)snprintf(made, sizeof(made), "%s/soprof-%" PRIx64, places[i], sp_time_ns(CLOCK_BOOTTIME));
		if (statfs(places[i], &f) || f.f_type != CGROUP2_SUPER_MAGIC || mkdir(made, 0755))
			*made = '\0';
	}
	return 0;
}

static int remove_cgroup(void **state)
{
	if (*made)
		(void)rmdir(made);
	return 0;
}

/* So that no loop waits; what comes meanwhile was not looked for, and others that have the same pace do not begin. */
static void it_is_done_in_parts(void **state)
{
	struct sp_enrich_pace pace = {0};
	struct sp_enrich_walk walk = {.pace = &pace, .n_entries = 1};
	struct sp_process process = {.pid = 1, .start_ns = 1, .cgroup = UINT64_C(1) << 50};
	struct sp_profile *p;
	int r;

	if (!*made) {
		printf("skip: may not make cgroups here\n");
		skip();
	}
	assert_int_equal(sp_profile_new(&p), 0);
	uint32_t first = (uint32_t)sp_profile_add_process(p, &process);
	assert_int_equal(sp_enrich_cgroups(p, &walk), 1);
	assert_true(pace.again_ns == UINT64_MAX);
	process = (struct sp_process){.pid = 2, .start_ns = 1, .cgroup = 1};
	uint32_t second = (uint32_t)sp_profile_add_process(p, &process);
	assert_int_equal(sp_enrich_cgroups(p, &walk), 1);
	assert_string_equal(cgroup_of(p, first), "");
	while ((r = sp_enrich_cgroups(p, &walk)) > 0)
		;
	assert_int_equal(r, 0);
	assert_true(pace.again_ns && pace.again_ns != UINT64_MAX);
	assert_string_equal(cgroup_of(p, first), "[cgroup 1125899906842624, not found]");
	assert_string_equal(cgroup_of(p, second), "");
	pace.again_ns = 0;
	walk.is_over = true;
	assert_int_equal(sp_enrich_cgroups(p, &walk), 0);
	assert_string_equal(cgroup_of(p, second), "[cgroup 1, not found]");
	sp_enrich_walk_done(&walk);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_cgroup_that_is_not_found_has_a_number),
	    cmocka_unit_test(all_are_looked_through_now_and_then),
	    cmocka_unit_test_setup_teardown(it_is_done_in_parts, make_cgroup, remove_cgroup)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
