/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libplugin.c: opened by plugin.c; compiled twice, the second time with other frames, to be renamed over the first. */
#ifndef PLUGIN_FRAME
#define PLUGIN_FRAME 40
#endif
#define OWN __attribute__((noipa))

void plugin_work(void (*burn)(unsigned int));

#if PLUGIN_FRAME > 1000
OWN static int plugin_other(int n)
{
	volatile char space[PLUGIN_FRAME / 2];

	space[0] = (char)n;
	return space[0] + 1;
}
#endif

OWN static int plugin_inner(void (*burn)(unsigned int), int n)
{
	volatile char space[PLUGIN_FRAME];

	space[n % PLUGIN_FRAME] = 1;
#if PLUGIN_FRAME > 1000
	n += plugin_other(n);
#endif
	burn(50000);
	return space[0] + n;
}

OWN static int plugin_outer(void (*burn)(unsigned int), int n)
{
	return plugin_inner(burn, n) + 1;
}

OWN void plugin_work(void (*burn)(unsigned int))
{
	volatile int n = 0;

	for (int i = 0; i < 20; i++)
		n += plugin_outer(burn, i);
}
