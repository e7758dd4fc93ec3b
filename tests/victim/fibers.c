/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fibers.c: four fibers on stacks that are made up by hand, as libraries do it (fibers_code.S):
 *   zero_first   never returns, and has 0 for a return address (Ruby)
 *   planted_first  never returns, and has for a return address what shall run if it did (perl's Coro: abort)
 *   landed_first has for a return address code that ends the program (Boost's and PHP's make_fcontext)
 *   plain_first  has 0, too, but could return: nothing tells that its stack begins there, and so it is cut. Only with
 *                the argument "plain".
 */
#include "victim.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 65536, SAVED = 6 };

struct maker {
	void *enter, *landing;
};
void fibers_switch(void **from, void *to);
void fibers_maker(struct maker *ret);

static void *main_sp, *zero_sp, *planted_sp, *landed_sp, *plain_sp;

VICTIM static void zero_work(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void planted_work(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void landed_work(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void plain_work(void)
{
	burn(100000);
	KEEP_FRAME();
}

__attribute__((noreturn)) VICTIM static void zero_first(void)
{
	for (;;) {
		zero_work();
		fibers_switch(&zero_sp, main_sp);
	}
}

__attribute__((noreturn)) VICTIM static void planted_first(void)
{
	for (;;) {
		planted_work();
		fibers_switch(&planted_sp, main_sp);
	}
}

VICTIM static void landed_first(void)
{
	while (landed_sp) {
		landed_work();
		fibers_switch(&landed_sp, main_sp);
	}
}

VICTIM static void plain_first(void)
{
	while (plain_sp) {
		plain_work();
		fibers_switch(&plain_sp, main_sp);
	}
}

/* rbx, rbp, r12 to r15, where to go, and what stands there for a return address; the frame's address is aligned. */
static void *stack_of(void *enter, void *return_address, void *rbx, void *rbp)
{
	void **top = aligned_alloc(16, SIZE) + SIZE, **sp = top - 1 - 1 - SAVED;

	memset(top - SIZE / sizeof(*top), 0, SIZE);
	sp[SAVED - 1] = rbx;
	sp[SAVED - 2] = rbp;
	sp[SAVED] = enter;
	sp[SAVED + 1] = return_address;
	return sp;
}

VICTIM static void resume(void *sp)
{
	fibers_switch(&main_sp, sp);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	struct maker maker;

	victim_start(argc, argv);
	fibers_maker(&maker);
	zero_sp = stack_of(zero_first, NULL, NULL, NULL);
	planted_sp = stack_of(planted_first, (void *)abort, NULL, NULL);
	landed_sp = stack_of(maker.enter, NULL, landed_first, maker.landing);
	plain_sp = stack_of(plain_first, NULL, NULL, NULL);
	while (going_on()) {
		resume(zero_sp);
		resume(planted_sp);
		resume(landed_sp);
		if (victim_argument)
			resume(plain_sp);
	}
	return 0;
}
