/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/rest.h"
#include "base/error.h"
#include "capture/pending.h"
#include "unwind/finish.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, SEAM = 4096 };

static void block_put(struct sp_block *b)
{
	if (!b || --b->n_refs)
		return;
	b->c->waiting_bytes -= sizeof(*b) + b->bytes;
	free(b);
}

static bool is_same(const struct sp_block *b, const struct sp_record_rest *r)
{
	return b && b->at == r->at && b->bytes == r->bytes && b->holes == r->holes && !memcmp(b->data, r + 1, r->bytes);
}

/* NULL: no room for it. */
static struct sp_block *block_new(struct sp_capture *c, const struct sp_record_rest *r)
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

/* Addresses of stacks are random, so that no process need be told from another: what counts is what stands there. */
static struct sp_block *block_of(struct sp_capture *c, const struct sp_record_rest *r)
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

/* The rest that this part belongs to: that of its CPU's sample, of which nothing else comes in between. */
static struct sp_rest *rest_of(struct sp_capture *c, sp_u64 id)
{
	struct sp_rest **at = &c->rests.unclaimed[id % SP_N_REST_CPUS];

	if (*at && (*at)->id == id)
		return *at;
	sp_rest_free(*at);
	*at = calloc(1, sizeof(**at));
	if (*at)
		**at = (struct sp_rest){.n_refs = 1, .id = id};
	return *at;
}

int sp_rest_take(struct sp_capture *c, const struct sp_record_rest *r, size_t size)
{
	struct sp_rest *rest;
	struct sp_block *b;

	if (size < sizeof(*r) || r->bytes > SP_PENDING_STACK || size - sizeof(*r) < r->bytes ||
	    r->at % SP_PENDING_STACK)
		return sp_fail_said(-EBADMSG, "a part of a stack out of bounds");
	rest = rest_of(c, r->id);
	if (!rest || rest->n == SP_MAX_RESTS || (rest->n && r->at - rest->blocks[rest->n - 1]->at != SP_PENDING_STACK))
		return 0;
	b = block_of(c, r);
	if (b)
		rest->blocks[rest->n++] = b;
	return 0;
}

struct sp_rest *sp_rest_claim(struct sp_capture *c, sp_u64 id)
{
	struct sp_rest **at = &c->rests.unclaimed[id % SP_N_REST_CPUS], *rest = *at;

	if (!id || !rest || rest->id != id)
		return NULL;
	*at = NULL;
	return rest;
}

void sp_rest_free(struct sp_rest *rest)
{
	size_t i;

	if (!rest || --rest->n_refs)
		return;
	for (i = 0; i < rest->n; i++)
		block_put(rest->blocks[i]);
	free(rest);
}

static struct sp_rest *rest_get(struct sp_rest *rest)
{
	rest->n_refs++;
	return rest;
}

/* It goes up to where its stack ends, or as far as any does. */
static bool is_whole(const struct sp_rest *rest)
{
	return rest->n == SP_MAX_RESTS || (rest->n && rest->blocks[rest->n - 1]->bytes < SP_PENDING_STACK);
}

/*
 * Whether the last bytes of a sample's copy are the same in another's rest. Then the frames there are the same ones,
 * and so are those that have called them.
 */
static bool is_same_at_seam(const struct sp_rest *rest, const struct sp_finish_memory *copy)
{
	sp_u64 end = (copy->stack_at + copy->stack_bytes) & ~7ULL, at, word;

	if (copy->stack_bytes < 2 * SEAM)
		return false;
	for (at = end - SEAM; at < end; at += 8)
		if (sp_rest_word((void *)rest, at, &word) || memcmp(&word, copy->stack + (at - copy->stack_at), 8))
			return false;
	return true;
}

/* Adds to a rest what lies above its last block, if that is a block of the other one, too. */
static void rest_extend(struct sp_rest *rest, const struct sp_rest *whole)
{
	struct sp_block *last = rest->blocks[rest->n - 1];
	size_t i = 0;

	while (i < whole->n && whole->blocks[i] != last)
		i++;
	for (i++; i < whole->n && rest->n < SP_MAX_RESTS; i++) {
		rest->blocks[rest->n++] = whole->blocks[i];
		whole->blocks[i]->n_refs++;
	}
}

struct sp_rest *sp_rest_complete(struct sp_capture *c, struct sp_rest *rest, const struct sp_finish_memory *copy)
{
	/* by its address: stacks of threads are 8 MiB at most, as a rule */
	struct sp_rest **whole = &c->rests.whole[(copy->stack_at >> 23) * 0x9e3779b97f4a7c15ULL >> 58];

	if (rest && is_whole(rest)) {
		sp_rest_free(*whole);
		*whole = rest_get(rest);
	} else if (*whole && rest && rest->n) {
		rest_extend(rest, *whole);
	} else if (*whole && is_same_at_seam(*whole, copy)) {
		sp_rest_free(rest);
		rest = rest_get(*whole);
	}
	return rest;
}

int sp_rest_word(void *arg, sp_u64 addr, sp_u64 *ret)
{
	const struct sp_rest *rest = arg;
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

void sp_rests_idle(struct sp_capture *c)
{
	size_t i;

	for (i = 0; i < SP_N_WHOLE_RESTS; i++) {
		sp_rest_free(c->rests.whole[i]);
		c->rests.whole[i] = NULL;
	}
	for (i = 0; i < SP_N_LAST_BLOCKS; i++) {
		block_put(c->rests.last[i]);
		c->rests.last[i] = NULL;
	}
}

void sp_rests_done(struct sp_capture *c)
{
	size_t i;

	for (i = 0; i < SP_N_REST_CPUS; i++)
		sp_rest_free(c->rests.unclaimed[i]);
	sp_rests_idle(c);
}
