/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oddnames.c: a process and threads whose names hold what breaks outputs: newline, `;`, space and digits, ESC, bad
 * UTF-8.
 */
#include "victim.h"
#include <pthread.h>
#include <sys/prctl.h>

static const char *const names[] = {"a;b c 9", "line\nbreak 7", "\x1b[31mred", "bad\xff\xfe utf", "q\"uo'te<&>"};
enum { N = sizeof(names) / sizeof(*names) };

VICTIM static void work(void)
{
	while (going_on())
		burn(20000);
}

VICTIM static void *named(void *arg)
{
	prctl(PR_SET_NAME, arg, 0, 0, 0);
	work();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[N];

	victim_start(argc, argv);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, named, (void *)names[i]);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
