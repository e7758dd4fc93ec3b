/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals.c: handlers interrupt working code 500 times a second and loop themselves; SIGUSR1's handler runs on a stack
 * of its own. Depth and frame sizes of what is interrupted differ.
 */
#include "victim.h"
#include <signal.h>
#include <sys/time.h>

VICTIM static void handler_loop(void)
{
	burn(300000);
	KEEP_FRAME();
}

VICTIM static void on_timer(int number)
{
	(void)number;
	handler_loop();
	KEEP_FRAME();
}

VICTIM static void on_other_stack(int number)
{
	(void)number;
	handler_loop();
	KEEP_FRAME();
}

VICTIM static unsigned int interrupted(unsigned int left)
{
	volatile char space[200];
	unsigned int r;

	space[left % sizeof(space)] = 1;
	if (left == 0) {
		burn(5000);
		return space[0];
	}
	r = interrupted(left - 1);
	return r + space[left];
}

VICTIM static void catch (int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

	sigaction(number, &action, NULL);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	static char other_stack[65536];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct itimerval interval = {.it_interval = {0, 2000}, .it_value = {0, 2000}};
	unsigned int r = 0;

	victim_start(argc, argv);
	sigaltstack(&stack, NULL);
	catch (SIGALRM, on_timer, 0);
	catch (SIGUSR1, on_other_stack, SA_ONSTACK);
	setitimer(ITIMER_REAL, &interval, NULL);
	while (going_on()) {
		for (int i = 0; i < 200; i++)
			r += interrupted(10);
		raise(SIGUSR1);
	}
	return r == 1;
}
