/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakers: their stacks on top of the sleepers', once each, also where a stack comes last. */
#include "capture/wakers.h"
#include "capture/objects.h"
#include "made.h"

enum { WAKER = 0x55, USER = 70, KERNEL = 80, SLEEPER = 90 };

static struct made wakers_new(enum sp_wakers_how how)
{
	struct made m = made_new();

	m.c->o.wakers = how;
	m.c->o.kernel = true;
	assert_int_equal(sp_objects_open(m.c), 0);
	assert_int_equal(sp_wakers_open(m.c), 0);
	assert_int_equal(take_process(&m), 0);
	return m;
}

/* Frames are numbered from the leaf: of a kernel stack id * 100, id * 100 + 1 ... */
static int take_frames(struct made *m, uint64_t id, uint16_t n)
{
	struct {
		struct sp_message_stack head;
		sp_u64 frames[4];
	} r = {.head = {.type = SP_MESSAGE_STACK, .id = id, .n_frames = n, .stop = SP_STOP_COMPLETE}};

	for (uint16_t i = 0; i < n; i++)
		r.frames[i] = word(SP_FRAME_KERNEL, 0, id * 100 + i);
	return take(m, &r, sizeof(r.head) + 8UL * n);
}

static int take_waker(struct made *m, uint64_t id, uint64_t user, uint64_t kernel)
{
	struct sp_message_waker r = {.type = SP_MESSAGE_WAKER,
				     .id = id,
				     .process = process_key,
				     .comm = "rouser",
				     .user_stack = user,
				     .kernel_stack = kernel};

	return take(m, &r, sizeof(r));
}

static void keep(struct made *m, uint64_t waker, uint64_t user_stack)
{
	struct sp_count_key key = {.process = process_key,
				   .comm = "sleeper",
				   .waker = waker,
				   .user_stack = user_stack,
				   .kernel_stack = SLEEPER};

	assert_int_equal(sp_objects_keep(m->c, &key, &(struct sp_count){.n = 1, .weight = 10}), 0);
}

/* Words of a stack, leaf first: names, or the low digits of addresses. */
static void expect_stack(const struct made *m, uint32_t number, const char *want)
{
	struct sp_stack s = sp_profile_stack(m->p, number);
	char have[256] = "";

	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(m->p, s.frames[i]);
		const char *name = sp_profile_string(m->p, sp_profile_func(m->p, f->func)->name);
		size_t n = strlen(have);

		if (*name)
			snprintf(have + n, sizeof(have) - n, "%s%s", i ? " " : "", name);
		else
			snprintf(have + n, sizeof(have) - n, "%s%u", i ? " " : "", (unsigned)(f->offset & 0xffff));
	}
	assert_string_equal(have, want);
}

/* The sleeper's stack at the bottom, as it was; the waker's root and name at the top. */
static void stacks_are_joined(void **state)
{
	struct made m = wakers_new(SP_WAKERS_ABOVE);
	const struct sp_key *key;
	const struct sp_label *labels;
	size_t n;

	assert_int_equal(take_frames(&m, KERNEL, 2), 0);
	assert_int_equal(take_frames(&m, SLEEPER, 2), 0);
	assert_int_equal(take_waker(&m, WAKER, USER, KERNEL), 0);
	assert_int_equal(take_waker(&m, WAKER, USER, KERNEL), 0); /* it may come again */
	keep(&m, WAKER, 0);
	keep(&m, WAKER, 0);
	assert_int_equal(sp_profile_n_rows(m.p), 0);
	assert_int_equal(take_frames(&m, USER, 3), 0); /* after the rows that need it */
	assert_int_equal(sp_objects_finish(m.c), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 2);
	assert_int_equal(sp_profile_row(m.p, 0)->user, 0);
	expect_stack(&m, sp_profile_row(m.p, 0)->kernel, "rouser 7002 7001 7000 8001 8000 -- 9000 9001");
	key = sp_profile_key(m.p, sp_profile_row(m.p, 0)->key);
	assert_string_equal(sp_profile_string(m.p, key->comm), "sleeper");
	labels = sp_profile_labels(m.p, key->labels, &n);
	assert_int_equal(n, 1);
	assert_string_equal(sp_profile_string(m.p, labels[0].name), "waker");
	assert_string_equal(sp_profile_string(m.p, labels[0].word), "rouser");
	made_free(&m);
}

/* Where no kernel stacks are wanted the waker stands on the user's. */
static void user_stacks_are_joined(void **state)
{
	struct made m = wakers_new(SP_WAKERS_ABOVE);

	m.c->o.kernel = false;
	assert_int_equal(take_frames(&m, USER, 1), 0);
	assert_int_equal(take_frames(&m, SLEEPER, 1), 0);
	assert_int_equal(take_waker(&m, WAKER, USER, 0), 0);
	keep(&m, WAKER, USER);
	assert_int_equal(sp_objects_finish(m.c), 0);
	expect_stack(&m, sp_profile_row(m.p, 0)->user, "rouser 7000 -- 7000");
	expect_stack(&m, sp_profile_row(m.p, 0)->kernel, "9000");
	made_free(&m);
}

/* The row becomes the waker's, the sleeper's name its leaf. */
static void wakers_stand_alone(void **state)
{
	struct made m = wakers_new(SP_WAKERS_ALONE);

	assert_int_equal(take_frames(&m, USER, 2), 0);
	assert_int_equal(take_frames(&m, KERNEL, 2), 0);
	assert_int_equal(take_frames(&m, SLEEPER, 2), 0);
	assert_int_equal(take_waker(&m, WAKER, USER, KERNEL), 0);
	keep(&m, WAKER, 0);
	assert_int_equal(sp_objects_finish(m.c), 0);
	expect_stack(&m, sp_profile_row(m.p, 0)->user, "7000 7001");
	expect_stack(&m, sp_profile_row(m.p, 0)->kernel, "sleeper 8000 8001");
	assert_string_equal(sp_profile_string(m.p, sp_profile_key(m.p, sp_profile_row(m.p, 0)->key)->comm), "rouser");
	made_free(&m);
}

/* A waker that was never told changes nothing; messages that are too short, or that nobody asked for, are refused. */
static void unknown_wakers(void **state)
{
	struct made m = wakers_new(SP_WAKERS_ABOVE);
	struct sp_message_waker r = {.type = SP_MESSAGE_WAKER};

	assert_int_equal(take_frames(&m, SLEEPER, 2), 0);
	keep(&m, WAKER, 0);
	assert_int_equal(sp_objects_finish(m.c), 0);
	expect_stack(&m, sp_profile_row(m.p, 0)->kernel, "9000 9001");
	assert_int_equal(take(&m, &r, sizeof(r) - 1), -EBADMSG);
	made_free(&m);
	m = made_new();
	assert_int_equal(take_waker(&m, WAKER, 0, 0), -EBADMSG);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stacks_are_joined),
	    cmocka_unit_test(user_stacks_are_joined),
	    cmocka_unit_test(wakers_stand_alone),
	    cmocka_unit_test(unknown_wakers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
