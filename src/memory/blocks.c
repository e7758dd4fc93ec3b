/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampled blocks that are allocated: a table by address. Nearly every free asks for a block that is not there: a
 * counter of 8 bits for each hash, small enough to stay in the processor's first cache, says so for most. No locks:
 * places are claimed and given up by compare-and-swap of the address. The program itself orders a block's allocation
 * before its free. A child of fork has its parent's table, and its parent's blocks.
 */
#include "memory/memory.h"

enum { WAYS = 8, FULL = 255 };

struct block {
	uint64_t address; /* 0: free; 1: being written */
	uint64_t bytes, n;
};
static struct block table[1 << SP_BLOCK_BITS][WAYS];
uint8_t sp_block_counters[1 << SP_BLOCK_BITS];

static void counter_add(uint64_t hash, int change)
{
	uint8_t *c = &sp_block_counters[hash], old = __atomic_load_n(c, __ATOMIC_RELAXED);

	while (old != FULL && !__atomic_compare_exchange_n(c, &old, (uint8_t)(old + change), false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED))
		;
}

bool sp_block_add(const void *address, uint64_t bytes, uint64_t n)
{
	uint64_t hash = sp_block_hash(address);
	struct block *set = table[hash];

	for (int i = 0; i < WAYS; i++) {
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&set[i].address, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		set[i].bytes = bytes;
		set[i].n = n;
		counter_add(hash, 1);
		__atomic_store_n(&set[i].address, (uint64_t)address, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool sp_block_take(const void *address, uint64_t *ret_bytes, uint64_t *ret_n)
{
	uint64_t hash = sp_block_hash(address);
	struct block *set = table[hash];

	if (!sp_block_may_be(address))
		return false;
	for (int i = 0; i < WAYS; i++) {
		if (__atomic_load_n(&set[i].address, __ATOMIC_ACQUIRE) != (uint64_t)address)
			continue;
		*ret_bytes = set[i].bytes;
		*ret_n = set[i].n;
		counter_add(hash, -1);
		__atomic_store_n(&set[i].address, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}
