/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of deep stacks: they come in order or not at all, are shared where they are equal, and are freed. */
#include "capture/stack_above.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/pending.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK 0x7f0000000000ULL

struct part {
	struct sp_message_stack_above head;
	sp_u8 data[SP_PENDING_STACK];
};

/* Each word of it is its address, but for `change` added. */
static int take(struct sp_capture *c, sp_u64 id, unsigned number, sp_u64 change, sp_u32 bytes)
{
	struct part *p = malloc(sizeof(p->head) + bytes); /* of its size: what lies behind is the sanitizer's */
	int r;

	assert_non_null(p);
	p->head = (struct sp_message_stack_above){
	    .type = SP_MESSAGE_STACK_ABOVE, .bytes = bytes, .id = id, .at = STACK + number * SP_PENDING_STACK};
	for (sp_u32 i = 0; i + 8 <= bytes; i += 8)
		memcpy(p->data + i, &(sp_u64){p->head.at + i + change}, 8);
	r = sp_stack_above_take(c, &p->head, sizeof(p->head) + bytes);
	free(p);
	return r;
}

static void in_order(void **state)
{
	struct sp_capture c = {0};
	struct sp_stack_above *rest;
	sp_u64 word = 0;

	assert_int_equal(take(&c, 0x100, 0, 0, SP_PENDING_STACK), 0);
	assert_int_equal(take(&c, 0x201, 5, 0, 64), 0); /* of another CPU, in between */
	assert_int_equal(take(&c, 0x100, 1, 0, 4096), 0);
	assert_int_equal(take(&c, 0x100, 3, 0, 4096), 0); /* one was lost before it: it leads nowhere */
	assert_null(sp_stack_above_claim(&c, 0));
	assert_null(sp_stack_above_claim(&c, 0x300));
	rest = sp_stack_above_claim(&c, 0x100);
	assert_non_null(rest);
	assert_null(sp_stack_above_claim(&c, 0x100));
	assert_int_equal(rest->n, 2);
	for (sp_u64 at = STACK; at < STACK + SP_PENDING_STACK + 4096; at += 8) {
		assert_int_equal(sp_stack_above_word(rest, at, &word), 0);
		assert_int_equal(word, at);
	}
	assert_int_equal(sp_stack_above_word(rest, STACK - 8, &word), -1);
	assert_int_equal(sp_stack_above_word(rest, STACK + SP_PENDING_STACK - 4, &word), -1);
	assert_int_equal(sp_stack_above_word(rest, STACK + SP_PENDING_STACK + 4096, &word), -1);
	assert_int_equal(sp_stack_above_word(rest, UINT64_MAX - 3, &word), -1);
	rest->blocks[0]->holes = 1 << 15;
	assert_int_equal(sp_stack_above_word(rest, STACK + 0xeff8, &word), 0);
	assert_int_equal(sp_stack_above_word(rest, STACK + 0xeffc, &word), -1);
	assert_int_equal(sp_stack_above_word(rest, STACK + 0xf000, &word), -1);
	sp_stack_above_free(rest);
	sp_stacks_above_done(&c);
	assert_int_equal(c.waiting_bytes, 0);
}

static void shared(void **state)
{
	struct sp_capture c = {0};
	struct sp_stack_above *rest[3];
	size_t one;

	for (sp_u64 i = 0; i < 3; i++) {
		assert_int_equal(take(&c, (i + 1) << 8, 0, i == 2, 4096), 0);
		rest[i] = sp_stack_above_claim(&c, (i + 1) << 8);
		assert_non_null(rest[i]);
		one = i ? one : c.waiting_bytes;
		assert_int_equal(c.waiting_bytes, i == 2 ? 2 * one : one);
	}
	assert_ptr_equal(rest[0]->blocks[0], rest[1]->blocks[0]);
	assert_ptr_not_equal(rest[1]->blocks[0], rest[2]->blocks[0]);
	for (int i = 0; i < 3; i++)
		sp_stack_above_free(rest[i]);
	assert_int_equal(c.waiting_bytes, one); /* the last one, for the next that is the same */
	sp_stacks_above_idle(&c);
	assert_int_equal(c.waiting_bytes, 0);
	sp_stacks_above_done(&c);
}

/* Samples have room whatever the rests take. */
static void bounded(void **state)
{
	struct sp_capture c = {0};
	struct sp_stack_above *rest = NULL;

	for (unsigned i = 0; i < SP_MAX_STACKS_ABOVE + 2; i++)
		assert_int_equal(take(&c, 0x100, i, 0, SP_PENDING_STACK), 0);
	rest = sp_stack_above_claim(&c, 0x100);
	assert_int_equal(rest->n, SP_MAX_STACKS_ABOVE);
	sp_stack_above_free(rest);
	for (sp_u64 i = 1; i < 4000; i++)
		assert_int_equal(take(&c, i, 0, i, SP_PENDING_STACK), 0);
	assert_in_range(c.waiting_bytes, 1, SP_MAX_WAITING_BYTES / 2);
	sp_stacks_above_done(&c);
	assert_int_equal(c.waiting_bytes, 0);
}

static void refused(void **state)
{
	struct sp_capture c = {0};
	struct part *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->head = (struct sp_message_stack_above){.type = SP_MESSAGE_STACK_ABOVE, .bytes = 64, .id = 1, .at = STACK};
	assert_int_equal(sp_stack_above_take(&c, &p->head, sizeof(p->head) + 63), -EBADMSG);
	assert_int_equal(sp_stack_above_take(&c, &p->head, sizeof(p->head) - 1), -EBADMSG);
	p->head.bytes = SP_PENDING_STACK + 1;
	assert_int_equal(sp_stack_above_take(&c, &p->head, SIZE_MAX), -EBADMSG);
	p->head.bytes = 64;
	p->head.at += 8;
	assert_int_equal(sp_stack_above_take(&c, &p->head, sizeof(*p)), -EBADMSG);
	sp_error_clear();
	free(p);
	sp_stacks_above_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_order), cmocka_unit_test(shared),
					   cmocka_unit_test(bounded), cmocka_unit_test(refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
