/* SPDX-License-Identifier: GPL-2.0-or-later */
/* work.c: a fixed piece of work of about a second: sorting, hashing and walking memory in functions of their own. */
#include <stdint.h>
#include <stdlib.h>

enum { N = 1 << 18, ROUNDS = 24 };

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

__attribute__((noipa)) static void fill(uint32_t *numbers, uint32_t seed)
{
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = seed = seed * 1664525u + 1013904223u;
}

__attribute__((noipa)) static uint32_t walk(const uint32_t *numbers)
{
	uint32_t at = 0, sum = 0;

	for (int i = 0; i < N; i++) {
		at = (numbers[at] + (uint32_t)i) % N;
		sum += numbers[at];
	}
	return sum;
}

int main(void)
{
	uint32_t *numbers = malloc(N * sizeof(*numbers));
	uint32_t sum = 0;

	if (!numbers)
		return 1;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		fill(numbers, i);
		sum += walk(numbers);
		qsort(numbers, N, sizeof(*numbers), compare);
		sum += numbers[i];
	}
	free(numbers);
	return sum == 1;
}
