/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plt.c: many short calls through the PLT of the program and of its own library, in libplt.c. */
#include "victim.h"

int plt_first(int n);
int plt_second(int n);

VICTIM static int caller(int n)
{
	int r = 0;

	for (int i = 0; i < 1000; i++)
		r += plt_first(n + i) + plt_second(n - i);
	return r;
}

int main(int argc, char **argv)
{
	int n = 0;

	victim_start(argc, argv);
	while (going_on())
		n += caller(n);
	return n == 1;
}
