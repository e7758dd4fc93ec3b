/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's share of new stacks: who goes beyond it gets libraries in place of frames, and nobody else notices. */
#include "base/mem.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { N_FILES = 3, DEPTH = 100, SHARE = 10 * DEPTH, INTERVAL_NS = 1000, ALICE = 12345, BOB = 1000 };

static struct sp_seen_file seen[N_FILES + 1];
static uint64_t seed = 1;

static struct sp_capture begin(uint64_t n_nodes)
{
	struct sp_capture c = {.seen = seen, .n_seen = SP_COUNT(seen)};

	assert_int_equal(sp_profile_new(&c.profile), 0);
	assert_int_equal(sp_numbers_init(&c.words), 0);
	assert_int_equal(sp_stack_share_init(&c.share, n_nodes, INTERVAL_NS), 0);
	for (uint32_t i = 1; i <= N_FILES; i++) {
		int64_t number = sp_profile_add_file(c.profile, &(struct sp_file){.kind = SP_FILE_ELF, .tag = i});

		assert_true(number > 0);
		seen[i].number = (uint32_t)number;
	}
	return c;
}

static void end(struct sp_capture *c)
{
	sp_stack_share_done(&c->share);
	sp_numbers_done(&c->words);
	sp_profile_free(c->profile);
}

static sp_u64 word(uint32_t file, uint64_t offset)
{
	return SP_FRAME_FILE << SP_FRAME_KIND_SHIFT | (sp_u64)file << SP_FRAME_ID_SHIFT | offset;
}

/* A stack of n frames that no other has, but for its root and its leaf: file 1; else files 2 and 3. */
static struct sp_stack walk(struct sp_capture *c, uint32_t uid, uint32_t n)
{
	static sp_u64 words[SP_MAX_FRAMES];
	struct sp_walked walked = {.words = words, .n = n, .stop = SP_STOP_COMPLETE, .uid = uid};
	int64_t stack;

	for (uint32_t i = 0; i < n; i++)
		words[sp_frame_slot(i)] = word(2 + i % 2, seed = seed * 69069 % SP_FRAME_OFFSET_MASK + 1);
	words[0] = word(1, 7);
	words[sp_frame_slot(n - 1)] = word(1, 8);
	stack = sp_drain_stack(c, &walked);
	assert_true(stack > 0);
	return sp_profile_stack(c->profile, (uint32_t)stack);
}

static void is_folded(const struct sp_capture *c, struct sp_stack s)
{
	static const uint32_t files[1 + N_FILES] = {1, 1, 3, 2}; /* from the leaf on */

	assert_int_equal(s.n_frames, 1 + N_FILES);
	assert_int_equal(s.stack_class, SP_CLASS_COMPLETE);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(c->profile, s.frames[i]);
		const char *name = sp_profile_string(c->profile, sp_profile_func(c->profile, f->func)->name);

		assert_int_equal(f->file, seen[files[i]].number);
		assert_string_equal(name, i ? SP_STACK_SHARE_NAME : "");
		assert_int_equal(f->offset, i ? 0 : 7);
	}
}

static void those_above_are_folded(void **state)
{
	struct sp_capture c = begin(SHARE);
	struct sp_capture_stats stats;
	uint32_t n_frames;

	for (unsigned i = 0; i < SHARE / DEPTH; i++)
		assert_int_equal(walk(&c, ALICE, DEPTH).n_frames, DEPTH);
	is_folded(&c, walk(&c, ALICE, DEPTH));
	n_frames = sp_profile_n_frames(c.profile);
	for (unsigned i = 0; i < 1000; i++)
		is_folded(&c, walk(&c, ALICE, SP_MAX_FRAMES));
	assert_int_equal(sp_profile_n_frames(c.profile), n_frames); /* they take no more memory */
	assert_int_equal(walk(&c, BOB, DEPTH).n_frames, DEPTH);
	sp_stack_share_stats(&c.share, &stats);
	assert_int_equal(stats.n_folded, 1001);
	assert_int_equal(stats.n_folded_users, 1);
	assert_int_equal(stats.folded_uid, ALICE);
	end(&c);
}

static void add_whole_ones(struct sp_capture *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(walk(c, ALICE, DEPTH).n_frames, DEPTH);
}

/* A quarter a window, and what was not used is there at once. */
static void a_share_is_given_back_by_and_by(void **state)
{
	struct sp_capture c = begin(SHARE);
	uint64_t now_ns = INTERVAL_NS;
	unsigned n = SHARE / DEPTH;

	add_whole_ones(&c, n);
	is_folded(&c, walk(&c, ALICE, DEPTH));
	sp_stack_share_renew(&c.share, now_ns);
	add_whole_ones(&c, n / 4);
	is_folded(&c, walk(&c, ALICE, DEPTH));
	sp_stack_share_renew(&c.share, now_ns + 5); /* no window of its own */
	is_folded(&c, walk(&c, ALICE, DEPTH));
	for (unsigned i = 0; i < 4; i++)
		sp_stack_share_renew(&c.share, now_ns += INTERVAL_NS);
	add_whole_ones(&c, n);
	is_folded(&c, walk(&c, ALICE, DEPTH));
	end(&c);
}

/* Windows later they take nothing, until the set that remembers them is emptied. */
static void what_is_known_is_free_in_later_windows(void **state)
{
	struct sp_capture c = begin(UINT64_C(1) << 40);
	uint64_t now_ns = INTERVAL_NS, before;

	seed = 1;
	add_whole_ones(&c, 3);
	before = c.share.users[0].n_nodes;
	sp_stack_share_renew(&c.share, now_ns);
	assert_int_equal(c.share.n, 0);
	seed = 1;
	add_whole_ones(&c, 3);
	assert_int_equal(c.share.users[0].n_nodes, 0);
	while (c.share.n_known <= 1 << 17)
		add_whole_ones(&c, 1);
	sp_stack_share_renew(&c.share, now_ns += INTERVAL_NS);
	seed = 1;
	add_whole_ones(&c, 3);
	assert_int_equal(c.share.users[0].n_nodes, before);
	end(&c);
}

/* What is known already takes nothing: deep stacks that differ near the leaf only. */
static void a_common_root_is_taken_once(void **state)
{
	struct sp_capture c = begin(SHARE);
	sp_u64 words[DEPTH];
	struct sp_walked walked = {.words = words, .n = DEPTH, .stop = SP_STOP_COMPLETE, .uid = ALICE};

	for (uint32_t i = 0; i < DEPTH; i++)
		words[i] = word(2, i + 1);
	for (uint32_t i = 0; i < SHARE - DEPTH - 50; i++) { /* some hashes may be equal, none of one stack's own */
		words[0] = word(1, i + 1);
		assert_int_equal(sp_profile_stack(c.profile, (uint32_t)sp_drain_stack(&c, &walked)).n_frames, DEPTH);
	}
	end(&c);
}

/* Beyond SP_MAX_FRAMES the middle's nodes are not counted: there are none. */
static void deep_stacks_are_counted_as_kept(void **state)
{
	struct sp_capture c = begin(SP_MAX_FRAMES + 10);

	assert_int_equal(walk(&c, ALICE, 3 * SP_MAX_FRAMES).n_frames, SP_MAX_FRAMES + 1);
	end(&c);
}

static void without_a_share_nothing_is_folded(void **state)
{
	struct sp_capture c = begin(0);

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(walk(&c, ALICE, SP_MAX_FRAMES).n_frames, SP_MAX_FRAMES);
	assert_null(c.share.known);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(those_above_are_folded),
	    cmocka_unit_test(a_share_is_given_back_by_and_by),
	    cmocka_unit_test(what_is_known_is_free_in_later_windows),
	    cmocka_unit_test(a_common_root_is_taken_once),
	    cmocka_unit_test(deep_stacks_are_counted_as_kept),
	    cmocka_unit_test(without_a_share_nothing_is_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
