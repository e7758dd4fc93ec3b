/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Large tables that were evicted: loaded again after some drains in a session that lasts, else in the next one. */
#include "base/mem.h"
#include "capture/priv.h"
#include "test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGE = 1, SMALL, N_FILES, BUDGET = 8 << 20, AT_ONCE = 6 };

static volatile sp_u32 drain;
static unsigned n_asked; /* whether a table may be built, which is what a load comes to here */

static bool is_over(void *arg, uint32_t uid)
{
	(void)arg, (void)uid;
	return false;
}

static bool may_build(void *arg, uint32_t uid, unsigned n_drains, uint64_t bytes)
{
	(void)arg, (void)uid, (void)n_drains, (void)bytes;
	n_asked++;
	return false;
}

static const struct sp_capture_users users = {.is_over = is_over, .may_build = may_build};

/* Two files whose tables were loaded in drain 1 and evicted since. */
static struct sp_capture *begin(const struct sp_capture_users *of)
{
	struct sp_capture *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->o.max_memory_bytes = BUDGET;
	c->o.users = of;
	c->shared.drain = &drain;
	c->n_seen = c->n_known = N_FILES;
	c->seen = calloc(N_FILES, sizeof(*c->seen));
	c->known = calloc(N_FILES, sizeof(*c->known));
	assert_true(c->seen && c->known);
	assert_int_equal(sp_tables_new(NULL, -1, BUDGET, &c->tables), 0);
	for (uint32_t i = 1; i < N_FILES; i++) {
		c->seen[i] = (struct sp_seen_file){.number = i, .state = SP_SEEN_DONE, .loaded = 1};
		c->known[i].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		c->known[i].table_bytes = i == LARGE ? BUDGET / 2 : BUDGET / 64;
		assert_int_equal(sp_tables_state(c->tables, i), SP_TABLE_ABSENT);
	}
	n_asked = 0;
	drain = 1;
	return c;
}

static void end(struct sp_capture *c)
{
	for (uint32_t i = 1; i < N_FILES; i++)
		sp_known_file_done(&c->known[i]);
	sp_tables_free(c->tables);
	free(c->known);
	free(c->seen);
	free(c);
}

static unsigned asked_in_next_drain(struct sp_capture *c, uint32_t id)
{
	unsigned before = n_asked;

	sp_files_begin_drain(c, ++drain);
	sp_files_want(c, id);
	return n_asked - before;
}

static void a_large_table_waits(void **state)
{
	struct sp_capture *c = begin(&users);

	while (drain < AT_ONCE)
		assert_int_equal(asked_in_next_drain(c, LARGE), 0);
	assert_int_equal(c->n_crowded, 1);
	assert_int_equal(c->stats.n_later, 0); /* it is not told as what CPU time lacks for */
	assert_int_equal(sp_tables_state(c->tables, LARGE), SP_TABLE_FP);
	assert_int_equal(asked_in_next_drain(c, LARGE), 1);
	assert_int_equal(c->n_crowded, 0);
	assert_int_equal(c->stats.n_later, 1);
	end(c);
}

static void a_small_one_does_not(void **state)
{
	struct sp_capture *c = begin(&users);

	assert_int_equal(asked_in_next_drain(c, SMALL), 1);
	assert_int_equal(c->n_crowded, 0);
	end(c);
}

/* One that ends soon would lose what it is for. Its tables are built without asking: a descriptor is what it lacks. */
static void nor_in_a_short_session(void **state)
{
	struct sp_capture *c = begin(NULL);

	sp_known_file_done(&c->known[LARGE]);
	c->known[LARGE].fd = -1;
	drain = 2;
	assert_false(sp_files_is_crowded(c, LARGE));
	sp_files_want(c, LARGE);
	assert_int_equal(c->n_crowded, 0);
	assert_int_equal(c->seen[LARGE].state, SP_SEEN_DONE);
	end(c);
}

static void nothing_waits_for_what_is_gone(void **state)
{
	struct sp_capture *c = begin(&users);

	assert_int_equal(asked_in_next_drain(c, LARGE), 0);
	assert_int_equal(c->n_crowded, 1);
	sp_files_not_later(c, LARGE);
	assert_int_equal(c->n_crowded, 0);
	assert_int_equal(c->stats.n_later, 0);
	end(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_large_table_waits),
	    cmocka_unit_test(a_small_one_does_not),
	    cmocka_unit_test(nor_in_a_short_session),
	    cmocka_unit_test(nothing_waits_for_what_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
