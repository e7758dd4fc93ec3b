/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compares.c: libFuzzer is told of comparisons in some runs only (cost.c says in which).
 *
 * It keeps the last few operands, to put them into inputs that it makes. To tell it of each was a third to a half of
 * all time. Linked by --wrap: who calls __sanitizer_cov_trace_X calls __wrap_X here, and __real_X is libFuzzer's.
 * Compiled without sanitizers, which would call it for its own comparison.
 */
#include "cost.h"

bool fuzz_tells_compares;

#define WRAP(NAME, TYPE)                                                                                               \
	void __real___sanitizer_cov_trace_##NAME(TYPE a, TYPE b);                                                      \
	void __wrap___sanitizer_cov_trace_##NAME(TYPE a, TYPE b);                                                      \
	void __wrap___sanitizer_cov_trace_##NAME(TYPE a, TYPE b)                                                       \
	{                                                                                                              \
		if (fuzz_tells_compares)                                                                               \
			__real___sanitizer_cov_trace_##NAME(a, b);                                                     \
	}
WRAP(cmp1, uint8_t)
WRAP(cmp2, uint16_t)
WRAP(cmp4, uint32_t)
WRAP(cmp8, uint64_t)
WRAP(const_cmp1, uint8_t)
WRAP(const_cmp2, uint16_t)
WRAP(const_cmp4, uint32_t)
WRAP(const_cmp8, uint64_t)
