/* SPDX-License-Identifier: GPL-2.0-or-later */
/* threads.c: three threads beside main; one gives itself a name. */
#include "victim.h"
#include <pthread.h>
#include <sys/prctl.h>

VICTIM static void thread_work(void)
{
	while (going_on())
		burn(50000);
}

VICTIM static void *plain_thread(void *arg)
{
	thread_work();
	return arg;
}

VICTIM static void *named_thread(void *arg)
{
	prctl(PR_SET_NAME, "named one", 0, 0, 0);
	thread_work();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	victim_start(argc, argv);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, i ? plain_thread : named_thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
