/* SPDX-License-Identifier: GPL-2.0-or-later */
/* callback.c: libc's qsort() and bsearch() call back into the program. */
#include "victim.h"

enum { N = 512 };
static int numbers[N];

VICTIM static int compare_sort(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	burn(1500); /* a third of the time is of the sort, so that few samples see it */
	return (x > y) - (x < y);
}

VICTIM static int compare_search(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	burn(3000);
	return (x > y) - (x < y);
}

VICTIM static void sort(void)
{
	for (int i = 0; i < N; i++)
		numbers[i] = (int)((unsigned int)i * 2654435761u >> 8);
	qsort(numbers, N, sizeof(*numbers), compare_sort);
	KEEP_FRAME();
}

VICTIM static long search(void)
{
	long n = 0;

	for (int i = 0; i < N; i++)
		n += bsearch(&i, numbers, N, sizeof(*numbers), compare_search) != NULL;
	return n;
}

int main(int argc, char **argv)
{
	long n = 0;

	victim_start(argc, argv);
	while (going_on()) {
		sort();
		n += search();
	}
	return n < 0;
}
