/* SPDX-License-Identifier: GPL-2.0-or-later */
/* coroutine.c: two coroutines on stacks of their own, switched by swapcontext(). */
#include "victim.h"
#include <ucontext.h>

static ucontext_t contexts[3];

VICTIM static void coroutine_work(unsigned int n)
{
	volatile char space[120];

	space[n % sizeof(space)] = 1;
	burn(100000);
	space[0] = space[1];
}

VICTIM static void switch_to(int from, int to)
{
	swapcontext(&contexts[from], &contexts[to]);
	KEEP_FRAME();
}

VICTIM static void coroutine_a(void)
{
	for (unsigned int n = 0;; n++) {
		coroutine_work(n);
		switch_to(1, 2);
	}
}

VICTIM static void coroutine_b(void)
{
	for (unsigned int n = 0;; n++) {
		coroutine_work(n);
		switch_to(2, 0);
	}
}

VICTIM static void prepare(int number, void (*f)(void))
{
	enum { SIZE = 65536 };

	getcontext(&contexts[number]);
	contexts[number].uc_stack.ss_sp = malloc(SIZE);
	contexts[number].uc_stack.ss_size = SIZE;
	contexts[number].uc_link = &contexts[0];
	makecontext(&contexts[number], f, 0);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	victim_start(argc, argv);
	prepare(1, coroutine_a);
	prepare(2, coroutine_b);
	while (going_on())
		switch_to(0, 1);
	return 0;
}
