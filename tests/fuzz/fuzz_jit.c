/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jit.c: any bytes as code that was made at run time, and as the stack that it runs on.
 *
 * Whatever they do, the search comes to an end, and what it finds lies on the stack, behind a call.
 */
#include "base/mem.h"
#include "require.h"
#include "unwind/x86_64/jit.h"
#include <string.h>

enum { CODE_AT = 0x10000, SP_AT = 0x20000, N_WORDS = 32 };

struct bytes {
	const uint8_t *data;
	size_t size, n_reads;
};

static size_t read_code(void *arg, uint64_t at, void *bytes, size_t n)
{
	struct bytes *b = arg;
	b->n_reads++;
	if (at < CODE_AT || at - CODE_AT >= b->size)
		return 0;
	n = SP_MIN(n, b->size - (size_t)(at - CODE_AT));
	memcpy(bytes, b->data + (at - CODE_AT), n);
	return n;
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t words[N_WORDS] = {0};
	struct bytes b = {.data = data, .size = size};
	const struct sp_jit_memory m = {.read = read_code, .arg = &b};
	struct sp_jit_frame f;
	for (size_t i = 0; i < N_WORDS && i < size; i++)
		words[i] = CODE_AT + (uint64_t)data[size - 1 - i] * 2;
	if (sp_jit_frame_find(&m, CODE_AT, SP_AT, words, N_WORDS, &f) == 0) {
		require(f.cfa >= 8 && f.cfa % 8 == 0 && f.cfa <= 8 * N_WORDS);
		require(sp_jit_is_return(&m, words[f.cfa / 8 - 1]));
		require(f.fp >= SP_JIT_FP_LOST);
	}
	require(b.n_reads < 20000);
	return 0;
}
