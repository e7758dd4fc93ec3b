/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raised.c: raises signals and handles them, so that many samples fall into the end of a system call that does not go
 * back to where it was made, but to the handler: where nothing was called. Before the handler there is padding.
 */
#include "victim.h"
#include <signal.h>

static volatile unsigned int n_handled;

VICTIM __attribute__((aligned(64))) static void on_raise(int number)
{
	n_handled += (unsigned int)number;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_raise};

	victim_start(argc, argv);
	sigaction(SIGUSR1, &action, NULL);
	while (going_on())
		for (int i = 0; i < 200; i++)
			raise(SIGUSR1);
	return n_handled == 1;
}
