/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "timed.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void timed_spin(uint64_t ns)
{
	for (uint64_t start = now_ns(); now_ns() - start < ns;)
		;
}

void timed_last(uint64_t ns)
{
	for (uint64_t start = now_ns(); now_ns() - start < ns;)
		;
	timed_spin(ns);
}

void timed_call(void (*call)(void *), void *data)
{
	call(data);
	__asm__ volatile(""); /* no jump */
}

void timed_wait(void)
{
	for (;;)
		pause();
}

long timed_one(long x)
{
	return x + 1;
}

long double timed_long_double(long double x)
{
	return x * 3;
}

_Complex long double timed_complex(long double x)
{
	return x + 2 * x * 1.0iL;
}

struct two_words timed_words(long x)
{
	return (struct two_words){x + 1, x + 2};
}

struct two_doubles timed_doubles(double x)
{
	return (struct two_doubles){x + 1, x + 2};
}

struct both timed_both(long x)
{
	return (struct both){(double)x + 1, x + 2};
}

struct large_one timed_large(long x)
{
	struct large_one l;

	for (int i = 0; i < 20; i++)
		l.words[i] = x + i;
	return l;
}

__m256d timed_vector(__m256d x)
{
	return _mm256_add_pd(x, x);
}

double timed_stack(int a, int b, int c, int d, int e, int f, int g, int h, double i, double j, double k, double l,
		   double m, double n, double o, double p, double q, double r, struct large_one s)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + i + j + k + l + m + n + o + p + 2 * q +
	       3 * r + (double)s.words[19];
}

double timed_varargs(int n, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		sum += (i + 1) * va_arg(list, double);
	va_end(list);
	return sum;
}
