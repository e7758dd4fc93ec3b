/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counted.h"

#include <stdarg.h>

static volatile long n_signals;

#define PLAIN(name)                                                                                                    \
	long name(long x)                                                                                              \
	{                                                                                                              \
		return x + 1;                                                                                          \
	}
PLAIN(counted_one)
PLAIN(counted_two)
PLAIN(counted_mixed)
PLAIN(counted_taken)
PLAIN(counted_inner)
PLAIN(counted_tail)
PLAIN(counted_dlsym)

double counted_varargs(int n, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		sum += i % 2 == 0 ? va_arg(list, double) : va_arg(list, int);
	va_end(list);
	return sum;
}

struct large counted_struct(long first, long last)
{
	struct large l = {{first, [15] = last}};

	return l;
}

double counted_vector(double a, double b, double c, double d, double e, double f, double g, double h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

void counted_callback(void (*call)(void *), void *data)
{
	call(data);
}

void counted_jump(jmp_buf where, int value)
{
	longjmp(where, value);
}

static long chosen(long x)
{
	return x + 1;
}

static void *choose(void)
{
	return chosen;
}

long counted_ifunc(long x) __attribute__((ifunc("choose")));

long counted_outer(long x)
{
	return counted_inner(x) + 1;
}

void counted_signal(void)
{
	n_signals = n_signals + 1;
}

void counted_constructor(void)
{
}
