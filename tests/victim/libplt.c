/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libplt.c: functions that call each other through the PLT, since any of them could be replaced. */
#define EXPORTED __attribute__((noipa, visibility("default")))

EXPORTED int plt_first(int n);
EXPORTED int plt_second(int n);
EXPORTED int plt_third(int n);
EXPORTED int plt_leaf(int n);

int plt_leaf(int n)
{
	for (int i = 0; i < 30; i++)
		__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

int plt_third(int n)
{
	int a = plt_leaf(n), b = plt_leaf(n + 1);

	return a ^ b;
}

int plt_second(int n)
{
	int a = plt_third(n), b = plt_leaf(a), c = plt_third(b);

	return a + b + c;
}

int plt_first(int n)
{
	int a = plt_leaf(n), b = plt_second(n);

	return a - b;
}
