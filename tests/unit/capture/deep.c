/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks of any depth become stacks: of those that are too deep the middle is left out, and nothing else. */
#include "base/mem.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { LEAF = SP_MAX_FRAMES - SP_ROOT_FRAMES };

/* Frame i has the address i: a walk of n frames, as either half keeps it. */
static struct sp_stack walk(struct sp_capture *c, uint32_t n)
{
	static sp_u64 words[SP_MAX_FRAMES];
	int64_t stack;

	memset(words, 0xff, sizeof(words));
	for (uint32_t i = 0; i < n; i++)
		words[sp_frame_slot(i)] = SP_FRAME_KERNEL << SP_FRAME_KIND_SHIFT | i;
	stack = sp_drain_stack(c, &(struct sp_walked){.words = words, .n = n, .stop = SP_STOP_COMPLETE});
	assert_true(stack > 0);
	return sp_profile_stack(c->profile, (uint32_t)stack);
}

static void check(struct sp_capture *c, uint32_t depth)
{
	struct sp_stack s = walk(c, depth);
	uint32_t left_out = depth - SP_MIN(depth, SP_MAX_FRAMES);

	assert_int_equal(s.n_frames, depth - left_out + (left_out > 0));
	assert_int_equal(s.stack_class, SP_CLASS_COMPLETE);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(c->profile, s.frames[i]);
		const struct sp_func *func = sp_profile_func(c->profile, f->func);
		bool is_gap = left_out && i == LEAF;

		assert_int_equal(f->file, c->kernel_file);
		assert_int_equal(!!(f->flags & SP_FRAMEF_SHORTENED), is_gap);
		assert_string_equal(sp_profile_string(c->profile, func->name), is_gap ? "[shortened]" : "");
		if (!is_gap)
			assert_int_equal(f->offset & SP_FRAME_KERNEL_MASK, i < LEAF ? i : i - !!left_out + left_out);
	}
}

static void middles(void **state)
{
	const uint32_t depths[] = {1,
				   LEAF,
				   LEAF + 1,
				   SP_MAX_FRAMES,
				   SP_MAX_FRAMES + 1,
				   SP_MAX_FRAMES + SP_ROOT_FRAMES - 1,
				   SP_MAX_FRAMES + SP_ROOT_FRAMES,
				   100000,
				   SP_WALK_FRAMES};
	struct sp_capture c = {0};

	assert_int_equal(sp_profile_new(&c.profile), 0);
	assert_int_equal(sp_numbers_init(&c.words), 0);
	c.kernel_file = (uint32_t)sp_profile_add_file(c.profile, &(struct sp_file){.kind = SP_FILE_KERNEL});
	for (size_t i = 0; i < SP_COUNT(depths); i++)
		check(&c, depths[i]);
	sp_numbers_done(&c.words);
	sp_profile_free(c.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(middles)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
