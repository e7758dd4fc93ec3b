/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library whose calls are timed: functions that return in every kind of register, call back, or take a known time.
 */
#ifndef TESTS_VICTIM_TIMED_H
#define TESTS_VICTIM_TIMED_H

#include <immintrin.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
struct two_words {
	long a, b;
};
struct two_doubles {
	double a, b;
};
struct both {
	double a;
	long b;
};
struct large_one {
	long words[20];
};
void timed_spin(uint64_t ns); /* returns when CLOCK_MONOTONIC has gone on by so much, or more */
void timed_last(uint64_t ns); /* spins as long, then ends in a jump to timed_spin() */
void timed_call(void (*call)(void *), void *data);
void timed_wait(void); /* until it is cancelled */
long timed_one(long x);
long double timed_long_double(long double x);
_Complex long double timed_complex(long double x);
struct two_words timed_words(long x);
struct two_doubles timed_doubles(double x);
struct both timed_both(long x);
struct large_one timed_large(long x);
__attribute__((target("avx"))) __m256d timed_vector(__m256d x);
double timed_stack(int a, int b, int c, int d, int e, int f, int g, int h, double i, double j, double k, double l,
		   double m, double n, double o, double p, double q, double r, struct large_one s);
double timed_varargs(int n, ...);
#ifdef __cplusplus
}
#endif

#endif
