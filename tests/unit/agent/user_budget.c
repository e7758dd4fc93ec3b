/* SPDX-License-Identifier: GPL-2.0-or-later */
/* user_budget.c: hours of users with made-up files and costs: what each may have, and what that leaves to others. */
#include "agent/daemon/user_budget.h"
#include "base/time.h"
#include "test.h"

enum { ONE_PERCENT = 10000, HE = 12345, SHE = 12346 };
#define MS (SP_NS_PER_S / 1000)

static struct sp_user_budget b;
static uint64_t now_ns, spent_ns;

static void begin(uint64_t ppm)
{
	b = (struct sp_user_budget){0};
	now_ns = 777 * SP_NS_PER_S;
	spent_ns = 0;
	sp_user_budget_limit(&b, ppm);
}

static bool look(uid_t uid, uint64_t cost_ns)
{
	if (!sp_user_budget_may_look(&b, uid, now_ns))
		return false;
	sp_user_budget_looked(&b, uid, now_ns, cost_ns);
	spent_ns += cost_ns;
	return true;
}

/* A thousand new files a second, 2 ms each: two CPUs. */
static void attack(unsigned seconds, uid_t uid, unsigned n_users)
{
	for (unsigned i = 0; i < 1000 * seconds; i++) {
		now_ns += MS;
		look(uid + i % n_users, 2 * MS);
	}
}

static void test_one_user(void **state)
{
	begin(ONE_PERCENT);
	attack(3600, HE, 1);
	/* a quarter of a minute of 1 % at once, and a sixteenth of 1 % */
	assert_in_range(spent_ns, 2 * SP_NS_PER_S, 150 * MS + 2250 * MS + 2 * MS);
	assert_true(look(SHE, MS));
	assert_true(look(0, MS));
	assert_true(sp_user_budget_most_refused(&b)->uid == HE);
	assert_int_equal(sp_user_budget_most_refused(&b)->n_refused, b.n_refused);
	assert_true(b.n_refused > 3500000);
	assert_true(sp_user_budget_tell(&b)->uid == HE);
	assert_null(sp_user_budget_tell(&b));
}

/* One who has the numbers of a whole container: all of them have an eighth, and root has his own. */
static void test_many_numbers(void **state)
{
	begin(ONE_PERCENT);
	attack(3600, 100000, 65536);
	assert_true(spent_ns <= 300 * MS + 4500 * MS + 10 * MS);
	assert_true(look(0, MS));
	now_ns += 60 * SP_NS_PER_S;
	assert_true(look(SHE, MS));
}

/* What waits counts: with what a file is thought to cost, then with what it costs. */
static void test_queue(void **state)
{
	unsigned n = 0;

	begin(ONE_PERCENT);
	while (sp_user_budget_may_look(&b, HE, now_ns))
		n++;
	assert_int_equal(n, SP_USER_MAX_LOOKS);
	assert_false(sp_user_budget_is_over(&b, HE, now_ns)); /* it is full, not used up */
	for (unsigned i = 0; i < 4; i++)
		sp_user_budget_looked(&b, HE, now_ns, 200 * MS);
	assert_true(sp_user_budget_is_over(&b, HE, now_ns));
	for (unsigned i = 4; i < n; i++)
		sp_user_budget_taken_back(&b, HE, now_ns);
	assert_int_equal(b.n_refused, n - 4 + 1);
	assert_int_equal(b.users[0].n_open, 0);
}

/* The largest debt is paid after an hour, in which others are served. */
static void test_debt(void **state)
{
	begin(ONE_PERCENT);
	assert_true(look(HE, 3600 * SP_NS_PER_S));
	sp_user_budget_parsed(&b, HE, now_ns, 3600 * SP_NS_PER_S);
	now_ns += 3599 * SP_NS_PER_S;
	assert_false(look(HE, MS));
	assert_false(sp_user_budget_may_parse(&b, HE, now_ns));
	assert_true(sp_user_budget_may_parse(&b, SHE, now_ns));
	assert_true(sp_user_budget_may_parse(&b, 0, now_ns));
	now_ns += 2 * SP_NS_PER_S;
	assert_true(look(HE, MS));
	assert_true(sp_user_budget_may_parse(&b, HE, now_ns));
}

static void test_no_limit(void **state)
{
	begin(0);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(look(HE, SP_NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_user), cmocka_unit_test(test_many_numbers), cmocka_unit_test(test_queue),
	    cmocka_unit_test(test_debt),     cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
