/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code made at run time is read out of its process, by a real worker, only as far as its user's share of CPU time goes.
 */
#include "base/mem.h"
#include "capture/backend.h"
#include "capture/priv.h"
#include "test.h"
#include "unwind/finish.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { REGION = 1, USER = 12345, N_WORDS = 8 };

static volatile sp_u32 drain;
static bool is_allowed;
static uint64_t cost_ns;

static bool is_over(void *arg, uint32_t uid)
{
	(void)arg, (void)uid;
	return false;
}

static bool may_read(void *arg, uint32_t uid)
{
	assert_int_equal(uid, USER);
	return is_allowed;
}

static void parsed(void *arg, uint32_t uid, uint64_t cpu_ns)
{
	assert_int_equal(uid, USER);
	cost_ns += cpu_ns;
}

static const struct sp_capture_users users = {.is_over = is_over, .may_read = may_read, .parsed = parsed};

static struct sp_capture *begin(void)
{
	struct sp_capture *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->o.users = &users;
	c->shared.drain = &drain;
	c->n_seen = c->n_known = REGION + 1;
	c->seen = calloc(c->n_seen, sizeof(*c->seen));
	c->known = calloc(c->n_known, sizeof(*c->known));
	assert_true(c->seen && c->known);
	assert_int_equal(sp_tables_new(NULL, -1, 8 << 20, &c->tables), 0);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &c->workers), 0);
	c->seen[REGION] =
	    (struct sp_seen_file){.key.dev = SP_DEV_ANON, .number = REGION, .state = SP_SEEN_DONE, .birth = 7};
	c->known[REGION] =
	    (struct sp_known_file){.fd = -1, .user = USER, .memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
	assert_true(c->known[REGION].memory_fd > 0);
	sp_tables_set_code(c->tables, REGION, SP_TABLE_JIT);
	is_allowed = true;
	cost_ns = drain = 0;
	return c;
}

static void end(struct sp_capture *c)
{
	sp_workers_free(c->workers);
	sp_known_file_done(&c->known[REGION]);
	sp_tables_free(c->tables);
	free(c->jit);
	free(c->known);
	free(c->seen);
	free(c);
}

/* A frame of 8 bytes: 0x10 on, to behind a call. */
__asm__(".text\n"
	"jit_frames_made: nop\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	call jit_frames_made\n"
	"jit_frames_back: nop\n");
extern const char jit_frames_made[], jit_frames_back[];

static int ask(struct sp_capture *c, struct sp_rule *ret_rule)
{
	uint64_t words[N_WORDS] = {0, (uint64_t)(uintptr_t)jit_frames_back};
	struct sp_regs regs = {.ip = (uint64_t)(uintptr_t)jit_frames_made, .sp = 0x7000000000};

	return sp_jit_frame_ask(c, &(struct sp_jit_at){.id = REGION, .regs = &regs, .words = words, .n_words = N_WORDS},
				ret_rule);
}

static void wait_for_answers(struct sp_capture *c)
{
	struct pollfd fd = {.fd = sp_workers_fd(c->workers), .events = POLLIN};

	while (c->n_jit_asked) {
		assert_true(poll(&fd, 1, 120000) > 0);
		assert_int_equal(sp_workers_dispatch(c->workers), 0);
	}
}

static void is_read_and_charged(void **state)
{
	struct sp_capture *c = begin();
	struct sp_rule rule = {0};

	assert_int_equal(ask(c, &rule), -EAGAIN);
	wait_for_answers(c);
	assert_int_equal(ask(c, &rule), SP_JIT_RULE);
	assert_int_equal(rule.off, 16);
	assert_true(cost_ns > 0);
	end(c);
}

static void is_put_off_until_it_may_be(void **state)
{
	struct sp_capture *c = begin();
	struct sp_rule rule = {0};

	is_allowed = false;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask(c, &rule), 0);
		assert_int_equal(sp_tables_state(c->tables, REGION), SP_TABLE_FP);
		assert_int_equal(c->stats.n_later, 1);
		sp_files_begin_drain(c, ++drain);
	}
	assert_int_equal(sp_tables_state(c->tables, REGION), SP_TABLE_FP);
	is_allowed = true;
	sp_files_begin_drain(c, ++drain);
	assert_int_equal(sp_tables_state(c->tables, REGION), SP_TABLE_ABSENT); /* the next sample tells whose it is */
	assert_int_equal(c->stats.n_later, 0);
	assert_int_equal(cost_ns, 0);
	end(c);
}

static int nothing(struct sp_capture *c)
{
	return 0;
}

static int no_counts(struct sp_capture *c, unsigned odd)
{
	(void)c, (void)odd;
	return 0;
}

/* With the next drain, whether or not any file waits for its table. */
static void a_user_has_his_share_back(void **state)
{
	static const struct sp_backend backend = {.read = nothing, .swap_counts = no_counts};
	struct sp_slicing slicing = {0};
	struct sp_capture *c = begin();

	c->backend = &backend;
	c->shared.slicing = &slicing;
	c->over = (struct sp_over_users){.fd = -1, .uids = {USER}, .n = 1};
	assert_int_equal(sp_capture_swap_and_drain(c), 0);
	assert_int_equal(c->over.n, 0);
	end(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(is_read_and_charged),
	    cmocka_unit_test(is_put_off_until_it_may_be),
	    cmocka_unit_test(a_user_has_his_share_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
