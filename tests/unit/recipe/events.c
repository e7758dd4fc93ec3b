/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event names: each finds itself, unknown ones are refused with the list, and what a sample stands for follows them. */
#include "recipe/events.h"
#include "base/error.h"
#include "capture/capture.h"
#include "recipe/recipe.h"
#include "test.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static void names(void **state)
{
	const struct sp_event *e;
	size_t n = 0;

	while ((e = sp_event_at(n))) {
		assert_ptr_equal(sp_event_find(e->name), e);
		assert_int_equal(sp_recipe_event_check(e->name), 0);
		assert_true(e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_SOFTWARE);
		for (size_t i = 0; i < n; i++)
			assert_false(sp_event_at(i)->type == e->type && sp_event_at(i)->config == e->config);
		n++;
	}
	assert_true(n >= 2);
	assert_null(sp_event_at(n + 1));
	assert_null(sp_event_at(SIZE_MAX));
	assert_ptr_equal(sp_event_find(NULL), sp_event_at(0));
	assert_string_equal(sp_event_at(0)->name, "cpu-clock");
	assert_int_equal(sp_recipe_event_check(NULL), 0);
}

/* Caches, raw events, and what stands behind a name, as perf has them. */
static void named(void **state)
{
	struct sp_event e;

	assert_true(sp_event_named(NULL, &e));
	assert_string_equal(e.name, "cpu-clock");
	assert_true(sp_event_named("cs", &e));
	assert_string_equal(e.name, "context-switches");
	assert_true(sp_event_named("page-faults:u", &e));
	assert_string_equal(e.name, "page-faults:u");
	assert_true(e.type == PERF_TYPE_SOFTWARE && e.config == PERF_COUNT_SW_PAGE_FAULTS);
	assert_true(e.user_only && !e.kernel_only);
	assert_true(sp_event_named("cycles:k", &e) && e.kernel_only && !e.user_only);
	assert_true(sp_event_named("cycles:uk", &e) && !e.kernel_only && !e.user_only);
	assert_true(sp_event_named("LLC-store-misses", &e));
	assert_true(e.type == PERF_TYPE_HW_CACHE && e.config == (2 | 1 << 8 | 1 << 16));
	assert_true(sp_event_named("r01c2:u", &e));
	assert_true(e.type == PERF_TYPE_RAW && e.config == 0x1c2 && e.user_only);
	assert_false(sp_event_named("", &e));
	assert_false(sp_event_named(":u", &e));
	assert_false(sp_event_named("cycles:", &e));
	assert_false(sp_event_named("cycles:x", &e));
	assert_false(sp_event_named("sched:sched_switch", &e));
	assert_false(sp_event_named("r", &e));
	assert_false(sp_event_named("r11112222333344445", &e)); /* 17 digits */
	assert_false(sp_event_named("L1-dcache-load-misses-that-are-longer-than-any-name-there-can-be-here", &e));
}

static void unknown(void **state)
{
	static const char *const wrong[] = {"", "cpu", "cpu-clock ", "CPU-CLOCK", "cycles:u", "cpu-clockx", "%s%n"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const char *text;

		assert_null(sp_event_find(wrong[i]));
		assert_int_equal(sp_recipe_event_check(wrong[i]), -EINVAL);
		text = sp_error_text(-EINVAL);
		assert_non_null(strstr(text, wrong[i]));
		for (size_t k = 0; sp_event_at(k); k++)
			assert_non_null(strstr(text, sp_event_at(k)->name));
		sp_error_clear();
	}
}

static void periods(void **state)
{
	static const struct {
		struct sp_capture_options o;
		uint64_t period;
		const char *type, *unit;
	} cases[] = {
	    {{.frequency_hz = 100}, 10000000, "cpu", "nanoseconds"},
	    {{.frequency_hz = 99, .event = "cpu-clock"}, 10101010, "cpu", "nanoseconds"},
	    {{.period = 5000, .event = "task-clock"}, 5000, "cpu", "nanoseconds"},
	    {{.period = 7, .event = "page-faults"}, 7, "page-faults", "count"},
	    {{.frequency_hz = 99, .event = "cycles"}, 1, "cycles", "count"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *type, *unit;
		struct sp_capture_options o = cases[i].o;
		uint64_t period;

		o.recipes[0] = &sp_recipe_cpu;
		sp_ground.period(&o, &period, &type, &unit);
		assert_int_equal(period, cases[i].period);
		assert_string_equal(type, cases[i].type);
		assert_string_equal(unit, cases[i].unit);
	}
}

static size_t n_ops(const struct sp_recipe *recipe)
{
	size_t n = 0;

	while (n < SP_N_OPS && recipe->points[2].slot.ops[n].kind != SP_OP_END)
		n++;
	return n;
}

/* Which waits count is said of the set's own recipes: those of the table stay as they are. */
static void waits(void **state)
{
	const struct sp_recipe *offcpu = sp_recipe_find("offcpu");
	struct sp_waits disk = {.threads = SP_WAIT_KERNEL, .by_state = true, .state = 2};
	struct sp_recipe_set set;

	assert_int_equal(sp_recipe_set_parse("cpu,offcpu", &set), 0);
	assert_int_equal(sp_recipe_set_waits(&set, &(struct sp_waits){0}), 0);
	assert_memory_equal(set.recipes[1], offcpu, sizeof(*offcpu));
	assert_int_equal(sp_recipe_set_waits(&set, &disk), 0);
	assert_ptr_equal(set.recipes[0], &sp_recipe_cpu);
	assert_ptr_not_equal(set.recipes[1], offcpu);
	assert_int_equal(n_ops(set.recipes[1]), n_ops(offcpu) + 6);
	assert_int_equal(set.recipes[1]->points[2].slot.flags,
			 (offcpu->points[2].slot.flags & ~(sp_u32)(SP_SLOT_NO_KTHREAD | SP_SLOT_ALL_WAITS)) |
			     SP_SLOT_KTHREAD);
	assert_int_equal(set.recipes[1]->points[1].slot.flags, /* which stands in for it, with stamps */
			 (offcpu->points[1].slot.flags & ~(sp_u32)SP_SLOT_NO_KTHREAD) | SP_SLOT_KTHREAD);
	assert_int_equal(set.recipes[1]->points[3].slot.flags,
			 offcpu->points[3].slot.flags & ~(sp_u32)SP_SLOT_ALL_WAITS);
	assert_true(offcpu->points[2].slot.flags & SP_SLOT_NO_KTHREAD);
	sp_recipe_set_done(&set);
	assert_int_equal(sp_recipe_set_parse("locks", &set), 0);
	assert_int_equal(sp_recipe_set_waits(&set, &disk), 0);
	assert_int_equal(n_ops(set.recipes[0]), n_ops(sp_recipe_find("locks")) + 3);
	sp_recipe_set_done(&set);
}

/* What one costs is told of all that could be measured. */
static void costs(void **state)
{
	for (size_t i = 0; sp_recipe_at(i); i++)
		assert_in_range(sp_recipe_at(i)->hit_ns, 500, 100000);
	for (size_t i = 0; sp_event_at(i); i++)
		if (sp_event_at(i)->type == PERF_TYPE_SOFTWARE)
			assert_in_range(sp_event_at(i)->hit_ns, 500, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(waits), cmocka_unit_test(costs),   cmocka_unit_test(names),
	    cmocka_unit_test(named), cmocka_unit_test(unknown), cmocka_unit_test(periods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
