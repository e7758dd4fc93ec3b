/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libnoeh.c: see noeh.c. Everything is exported, so that its functions have names without .eh_frame. */
#define EXPORTED __attribute__((noipa, visibility("default")))

EXPORTED int noeh_inner(int n, void (*f)(void));
EXPORTED int noeh_outer(int n, void (*f)(void));

int noeh_inner(int n, void (*f)(void))
{
	for (volatile int i = 0; i < 20000; i++)
		n += i;
	f();
	return n;
}

int noeh_outer(int n, void (*f)(void))
{
	int r = noeh_inner(n, f);

	return r - n;
}
