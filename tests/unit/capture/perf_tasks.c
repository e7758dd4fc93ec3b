/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model of processes and their mappings: what fork, exec, mmap and exit do to it; against a map of single bytes
 * that knows nothing of intervals.
 */
#include "capture/perf/perf_tasks.h"
#include "base/mem.h"
#include "capture/perf/perf_space.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static uint32_t object_at(const struct sp_space *s, uint64_t addr)
{
	const struct sp_map *m = sp_space_find(s, addr);

	return m ? s->objects[m - s->maps] : 0;
}

static void map(struct sp_task_process *p, uint64_t start, uint64_t end, uint32_t object)
{
	assert_int_equal(sp_space_own(&p->space), 0);
	assert_int_equal(sp_space_map(p->space, start, end, -start, object), 0);
}

/* Mappings over, beside, inside and across others, at random, as the bytes say. */
static void mappings(void **state)
{
	enum { BYTES = 200, ROUNDS = 4000 };
	uint32_t bytes[BYTES] = {0}, object;
	struct sp_space *s = sp_space_new();
	size_t i, round;

	srandom(1);
	assert_non_null(s);
	for (round = 1; round <= ROUNDS; round++) {
		uint64_t start = (uint64_t)random() % BYTES, end = start + (uint64_t)random() % (BYTES - start + 1);

		object = (uint32_t)round;
		assert_int_equal(sp_space_map(s, start, end, 0, object), 0);
		for (i = start; i < end; i++)
			bytes[i] = object;
		for (i = 0; i < BYTES; i++)
			assert_int_equal(object_at(s, i), bytes[i]);
		for (i = 1; i < s->n; i++)
			assert_true(s->maps[i - 1].end <= s->maps[i].start && s->maps[i].start < s->maps[i].end);
	}
	sp_space_put(s);
}

static void too_many_mappings(void **state)
{
	struct sp_space *s = sp_space_new();
	uint64_t i;

	assert_non_null(s);
	for (i = 0; i < SP_SPACE_MAX + 10ULL; i++)
		assert_int_equal(sp_space_map(s, i * 8192, i * 8192 + 4096, 0, 1), 0);
	assert_int_equal(s->n, SP_SPACE_MAX);
	assert_int_equal(s->n_left_out, 10);
	sp_space_put(s);
}

static void forks_share(void **state)
{
	struct sp_tasks t = {0};
	struct sp_task_process *parent, *child;

	parent = sp_tasks_add(&t, 10, 10, 1)->process;
	map(parent, 0x1000, 0x2000, 1);
	assert_int_equal(sp_tasks_comm(&t, 10, 10, "parent", false, 1), 0);
	assert_int_equal(sp_tasks_fork(&t, 20, 20, 10, 10, 2), 0);
	child = sp_tasks_process(&t, 20);
	assert_ptr_equal(child->space, parent->space);
	assert_string_equal(child->comm, "parent");
	map(child, 0x1800, 0x3000, 2);
	assert_ptr_not_equal(child->space, parent->space);
	assert_int_equal(object_at(parent->space, 0x1900), 1);
	assert_int_equal(object_at(child->space, 0x1900), 2);
	assert_int_equal(object_at(child->space, 0x1000), 1);
	/* the child may outlive the parent, and the other way round */
	sp_tasks_exit(&t, 10, 10);
	assert_null(sp_tasks_process(&t, 10));
	assert_int_equal(object_at(child->space, 0x1000), 1);
	sp_tasks_done(&t);
	assert_int_equal(t.n_threads, 0);
}

static void exec_begins_anew(void **state)
{
	struct sp_tasks t = {0};
	struct sp_task_process *p = sp_tasks_add(&t, 10, 10, 1)->process;
	struct sp_space *before;

	map(p, 0x1000, 0x2000, 1);
	p->record = 5;
	before = sp_space_get(p->space); /* a sample that waits */
	assert_int_equal(sp_tasks_comm(&t, 10, 10, "program", true, 2), 0);
	assert_int_equal(p->exec_id, 1);
	assert_int_equal(p->record, 0);
	assert_int_equal(p->space->n, 0);
	assert_int_equal(object_at(before, 0x1000), 1);
	assert_string_equal(p->comm, "program");
	sp_space_put(before);
	sp_tasks_done(&t);
}

static void threads(void **state)
{
	struct sp_tasks t = {0};

	sp_tasks_add(&t, 10, 10, 1);
	assert_int_equal(sp_tasks_comm(&t, 10, 10, "main", false, 1), 0);
	assert_int_equal(sp_tasks_fork(&t, 10, 11, 10, 10, 2), 0);
	assert_string_equal(sp_tasks_thread(&t, 11)->comm, "main");
	assert_int_equal(sp_tasks_comm(&t, 10, 11, "worker", false, 3), 0);
	assert_string_equal(sp_tasks_thread(&t, 11)->comm, "worker");
	assert_string_equal(sp_tasks_process(&t, 10)->comm, "main");
	sp_tasks_exit(&t, 10, 10); /* the leader first */
	assert_non_null(sp_tasks_process(&t, 10));
	sp_tasks_exit(&t, 10, 11);
	assert_null(sp_tasks_process(&t, 10));
	sp_tasks_exit(&t, 10, 11); /* said twice */
	sp_tasks_done(&t);
}

/* Its end was lost: the number begins again, with nothing of the old one. */
static void number_used_again(void **state)
{
	struct sp_tasks t = {0};

	map(sp_tasks_add(&t, 10, 10, 1)->process, 0x1000, 0x2000, 1);
	map(sp_tasks_add(&t, 20, 20, 1)->process, 0x5000, 0x6000, 2);
	sp_tasks_add(&t, 20, 21, 1);
	assert_int_equal(sp_tasks_fork(&t, 20, 20, 10, 10, 9), 0);
	assert_int_equal(sp_tasks_process(&t, 20)->start_ns, 9);
	assert_int_equal(object_at(sp_tasks_process(&t, 20)->space, 0x5000), 0);
	assert_int_equal(object_at(sp_tasks_process(&t, 20)->space, 0x1000), 1);
	assert_null(sp_tasks_thread(&t, 21));
	/* a thread's number becomes another process's */
	sp_tasks_add(&t, 10, 30, 1);
	assert_int_equal(sp_tasks_add(&t, 30, 30, 5)->process->pid, 30);
	sp_tasks_done(&t);
	assert_int_equal(t.n_threads, 0);
}

static void strangers(void **state)
{
	struct sp_tasks t = {0};

	assert_int_equal(sp_tasks_fork(&t, 20, 20, 10, 10, 9), 0); /* of a parent that nobody knows */
	assert_int_equal(sp_tasks_process(&t, 20)->space->n, 0);
	sp_tasks_exit(&t, 99, 99);
	sp_tasks_exit(&t, 99, 20); /* another process's thread */
	assert_non_null(sp_tasks_thread(&t, 20));
	assert_int_equal(sp_tasks_fork(&t, 20, 20, 20, 20, 9), 0); /* of itself */
	sp_tasks_done(&t);
}

static void too_many_threads(void **state)
{
	struct sp_tasks t = {0};
	uint32_t i;

	for (i = 1; i <= SP_TASKS_MAX; i++)
		assert_non_null(sp_tasks_add(&t, 1, i, 0));
	assert_null(sp_tasks_add(&t, 1, i, 0));
	assert_int_equal(sp_tasks_fork(&t, 1, i, 1, 1, 0), 0);
	assert_int_equal(t.n_refused, 2);
	sp_tasks_exit(&t, 1, 7);
	assert_non_null(sp_tasks_add(&t, 1, i, 0));
	sp_tasks_done(&t);
}

int main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(mappings),    cmocka_unit_test(too_many_mappings),
	    cmocka_unit_test(forks_share), cmocka_unit_test(exec_begins_anew),
	    cmocka_unit_test(threads),     cmocka_unit_test(number_used_again),
	    cmocka_unit_test(strangers),   cmocka_unit_test(too_many_threads),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
