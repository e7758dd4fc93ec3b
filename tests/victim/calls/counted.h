/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library whose calls are counted. X(NAME): functions whose calls the victim counts for itself, too. */
#ifndef TESTS_VICTIM_COUNTED_H
#define TESTS_VICTIM_COUNTED_H

#include <setjmp.h>

#define COUNTED_ALL                                                                                                    \
	X(counted_one)                                                                                                 \
	X(counted_two)                                                                                                 \
	X(counted_mixed)                                                                                               \
	X(counted_varargs)                                                                                             \
	X(counted_struct)                                                                                              \
	X(counted_vector)                                                                                              \
	X(counted_callback)                                                                                            \
	X(counted_jump)                                                                                                \
	X(counted_ifunc)                                                                                               \
	X(counted_inner)                                                                                               \
	X(counted_outer)                                                                                               \
	X(counted_tail)                                                                                                \
	X(counted_signal)                                                                                              \
	X(counted_constructor)

struct large {
	long words[16];
};

#ifdef __cplusplus
extern "C" {
#endif
long counted_one(long x);
long counted_two(long x);
long counted_mixed(long x); /* called, and its address taken */
long counted_taken(long x); /* called by its address alone: not counted, but marked; so is counted_dlsym() */
double counted_varargs(int n, ...);
struct large counted_struct(long first, long last);
double counted_vector(double a, double b, double c, double d, double e, double f, double g, double h);
void counted_callback(void (*call)(void *), void *data);
void counted_jump(jmp_buf where, int value) __attribute__((noreturn));
long counted_ifunc(long x);
long counted_inner(long x);
long counted_outer(long x); /* calls counted_inner(), by way of its PLT */
long counted_tail(long x);  /* jumped to by who calls it last */
void counted_signal(void);
void counted_constructor(void);
long counted_dlsym(long x);
#ifdef __cplusplus
}
#endif

#endif
