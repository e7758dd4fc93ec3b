/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin that calls into the counted library. NO_CONSTRUCTOR: none; RAW: only an init array, no DT_INIT. */
#include "counted.h"

long plugin_run(long n);
void *plugin_mixed(void);

#ifndef NO_CONSTRUCTOR
__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < 100; i++)
		counted_constructor();
}
#endif

long plugin_run(long n)
{
	long x = 0;

	for (long i = 0; i < n; i++)
		x = counted_two(x);
	return counted_mixed(x) - 1;
}

void *plugin_mixed(void)
{
	return (void *)counted_mixed;
}
