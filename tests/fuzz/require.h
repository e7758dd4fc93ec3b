/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * require.h: how a fuzzer says what must hold.
 *
 * It aborts, which libFuzzer reports as a finding with the bytes that led to it; assert() is not used, since a build
 * with NDEBUG would take it out. What an input may cost is said by cost.h, which all
 * targets get from here. No state.
 */
#ifndef TESTS_FUZZ_REQUIRE_H
#define TESTS_FUZZ_REQUIRE_H

#include "cost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define require(holds) ((holds) ? (void)0 : fuzz_broken(#holds, __FILE__, __LINE__))

#endif
