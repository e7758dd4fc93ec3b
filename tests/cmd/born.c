/* SPDX-License-Identifier: GPL-2.0-or-later */
/* born SECONDS: makes threads that do nearly nothing, four at once, for so many seconds. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { N_AT_ONCE = 4 };

static void *work(void *arg)
{
	for (volatile int i = 0; i < 2000; i++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? strtol(argv[1], NULL, 10) : 1);
	pthread_t threads[N_AT_ONCE];

	while (time(NULL) < end) {
		for (int i = 0; i < N_AT_ONCE; i++)
			if (pthread_create(&threads[i], NULL, work, NULL))
				return 1;
		for (int i = 0; i < N_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
