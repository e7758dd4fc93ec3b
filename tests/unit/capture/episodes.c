/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Episodes that have begun: of which the stack is finished later, and which never end. */
#include "made.h"

/* An episode whose stack waits goes by a number until it is finished, and is counted once, whether it
 * ends before or after. */
static void episode_waits(void **state)
{
	const struct sp_episode_key at = {.match = 1};
	struct sp_episode episode = {.since_ns = 1000, .times = 1, .key = {.user_stack = 77, .process = process_key}};
	struct sp_message_pending *r = pending_new();
	struct made m = made_new();

	r->key.user_stack = 77;
	r->value = (struct sp_count){0};
	m.c->episodes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(at), sizeof(episode), 1, NULL);
	if (m.c->episodes_fd < 0) {
		print_message("skip: needs root\n");
		skip();
	}
	assert_int_equal(bpf_map_update_elem(m.c->episodes_fd, &at, &episode, BPF_ANY), 0);
	assert_int_equal(take_process(&m), 0);
	assert_int_equal(take(&m, r, sizeof(*r)), 0);
	assert_int_equal(sp_drain_episodes(m.c, 1500), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 0);
	assert_int_equal(sp_pending_try(m.c, true), 0);
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 500);
	assert_int_equal(sp_drain_episodes(m.c, 3000), 0); /* the same stack, which is known by now */
	assert_int_equal(sp_profile_n_rows(m.p), 1);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 2);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 2500);
	episode.min_ns = 2001; /* shorter ones than asked for are none, though they have not ended */
	assert_int_equal(bpf_map_update_elem(m.c->episodes_fd, &at, &episode, BPF_ANY), 0);
	assert_int_equal(sp_drain_episodes(m.c, 3000), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 2500);
	assert_int_equal(sp_drain_episodes(m.c, 3001), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 4501);
	episode.is_counted = 1; /* a part of it was counted before: the rest is no other episode, however short */
	assert_int_equal(bpf_map_update_elem(m.c->episodes_fd, &at, &episode, BPF_ANY), 0);
	assert_int_equal(sp_drain_episodes(m.c, 1001), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[0], 3);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 4502);
	episode.is_counted = 0; /* one that is longer by now than asked for is none */
	episode.max_ns = 2001;
	assert_int_equal(bpf_map_update_elem(m.c->episodes_fd, &at, &episode, BPF_ANY), 0);
	assert_int_equal(sp_drain_episodes(m.c, 3002), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 4502);
	assert_int_equal(sp_drain_episodes(m.c, 3001), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 6503);
	episode.since_ns = 0; /* one that has ended */
	episode.max_ns = 0;
	assert_int_equal(bpf_map_update_elem(m.c->episodes_fd, &at, &episode, BPF_ANY), 0);
	assert_int_equal(sp_drain_episodes(m.c, 9000), 0);
	assert_int_equal(sp_profile_row(m.p, 0)->values[1], 6503);
	assert_int_equal(m.c->stats.n_lost_frames, 0);
	close(m.c->episodes_fd);
	free(r);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(episode_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
