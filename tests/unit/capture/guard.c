/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guard decides, by made-up costs: four looks a second, 5 % of a CPU. */
#include "capture/guard.h"
#include "test.h"

#define MS UINT64_C(1000000)

static struct sp_guard guard_of(unsigned n_events)
{
	struct sp_guard g = {.percent = 5};

	for (unsigned i = 0; i < n_events; i++)
		g.events[i] = (struct sp_guard_event){
		    .is_guarded = true, .one_in = 1, .most = 1, .windows = 1, .most_windows = 1};
	return g;
}

/* A look at 250 ms in which the events cost so much if all were taken, and `floor` of it though none was. */
static struct sp_guard_step look(struct sp_guard *g, uint64_t a_ns, uint64_t b_ns, uint64_t floor_ns)
{
	struct sp_guard_use use = {.ns = 250 * MS};
	const struct sp_guard_event *e = &g->events[0];

	use.kernel_ns[0] = e->is_detached ? SP_GUARD_UNKNOWN : (floor_ns + a_ns / e->one_in) / e->windows;
	use.kernel_ns[1] = b_ns / (g->events[1].one_in ? g->events[1].one_in : 1);
	return sp_guard_decide(g, &use);
}

/* As much as the budget, for ever; bursts of a second's budget; work of soprof's own: nothing is done. */
static void calm_is_left_alone(void **state)
{
	struct sp_guard_use own = {.ns = 250 * MS, .own_ns = 250 * MS, .kernel_ns = {6 * MS}};
	struct sp_guard g = guard_of(1);

	for (int i = 0; i < 100; i++)
		assert_int_equal(look(&g, 12 * MS, 0, 0).act, SP_GUARD_STAYS);
	for (int i = 0; i < 20; i++)
		assert_int_equal(look(&g, 0, 0, 0).act, SP_GUARD_STAYS);
	assert_int_equal(look(&g, 60 * MS, 0, 0).act, SP_GUARD_STAYS);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sp_guard_decide(&g, &own).act, SP_GUARD_STAYS);
	assert_int_equal(g.events[0].most, 1);
}

/* Where one that is not taken costs as much, nothing is thinned: it is attached for a part of the time, and more again.
 */
static void costs_of_hits_lead_to_windows(void **state)
{
	struct sp_guard g = guard_of(1);
	struct sp_guard_step step;

	g.events[0].can_window = g.events[0].no_thin = true;
	step = look(&g, 0, 0, 250 * MS);
	assert_int_equal(step.act, SP_GUARD_WINDOWS);
	assert_int_equal(step.windows, 32);
	assert_int_equal(g.events[0].one_in, 1);
	for (int i = 0; i < 100 && g.events[0].windows > 1; i++)
		look(&g, 0, 0, MS);
	assert_int_equal(g.events[0].windows, 1);
	assert_int_equal(g.events[0].most_windows, 32);
	assert_int_equal(g.events[0].most, 1);
}

/* A storm is thinned at the first look, by as much as it is over; then it fits, and stays so. */
static void storm_is_thinned(void **state)
{
	struct sp_guard g = guard_of(1);
	struct sp_guard_step step = look(&g, 250 * MS, 0, 0);

	assert_int_equal(step.act, SP_GUARD_THINS);
	assert_int_equal(step.percent, 100);
	assert_int_equal(step.limit, 5);
	assert_int_equal(step.one_in, 32);
	for (int i = 0; i < 100; i++)
		assert_int_equal(look(&g, 250 * MS, 0, 0).act, SP_GUARD_STAYS);
	assert_int_equal(g.events[0].one_in, 32);
}

/* What rises slowly is thinned step by step, and never costs more than twice the budget. */
static void slow_rise(void **state)
{
	struct sp_guard g = guard_of(1);
	uint64_t cost = MS;

	for (int i = 0; i < 400; i++, cost += cost / 50) {
		look(&g, cost, 0, 0);
		if (g.events[0].one_in < SP_GUARD_MOST)
			assert_true(cost / g.events[0].one_in <= 26 * MS);
	}
	assert_int_equal(g.events[0].one_in, SP_GUARD_MOST);
}

/* After a storm every event is taken again. One that comes and goes does not make it flap. */
static void storm_ends(void **state)
{
	struct sp_guard g = guard_of(1);
	unsigned n = 0;

	look(&g, 250 * MS, 0, 0);
	for (int i = 0; i < 100 && g.events[0].one_in > 1; i++)
		n += look(&g, MS, 0, 0).act == SP_GUARD_RESTORES;
	assert_int_equal(g.events[0].one_in, 1);
	assert_int_equal(g.events[0].most, 32);
	assert_int_equal(n, 3);
	assert_int_equal(g.events[0].n_steps, 4);
	assert_int_equal(g.events[0].first.one_in, 32);
	assert_int_equal(g.events[0].first.percent, 100);

	look(&g, 250 * MS, 0, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(look(&g, i % 4 ? 0 : 250 * MS, 0, 0).act, SP_GUARD_STAYS);
}

/* The costliest is thinned; the other is as exact as before. */
static void costliest_first(void **state)
{
	struct sp_guard g = guard_of(2);

	for (int i = 0; i < 40; i++)
		look(&g, 3 * MS, 400 * MS, 0);
	assert_int_equal(g.events[0].one_in, 1);
	assert_true(g.events[1].one_in >= 32);
	assert_false(g.events[1].is_detached);
	for (int i = 0; i < 40; i++) /* now the first is */
		look(&g, 100 * MS, 3 * MS, 0);
	assert_true(g.events[0].one_in > 1);
}

/* Where even that is too much, it is detached: not at once, once, and then the rest goes on. */
static void hopeless_is_detached(void **state)
{
	struct sp_guard g = guard_of(2);
	struct sp_guard_step step = {0};
	int n = 0;

	for (n = 0; n < 100 && step.act != SP_GUARD_DETACHES; n++)
		step = look(&g, 500 * MS, 2 * MS, 50 * MS);
	assert_in_range(n, SP_GUARD_PATIENCE, 2 * SP_GUARD_PATIENCE);
	assert_int_equal(step.event, 0);
	assert_true(g.events[0].is_detached);
	for (n = 0; n < 100; n++)
		assert_int_equal(look(&g, 500 * MS, 2 * MS, 50 * MS).act, SP_GUARD_STAYS);
	assert_false(g.events[1].is_detached);
	assert_int_equal(g.events[1].one_in, 1);
}

/* Where not taking them is too much, and they can have windows, these are as seldom as they must be. */
static void windows_come_second(void **state)
{
	struct sp_guard g = guard_of(1);
	struct sp_guard_step step;
	int n = 0;

	g.events[0].can_window = true;
	step = look(&g, 5000 * MS, 0, 100 * MS);
	assert_int_equal(step.act, SP_GUARD_THINS);
	assert_int_equal(step.windows, 1);
	for (n = 0; n < 10 && step.act != SP_GUARD_WINDOWS; n++)
		step = look(&g, 5000 * MS, 0, 100 * MS);
	assert_int_equal(step.act, SP_GUARD_WINDOWS);
	assert_int_equal(step.one_in, SP_GUARD_MOST);
	assert_in_range(step.windows, 8, 16);
	for (n = 0; n < 100; n++)
		assert_int_equal(look(&g, 5000 * MS, 0, 100 * MS).act, SP_GUARD_STAYS);
	assert_int_equal(g.events[0].n_detached, 0);
	/* The storm is over: all the time first, then all of it. */
	for (n = 0; n < 100 && g.events[0].windows > 1; n++)
		assert_int_equal(look(&g, MS, 0, 0).one_in ? g.events[0].one_in : SP_GUARD_MOST, SP_GUARD_MOST);
	assert_int_equal(g.events[0].windows, 1);
	for (n = 0; n < 100 && g.events[0].one_in > 1; n++)
		look(&g, MS, 0, 0);
	assert_int_equal(g.events[0].one_in, 1);
}

/* What cannot be had even so is detached; and then trials bring it back, if there is room for what it would cost. */
static void comes_back(void **state)
{
	struct sp_guard g = guard_of(1);
	struct sp_guard_use quiet = {.ns = 250 * MS, .kernel_ns = {SP_GUARD_UNKNOWN}}, probe = quiet;
	struct sp_guard_step step = {0};
	int n;

	g.events[0].can_window = true;
	for (n = 0; n < 100 && step.act != SP_GUARD_DETACHES; n++)
		step = look(&g, 500000 * MS, 0, 100000 * MS);
	assert_int_equal(step.act, SP_GUARD_DETACHES);
	assert_int_equal(g.events[0].windows, SP_GUARD_MOST_WINDOWS);
	probe.kernel_ns[0] = 20 * MS; /* too much: 12.5 are allowed, and half of them left for more */
	for (n = 0; n < 100; n++)
		assert_int_equal(sp_guard_decide(&g, n % 8 ? &quiet : &probe).act, SP_GUARD_STAYS);
	probe.kernel_ns[0] = MS;
	for (n = 0; n < 100 && step.act != SP_GUARD_ATTACHES; n++)
		step = sp_guard_decide(&g, n % 8 ? &quiet : &probe);
	assert_int_equal(step.act, SP_GUARD_ATTACHES);
	assert_int_equal(n, 8 * (SP_GUARD_TRIALS - 1) + 1);
	assert_false(g.events[0].is_detached);
	assert_int_equal(g.events[0].n_detached, 1);
	assert_int_equal(step.one_in, SP_GUARD_MOST);
	for (n = 0; n < 200 && (g.events[0].windows > 1 || g.events[0].one_in > 1); n++)
		look(&g, MS, 0, 0);
	assert_int_equal(g.events[0].windows * g.events[0].one_in, 1);
}

/* What would be wrong with a gap in it is neither thinned nor attached again. */
static void final_stays_detached(void **state)
{
	struct sp_guard g = guard_of(1);
	struct sp_guard_use cheap = {.ns = 250 * MS, .kernel_ns = {MS}};
	int n = 0;

	g.events[0].no_thin = g.events[0].is_final = true;
	while (n++ < 100 && look(&g, 250 * MS, 0, 0).act == SP_GUARD_STAYS)
		;
	assert_int_equal(n, SP_GUARD_PATIENCE);
	assert_true(g.events[0].is_detached);
	assert_int_equal(g.events[0].most * g.events[0].most_windows, 1);
	for (n = 0; n < 100; n++)
		assert_int_equal(sp_guard_decide(&g, &cheap).act, SP_GUARD_STAYS);
}

/* Events that have a rate are none of its business. */
static void rates_are_left_alone(void **state)
{
	struct sp_guard g = {.percent = 5, .events = {{.one_in = 1, .most = 1, .windows = 1}}};

	for (int i = 0; i < 100; i++)
		assert_int_equal(look(&g, 250 * MS, 0, 0).act, SP_GUARD_STAYS);
	assert_int_equal(g.events[0].one_in, 1);
}

/* As many as a second's budget pays for, but some always. */
static void cap_is_a_second(void **state)
{
	assert_in_range(sp_guard_cap(5, 5000), 10000, 11000);
	assert_in_range(sp_guard_cap(10, 5000), 20000, 22000);
	assert_int_equal(sp_guard_cap(1, 1000000000), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calm_is_left_alone),   cmocka_unit_test(costs_of_hits_lead_to_windows),
	    cmocka_unit_test(storm_is_thinned),     cmocka_unit_test(slow_rise),
	    cmocka_unit_test(storm_ends),           cmocka_unit_test(costliest_first),
	    cmocka_unit_test(hopeless_is_detached), cmocka_unit_test(windows_come_second),
	    cmocka_unit_test(comes_back),           cmocka_unit_test(rates_are_left_alone),
	    cmocka_unit_test(cap_is_a_second),      cmocka_unit_test(final_stays_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
