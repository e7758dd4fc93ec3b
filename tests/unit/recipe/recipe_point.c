/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The built-in recipes: their expressions compile, and want of any event what plain C says of it: the same events, the
 * same number in common, the same state.
 */
#include "evaluator.h"

#include "event/ops.h"
#include "numbers.h"

#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "recipe/recipe.h"
#include "recipe/recipe_point.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { N_EVENTS = 200000 / SP_FEWER, TASK_DEAD = 0x80 };

static size_t n_ops(const struct sp_front_slot *slot)
{
	size_t n = 0;

	while (n < SP_N_OPS && slot->ops[n].kind != SP_OP_END)
		n++;
	return n;
}

/* Each of them, with room for the narrowing of waits. */
static void all_compile(void **state)
{
	for (size_t i = 0; sp_recipe_at(i); i++)
		for (size_t k = 0; k < SP_MAX_POINTS && sp_recipe_at(i)->points[k].at; k++) {
			struct sp_recipe_point point = sp_recipe_at(i)->points[k];
			int r = point.at == SP_AT_RAW ? sp_recipe_point_compile(&point, NULL) : 0;

			if (r)
				fail_msg("%s: %s", sp_recipe_at(i)->name, sp_error_text(r));
			assert_memory_equal(&point, &sp_recipe_at(i)->points[k], sizeof(point));
			if (point.at == SP_AT_RAW)
				assert_in_range(n_ops(&point.slot), 1, SP_N_OPS - 3);
		}
}

/* As few as were written by hand: 12 for off-CPU time, 22 for locks. */
static void are_short(void **state)
{
	assert_in_range(n_ops(&sp_recipe_find("offcpu")->points[2].slot), 1, 12);
	assert_in_range(n_ops(&sp_recipe_find("wall")->points[3].slot), 1, 12);
	assert_in_range(n_ops(&sp_recipe_find("locks")->points[2].slot), 1, 22);
	for (size_t k = 0; k < 4; k += 3) {
		assert_int_equal(n_ops(&sp_recipe_find("offcpu")->points[k].slot), 1);
		assert_int_equal(n_ops(&sp_recipe_find("locks")->points[k].slot), 1);
	}
	assert_int_equal(sp_recipe_find("offcpu")->points[2].slot.n_arguments, 4);
	assert_int_equal(sp_recipe_find("offcpu")->points[0].slot.n_arguments, 3);
	assert_int_equal(sp_recipe_find("offcpu")->points[3].slot.n_arguments, 1);
}

struct switched {
	bool preempt;
	sp_u64 prev, next;
	sp_u32 prev_state, tid;
	long call, futex_command;
};

static struct switched switched_make(struct sp_op_env *env)
{
	static const sp_u32 states[] = {0, 1, 2, 4, 8, 0x40, TASK_DEAD, 0x402, 0x2001, 0x1002};
	uint64_t n = random_number();
	struct switched s = {.preempt = n & 1,
			     .prev = odd_number(),
			     .next = odd_number(),
			     .prev_state = n & 2 ? states[(n >> 8) % SP_COUNT(states)] : (sp_u32)(n >> 32),
			     .tid = n & 12 ? (sp_u32)(n >> 40) : 0,
			     .call = n & 16 ? SYS_futex : (long)(n >> 24 & 511) - 1,
			     .futex_command = n & 32 ? (long)(n >> 48 & 511) : (long)odd_number()};

	*env = (struct sp_op_env){.argument = {s.preempt, s.prev, s.next, s.prev_state}};
	env->builtin[SP_BUILTIN_TID] = s.tid;
	env->builtin[SP_BUILTIN_CALL] = (sp_u64)s.call;
	env->builtin[SP_BUILTIN_CALL_ARGUMENT + 1] = (sp_u64)s.futex_command;
	return s;
}

static bool is_lock(const struct switched *s)
{
	long command = s->futex_command & 127;

	return s->call == SYS_futex && !s->preempt && s->prev_state & 3 &&
	       (command == 0 || command == 6 || command == 9 || command == 11 || command == 13);
}

/* narrowed: only waits of this state. */
static void compare(const struct sp_recipe_point *point, const struct switched *s, struct sp_op_env *env,
		    bool is_wanted)
{
	sp_u64 r[SP_N_OP_REGS] = {0}, plain[SP_N_OP_REGS] = {0};
	sp_u32 bits = s->preempt ? 0 : s->prev_state & 0xf;

	assert_int_equal(sp_ops_run(env, point->slot.ops, r), is_wanted);
	assert_int_equal(plain_run(env, point->slot.ops, plain), is_wanted);
	if (!is_wanted)
		return;
	assert_int_equal(r[point->slot.match], s->prev);
	assert_int_equal(sp_task_state_of(r[point->slot.state]), sp_task_state_of(bits));
}

static void waits(void **state)
{
	struct sp_recipe_set narrowed[2];
	unsigned n = 0;

	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(sp_recipe_set_parse("offcpu,locks", &narrowed[k]), 0);
		assert_int_equal(
		    sp_recipe_set_waits(&narrowed[k], &(struct sp_waits){.by_state = true, .state = k * 2}), 0);
	}
	for (unsigned i = 0; i < N_EVENTS; i++) {
		struct sp_op_env env;
		struct switched s = switched_make(&env);
		bool is_wait = s.tid && !(s.prev_state & TASK_DEAD);
		bool has_state[2] = {s.preempt || !s.prev_state, !s.preempt && s.prev_state & 2};
		sp_u64 r[SP_N_OP_REGS] = {0};

		compare(&sp_recipe_find("offcpu")->points[2], &s, &env, is_wait);
		compare(&sp_recipe_find("wall")->points[3], &s, &env, is_wait);
		compare(&sp_recipe_find("locks")->points[2], &s, &env, is_lock(&s));
		for (unsigned k = 0; k < 2; k++) {
			compare(&narrowed[k].recipes[0]->points[2], &s, &env, is_wait && has_state[k]);
			compare(&narrowed[k].recipes[1]->points[2], &s, &env, is_lock(&s) && has_state[k]);
		}
		n += is_lock(&s);
		assert_int_equal(sp_ops_run(&env, sp_recipe_find("locks")->points[0].slot.ops, r), 1);
		assert_int_equal(r[sp_recipe_find("locks")->points[0].slot.match], s.next);
	}
	assert_in_range(n, N_EVENTS / 500, N_EVENTS / 2);
	sp_recipe_set_done(&narrowed[0]);
	sp_recipe_set_done(&narrowed[1]);
}

/* What is wrong in an expression is told as it is to a user. */
static void mistakes(void **state)
{
	struct sp_recipe_point point = {.where = "made_up", .arguments = "int a, char *b"};

	point.filter = "c > 1";
	assert_true(sp_recipe_point_compile(&point, NULL) < 0);
	assert_string_equal(sp_error_text(-EINVAL), "made_up has no field 'c'; it has a, b");
	point.filter = "a < 0 && b != 0";
	assert_int_equal(sp_recipe_point_compile(&point, "a >"), -EINVAL);
	assert_int_equal(sp_recipe_point_compile(&point, "a > -5"), 0);
	assert_int_equal(point.slot.match, SP_NO_REG);
	point.arguments = "nonsense";
	assert_int_equal(sp_recipe_point_compile(&point, NULL), -EINVAL);
	sp_error_clear();
}

/* Of the two ways of a wait a session has one. */
static void roles_are_of_one_way(void **state)
{
	const struct {
		sp_u32 role;
		int by_episodes, by_stamps; /* what it becomes; -1: it has no part */
	} roles[] = {{SP_ROLE_EVENT, SP_ROLE_EVENT, SP_ROLE_EVENT},
		     {SP_ROLE_BEGIN, SP_ROLE_BEGIN, SP_ROLE_LEAVE},
		     {SP_ROLE_END, SP_ROLE_END, -1},
		     {SP_ROLE_FORGET, SP_ROLE_FORGET, -1},
		     {SP_ROLE_WAKER, SP_ROLE_WAKER, SP_ROLE_WAKER},
		     {SP_ROLE_RETURN, -1, SP_ROLE_RETURN}};

	for (size_t i = 0; i < SP_COUNT(roles); i++) {
		sp_u32 by_episodes = roles[i].role, by_stamps = roles[i].role;

		assert_int_equal(sp_role_choose(false, &by_episodes) ? (int)by_episodes : -1, roles[i].by_episodes);
		assert_int_equal(sp_role_choose(true, &by_stamps) ? (int)by_stamps : -1, roles[i].by_stamps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_compile),
	    cmocka_unit_test(are_short),
	    cmocka_unit_test(waits),
	    cmocka_unit_test(mistakes),
	    cmocka_unit_test(roles_are_of_one_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
