/* SPDX-License-Identifier: GPL-2.0-or-later */
/* noeh.c: calls through a library that has no .eh_frame but keeps frame pointers (libnoeh.c), and is called back by it.
 */
#include "victim.h"

int noeh_outer(int n, void (*f)(void));

VICTIM static void called_back(void)
{
	burn(20000);
	KEEP_FRAME();
}

VICTIM static int caller(int n)
{
	int r = noeh_outer(n, called_back);

	return r + 1;
}

int main(int argc, char **argv)
{
	int n = 0;

	victim_start(argc, argv);
	while (going_on())
		n += caller(n);
	return n == 1;
}
