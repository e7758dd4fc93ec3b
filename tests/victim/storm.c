/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * storm.c: `storm SECONDS fork|exec`: children that work for 5 ms of a CPU each and end, never more than two at a time,
 * at most 2,000. fork: the child goes on in this program; exec: it executes the program anew (`storm child`).
 */
#include "victim.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* On a busy machine 5 ms of the clock would be little but the start of a program. */
VICTIM static void child_work(void)
{
	double end;

	victim_clock = CLOCK_PROCESS_CPUTIME_ID;
	end = victim_now() + 0.005;
	while (victim_now() < end)
		burn(20000);
}

VICTIM static void child(char **argv, bool exec)
{
	if (exec)
		execl(argv[0], argv[0], "child", (char *)NULL);
	child_work();
	_exit(0);
}

VICTIM static void one(char **argv, bool exec)
{
	pid_t pid = fork();

	if (pid == 0)
		child(argv, exec);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		child_work();
		return 0;
	}
	victim_start(argc, argv);
	for (int n = 0; n < 2000 && going_on(); n++) {
		one(argv, victim_argument && strcmp(victim_argument, "exec") == 0);
		if (n > 0)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
