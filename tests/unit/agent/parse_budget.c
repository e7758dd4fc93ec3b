/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse_budget.c: hours of an agent with made-up files and costs: what it spends, and which files are parsed. */
#include "agent/daemon/parse_budget.h"
#include "base/time.h"
#include "test.h"

enum { ONE_PERCENT = 10000, MAX_S = 6 * 3600 };
#define MS (SP_NS_PER_S / 1000)
#define WHOLE (SP_PARSE_BUDGET_S * SP_NS_PER_S / 100)

struct agent {
	struct sp_parse_budget p;
	uint64_t began_ns, now_ns, cpu_ns, n_small, n_large, n_slots;
	uint64_t used_ns[MAX_S]; /* cpu_ns at each second */
};
static struct agent agent;

static struct agent *agent_new(uint64_t ppm)
{
	agent = (struct agent){.began_ns = 777 * SP_NS_PER_S, .now_ns = 777 * SP_NS_PER_S, .cpu_ns = 5 * SP_NS_PER_S};
	sp_parse_budget_init(&agent.p, ppm, agent.now_ns, agent.cpu_ns);
	return &agent;
}

static bool ask(struct agent *a, uint64_t n_samples, uint64_t bytes)
{
	bool may, is_of_slot = sp_parse_budget_is_of_slot(&a->p, a->now_ns);
	int64_t left_ns = a->p.left_ns;

	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns);
	assert_true(sp_parse_budget_is_of_slot(&a->p, a->now_ns));
	assert_true(!is_of_slot || a->p.left_ns <= left_ns); /* so who was refused need not ask again */
	a->n_slots += !is_of_slot;
	may = sp_parse_budget_allows(&a->p, n_samples, bytes);
	if (may)
		sp_parse_budget_ask(&a->p, bytes);
	return may;
}

static bool parse(struct agent *a, uint64_t n_samples, uint64_t cost_ns)
{
	bool may = ask(a, n_samples, 1 << 20);

	a->cpu_ns += may ? cost_ns : 0;
	return may;
}

/* A second: the cost of sampling, n_new new files with one sample each, and sometimes one with a hundred. */
static void second(struct agent *a, unsigned n_new, uint64_t cost_ns)
{
	a->used_ns[(a->now_ns - a->began_ns) / SP_NS_PER_S] = a->cpu_ns;
	a->now_ns += SP_NS_PER_S;
	a->cpu_ns += 2 * MS;
	for (unsigned i = 0; i < n_new; i++)
		a->n_small += parse(a, 1, cost_ns);
	if (a->now_ns / SP_NS_PER_S % 100 == 0)
		a->n_large += parse(a, 100, cost_ns);
}

/* In the five minutes up to now. */
static uint64_t used_ns(const struct agent *a)
{
	uint64_t s = (a->now_ns - a->began_ns) / SP_NS_PER_S;

	return a->cpu_ns - a->used_ns[s > SP_PARSE_BUDGET_S ? s - SP_PARSE_BUDGET_S : 0];
}

/* Twenty new programs a second, 10 ms each: a fifth of a CPU. */
static void test_storm(void **state)
{
	struct agent *a = agent_new(ONE_PERCENT);

	for (int i = 1; i < MAX_S; i++) {
		second(a, 20, 10 * MS);
		assert_true(used_ns(a) <= WHOLE + 20 * MS);
	}
	assert_int_equal(a->n_large, 6 * 36);
	assert_int_equal(a->n_slots, (MAX_S - 1) / SP_PARSE_SLOT_S);
	/* the upper half of what sampling leaves, since each has one sample only */
	assert_in_range(a->n_small, (MAX_S / SP_PARSE_BUDGET_S - 1) * 40, MAX_S / SP_PARSE_BUDGET_S * 120);
}

static void test_begins_full(void **state)
{
	struct agent *a = agent_new(ONE_PERCENT);
	unsigned n = 0;

	while (parse(a, 1, 10 * MS))
		n++;
	assert_in_range(n, 37, 38); /* from five eighths, since three are kept, to a half of 3 s */
	while (parse(a, 4, 10 * MS))
		n++;
	while (parse(a, 16, 10 * MS))
		n++;
	assert_in_range(n, 149, 151); /* to an eighth */
	assert_false(parse(a, 63, MS));
	assert_true(parse(a, 64, 10 * SP_NS_PER_S)); /* a file that takes all of it and more */
	assert_false(parse(a, 1000000, MS));
	a->now_ns += SP_PARSE_BUDGET_S * SP_NS_PER_S;
	assert_false(parse(a, 1000000, MS));
	a->now_ns += SP_PARSE_SLOT_S * SP_NS_PER_S;
	assert_true(parse(a, 1000000, MS));
}

/* Many that come at once: what was allowed counts before it has cost anything. What never costs anything is forgotten.
 */
static void test_at_once(void **state)
{
	struct agent *a = agent_new(ONE_PERCENT);
	int64_t left;
	unsigned n = 0;

	while (ask(a, 1000, 10 << 20))
		n++;
	assert_in_range(n, 21, 23); /* 85 ms each are expected of 1.9 s */
	left = a->p.left_ns;
	a->cpu_ns += 500 * MS; /* of what was expected */
	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns);
	assert_int_equal(a->p.left_ns, left);
	assert_false(ask(a, 1000, 10 << 20));
	a->now_ns += 60 * SP_NS_PER_S;
	assert_true(ask(a, 1000, 10 << 20));
}

static void test_large(void **state)
{
	struct agent *a = agent_new(ONE_PERCENT);

	a->cpu_ns += 1000 * MS;
	assert_false(ask(a, 1000, UINT64_MAX)); /* less than a half is left */
	assert_true(ask(a, 1000, 1 << 20));
	a->now_ns += (SP_PARSE_BUDGET_S + SP_PARSE_SLOT_S) * SP_NS_PER_S;
	assert_true(ask(a, 1000, UINT64_MAX));
	assert_false(ask(a, 1000, UINT64_MAX));
}

/* Nothing is saved up, and a CPU clock that goes back returns nothing. */
static void test_no_more_than_full(void **state)
{
	struct agent *a = agent_new(ONE_PERCENT);

	a->now_ns += 3600 * SP_NS_PER_S;
	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns - 100 * MS);
	assert_int_equal(a->p.left_ns, WHOLE / 8 * 7);
	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns + 100 * MS);
	assert_int_equal(a->p.left_ns, WHOLE / 8 * 7 - 100 * MS);
	a->now_ns -= 60 * SP_NS_PER_S;
	sp_parse_budget_update(&a->p, a->now_ns, a->cpu_ns);
	assert_int_equal(a->p.left_ns, WHOLE / 8 * 7 - 100 * MS);
}

static void test_no_limit(void **state)
{
	struct agent *a = agent_new(0);

	for (int i = 0; i < 1000; i++)
		assert_true(parse(a, 1, SP_NS_PER_S));
}

/* One file may not take what is there for all, nor be given up before a second. */
static void test_longest(void **state)
{
	assert_int_equal(sp_parse_budget_longest_ms(10000), 2000);
	assert_int_equal(sp_parse_budget_longest_ms(1000), 1000);
	assert_int_equal(sp_parse_budget_longest_ms(100000), 10000);
	assert_int_equal(sp_parse_budget_longest_ms(0), 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_storm),    cmocka_unit_test(test_begins_full),
	    cmocka_unit_test(test_at_once),  cmocka_unit_test(test_longest),
	    cmocka_unit_test(test_large),    cmocka_unit_test(test_no_more_than_full),
	    cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
