/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of deleted files is held: all, one user's, what grows afterwards, what lies beyond a file's end. */
#include "base/mem.h"
#include "capture/priv.h"
#include "test.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

enum { N = 8, ROOT = 0, ALICE = 1000, BOB = 1001 };

static struct sp_capture *c;
static const struct sp_capture_users users;

static int begin(void **state)
{
	c = calloc(1, sizeof(*c));
	if (!c)
		return -1;
	c->o.max_deleted_bytes = 16 * MIB;
	c->o.users = &users;
	c->known = calloc(N + 1, sizeof(*c->known));
	c->n_known = N + 1;
	for (size_t i = 0; i <= N; i++)
		c->known[i].fd = -1;
	return 0;
}

static int end(void **state)
{
	for (size_t i = 0; i <= N; i++)
		sp_cleanup_close(&c->known[i].fd);
	free(c->known);
	free(c);
	return 0;
}

/* A file in memory that has no name, as an opener hands it out; held until its table is there. */
static struct sp_known_file *open_one(size_t i, uint32_t user, uint64_t size, uint64_t beyond)
{
	struct sp_known_file *k = &c->known[i];
	int fd = memfd_create("x", MFD_CLOEXEC);
	struct sp_open_result o = {.fd = fd, .deleted = 1, .size = size, .state.dev = 1};

	assert_true(fd > 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (beyond)
		assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)size, (off_t)beyond), 0);
	k->user = user;
	sp_files_note_deleted(c, k, &o);
	k->fd = fd;
	k->size = size;
	k->is_identified = true;
	return k;
}

static void holds_what_is_small(void **state)
{
	assert_false(open_one(1, ROOT, 9 * MIB, 0)->is_passing);
	assert_false(open_one(2, ALICE, 6 * MIB, 0)->is_passing);
	assert_int_equal(sp_files_deleted_bytes(c, true), 15 * MIB);
	assert_int_equal(sp_files_deleted_bytes(c, false), 0);
	sp_files_bound_deleted(c);
	assert_true(c->known[1].fd > 0 && c->known[2].fd > 0);
	assert_int_equal(c->stats.n_let_go, 0);
}

static void lets_go_what_is_too_much_together(void **state)
{
	open_one(1, ROOT, 12 * MIB, 0);
	assert_true(open_one(2, BOB, 5 * MIB, 0)->is_passing);
	assert_int_equal(c->stats.n_let_go, 1);
	assert_int_equal(c->stats.let_go_uid, BOB);
}

static void one_user_has_half(void **state)
{
	assert_false(open_one(1, ALICE, 5 * MIB, 0)->is_passing);
	assert_true(open_one(2, ALICE, 4 * MIB, 0)->is_passing);
	assert_int_equal(c->stats.let_go_uid, ALICE);
	sp_cleanup_close(&c->known[2].fd);
	c->known[2].fd = -1;
	assert_false(open_one(3, BOB, 8 * MIB, 0)->is_passing);
	c->o.users = NULL; /* a session of one's own has no shares */
	assert_false(open_one(4, ALICE, 3 * MIB, 0)->is_passing);
}

static void counts_what_lies_beyond_the_end(void **state)
{
	assert_true(open_one(1, ROOT, MIB, 20 * MIB)->is_passing);
}

static void looks_again_at_what_has_grown(void **state)
{
	open_one(1, ROOT, 2 * MIB, 0);
	open_one(2, ALICE, 2 * MIB, 0);
	open_one(3, BOB, 2 * MIB, 0);
	assert_int_equal(fallocate(c->known[2].fd, 0, 0, (off_t)(14 * MIB)), 0);
	sp_files_bound_deleted(c);
	assert_true(c->known[1].fd > 0 && c->known[2].fd < 0 && c->known[3].fd > 0);
	assert_int_equal(c->stats.n_let_go, 1);
	assert_int_equal(c->stats.let_go_uid, ALICE);
	assert_int_equal(sp_files_deleted_bytes(c, true), 4 * MIB);
}

/* It is counted once, and closed at the next look although its table has not come. */
static void passing_ones_do_not_wait_for_ever(void **state)
{
	assert_true(open_one(1, BOB, 100 * MIB, 0)->is_passing);
	sp_files_bound_deleted(c);
	assert_true(c->known[1].fd < 0);
	assert_int_equal(c->stats.n_let_go, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(holds_what_is_small, begin, end),
	    cmocka_unit_test_setup_teardown(lets_go_what_is_too_much_together, begin, end),
	    cmocka_unit_test_setup_teardown(one_user_has_half, begin, end),
	    cmocka_unit_test_setup_teardown(counts_what_lies_beyond_the_end, begin, end),
	    cmocka_unit_test_setup_teardown(looks_again_at_what_has_grown, begin, end),
	    cmocka_unit_test_setup_teardown(passing_ones_do_not_wait_for_ever, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
