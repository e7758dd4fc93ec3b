/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/stack_above.h"
#include "base/error.h"
#include "capture/pending.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static void block_put(struct sp_block *b)
{
	if (!b || --b->n_refs)
		return;
	b->c->waiting_bytes -= sizeof(*b) + b->bytes;
	free(b);
}

static bool is_same(const struct sp_block *b, const struct sp_message_stack_above *r)
{
	return b && b->at == r->at && b->bytes == r->bytes && b->holes == r->holes && !memcmp(b->data, r + 1, r->bytes);
}

/* NULL: no room for it. */
static struct sp_block *block_new(struct sp_capture *c, const struct sp_message_stack_above *r)
{
	size_t size = sizeof(struct sp_block) + r->bytes;
	struct sp_block *b = c->waiting_bytes + size <= SP_MAX_WAITING_BYTES / 2 ? malloc(size) : NULL;

	if (!b)
		return NULL;
	*b = (struct sp_block){.c = c, .n_refs = 1, .at = r->at, .bytes = r->bytes, .holes = r->holes};
	memcpy(b->data, r + 1, r->bytes);
	c->waiting_bytes += size;
	return b;
}

/*
 * Shares the last block that had the same address and bytes. It may be another process's: since addresses of stacks are
 * random and the bytes are compared, processes need not be told apart.
 */
static struct sp_block *block_of(struct sp_capture *c, const struct sp_message_stack_above *r)
{
	struct sp_block **last = &c->rests.last[r->at / SP_PENDING_STACK % SP_N_LAST_BLOCKS];

	if (!is_same(*last, r)) {
		struct sp_block *b = block_new(c, r);

		if (!b)
			return NULL;
		block_put(*last);
		*last = b;
	}
	(*last)->n_refs++;
	return *last;
}

/*
 * The rest that this part belongs to. A CPU sends the parts of one sample after each other, with nothing else in
 * between.
 */
static struct sp_stack_above *rest_of(struct sp_capture *c, sp_u64 id)
{
	struct sp_stack_above **at = &c->rests.unclaimed[id % SP_N_STACK_ABOVE_CPUS];

	if (*at && (*at)->id == id)
		return *at;
	sp_stack_above_free(*at);
	*at = calloc(1, sizeof(**at));
	if (*at)
		(*at)->id = id;
	return *at;
}

int sp_stack_above_take(struct sp_capture *c, const struct sp_message_stack_above *r, size_t size)
{
	struct sp_stack_above *rest;
	struct sp_block *b;

	if (size < sizeof(*r) || r->bytes > SP_PENDING_STACK || size - sizeof(*r) < r->bytes ||
	    r->at % SP_PENDING_STACK)
		return sp_fail_said(-EBADMSG, "a part of a stack out of bounds");
	rest = rest_of(c, r->id);
	if (!rest || rest->n == SP_MAX_STACKS_ABOVE ||
	    (rest->n && r->at - rest->blocks[rest->n - 1]->at != SP_PENDING_STACK))
		return 0;
	b = block_of(c, r);
	if (b)
		rest->blocks[rest->n++] = b;
	return 0;
}

struct sp_stack_above *sp_stack_above_claim(struct sp_capture *c, sp_u64 id)
{
	struct sp_stack_above **at = &c->rests.unclaimed[id % SP_N_STACK_ABOVE_CPUS], *rest = *at;

	if (!id || !rest || rest->id != id)
		return NULL;
	*at = NULL;
	return rest;
}

void sp_stack_above_free(struct sp_stack_above *rest)
{
	size_t i;

	for (i = 0; rest && i < rest->n; i++)
		block_put(rest->blocks[i]);
	free(rest);
}

int sp_stack_above_word(void *arg, sp_u64 addr, sp_u64 *ret)
{
	const struct sp_stack_above *rest = arg;
	const struct sp_block *b;
	sp_u64 at, number;

	if (!rest->n || addr < rest->blocks[0]->at)
		return -1;
	at = addr % SP_PENDING_STACK;
	number = (addr - rest->blocks[0]->at) / SP_PENDING_STACK;
	if (number >= rest->n)
		return -1;
	b = rest->blocks[number];
	if (at + 8 > b->bytes || b->holes >> at / PAGE & 1 || b->holes >> (at + 7) / PAGE & 1)
		return -1;
	memcpy(ret, b->data + at, 8);
	return 0;
}

void sp_stacks_above_idle(struct sp_capture *c)
{
	size_t i;

	for (i = 0; i < SP_N_LAST_BLOCKS; i++) {
		block_put(c->rests.last[i]);
		c->rests.last[i] = NULL;
	}
}

void sp_stacks_above_done(struct sp_capture *c)
{
	size_t i;

	for (i = 0; i < SP_N_STACK_ABOVE_CPUS; i++)
		sp_stack_above_free(c->rests.unclaimed[i]);
	sp_stacks_above_idle(c);
}
