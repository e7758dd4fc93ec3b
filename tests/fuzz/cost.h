/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cost.h: what an input of a fuzzer may cost.
 *
 * A target is fuzz_one(), and says by fuzz_cost how much memory it may have at one time, and how much CPU time it may
 * take, as it is built for fuzzing: so much for any input, and so much for each of its bytes. cost.c, which is linked
 * to each target, calls it for libFuzzer and aborts when an input takes more, memory at once, CPU time three times in
 * a row. At the end it prints the most that an input has taken, by which bounds are set. Other threads and processes
 * are not counted.
 */
#ifndef TESTS_FUZZ_COST_H
#define TESTS_FUZZ_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_cost {
	size_t bytes, bytes_per_byte;
	uint64_t us, ns_per_byte;
};
extern const struct fuzz_cost fuzz_cost;

/*
 * What suits most. Any input: 1 MiB, for buffers and first tables (the most that one has is 0.8), and 30 ms, four times
 * what the slowest takes on a busy machine. A byte: 400 bytes, since the shortest line of a profile, "a 1", becomes a
 * file, a function, a frame, a stack and a row, with places in five hash tables, all of which double when they grow;
 * 20 us, at which the longest input that libFuzzer makes (4 KiB) takes 80 ms, and what is quadratic more.
 */
#define FUZZ_COST_USUAL                                                                                                \
	{                                                                                                              \
		1 << 20, 400, 30000, 20000                                                                             \
	}

extern bool fuzz_tells_compares; /* compares.c */
/* That this input may have besides, and 2 ns for each, as fuzz_one() finds out: 0 when it begins. */
extern size_t fuzz_bytes_besides;

int fuzz_one(const uint8_t *data, size_t size);
_Noreturn void fuzz_broken(const char *what, const char *file, int line); /* for require.h */

#endif
