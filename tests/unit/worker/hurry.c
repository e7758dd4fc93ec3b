/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which parsers are given what was asked of them. */
#include "base/mem.h"
#include "tool.h"
#include "worker/priv.h"
#include <fcntl.h>

static unsigned order[8], n_order;

static void built_in_order(void *arg, int r, struct sp_blob *blob)
{
	assert_int_equal(r, 0);
	order[n_order++] = *(unsigned *)arg;
	free(blob);
}

static void identified_in_order(void *arg, struct sp_identify_result *id)
{
	assert_int_equal(id->r, 0);
	order[n_order++] = *(unsigned *)arg;
	free(id->soname);
}

/*
 * One parser is given one table to build at a time. Before the next it is asked what a file is, which no table can be
 * built without; then comes what is wanted most.
 */
static void test_hurry(void **state)
{
	static unsigned numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
	const unsigned expected[] = {1, 7, 8, 6, 5, 2, 3, 4};
	struct sp_workers *w;
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &w), 0);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	n_order = 0;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(sp_workers_build(w, fd, built_in_order, &numbers[i]), 0);
	for (size_t i = 6; i < 8; i++)
		assert_int_equal(sp_workers_identify(w, fd, identified_in_order, &numbers[i]), 0);
	sp_workers_hurry(w, &numbers[4], 2);
	sp_workers_hurry(w, &numbers[5], 1);
	sp_workers_hurry(w, &numbers[5], 3);
	sp_workers_hurry(w, &numbers[4], 1); /* it is more urgent than that */
	sp_workers_hurry(w, &numbers[0], 4); /* it is with the parser already */
	sp_workers_hurry(w, &n_order, 5);    /* nobody has asked for that */
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(n_order, SP_COUNT(expected));
	assert_memory_equal(order, expected, sizeof(expected));
	close(fd);
	sp_workers_free(w);
}

/*
 * Of three parsers one is given a table that nobody waits for, one that samples wait for, and one what takes little: so
 * that each of these is given at once.
 */
static void test_some_stay_free(void **state)
{
	static unsigned numbers[] = {1, 2, 3, 4, 5};
	struct sp_workers *w;
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 3}, &w), 0);
	const struct sp_job_list *queue = &w->pools[SP_ROLE_PARSER].queue;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	n_order = 0;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(sp_workers_build(w, fd, built_in_order, &numbers[i]), 0);
	assert_int_equal(queue->n, 3);
	sp_workers_hurry(w, &numbers[2], 1);
	sp_workers_hurry(w, &numbers[3], 2);
	sp_pool_pump(w, SP_ROLE_PARSER);
	assert_int_equal(queue->n, 2);
	assert_int_equal(sp_workers_identify(w, fd, identified_in_order, &numbers[4]), 0);
	assert_int_equal(queue->n, 2);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(n_order, SP_COUNT(numbers));
	close(fd);
	sp_workers_free(w);
}

static struct sp_workers *asked;
static uint64_t told_ns;

static void built_or_not(void *arg, int r, struct sp_blob *blob)
{
	*(int *)arg = r;
	told_ns += sp_workers_called_ns(asked);
	free(blob);
}

/* What is taken back is answered, too, unless a parser has it already; and the times of jobs add up to the parser's. */
static void test_taken_back(void **state)
{
	int results[] = {1, 1, 1, 1};
	struct sp_workers_stats stats;
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &asked), 0);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	told_ns = 0;
	for (size_t i = 0; i < SP_COUNT(results); i++)
		assert_int_equal(sp_workers_build(asked, fd, built_or_not, &results[i]), 0);
	sp_workers_cancel(asked, &results[0]);
	sp_workers_cancel(asked, &results[1]);
	sp_workers_cancel(asked, &results[3]);
	sp_workers_cancel(asked, &told_ns); /* nobody has asked for that */
	assert_int_equal(sp_workers_wait(asked, 60000), 0);
	const int expected[] = {0, -ECANCELED, 0, -ECANCELED};
	assert_memory_equal(results, expected, sizeof(expected));
	sp_workers_stats(asked, &stats);
	assert_true(told_ns > 0);
	assert_true(told_ns <= stats.parsers_ns);
	close(fd);
	sp_workers_free(asked);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {CLEAN_TEST(test_hurry), CLEAN_TEST(test_some_stay_free),
					   CLEAN_TEST(test_taken_back)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
