/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * require.h: how a fuzzer says what must hold.
 *
 * It aborts, which libFuzzer reports as a finding with the bytes that led to it; assert() is not used, since a build
 * with NDEBUG would take it out. libFuzzer calls its target by name: the declaration is here, too. No state.
 */
#ifndef TESTS_FUZZ_REQUIRE_H
#define TESTS_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds)
{
	if (!holds)
		abort();
}

#endif
