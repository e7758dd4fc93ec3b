/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampled blocks that are allocated: a table by address. Nearly every free asks for a block that is not there: a
 * counter of 8 bits for each hash, small enough to stay in the processor's first cache, says so for most. No locks:
 * places are claimed and given up by compare-and-swap of the address. The program itself orders a block's allocation
 * before its free. A child of fork has its parent's table, and its parent's blocks.
 */
#include "memory/memory.h"

enum { WAYS = 8, SETS = 1 << 14, COUNTERS = 1 << 14, FULL = 255 };

struct block {
	uint64_t address; /* 0: free; 1: being written */
	uint64_t bytes, n;
};
static struct block table[SETS][WAYS];
static uint8_t counters[COUNTERS]; /* one that was full once stays so */

static uint64_t hash_of(const void *address)
{
	return ((uint64_t)address >> 4) * 0x9e3779b97f4a7c15ULL;
}

static void counter_add(uint64_t hash, int change)
{
	uint8_t *c = &counters[hash >> 50], old = __atomic_load_n(c, __ATOMIC_RELAXED);

	_Static_assert(COUNTERS == 1 << (64 - 50), "all hashes have one");
	while (old != FULL && !__atomic_compare_exchange_n(c, &old, (uint8_t)(old + change), false, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED))
		;
}

static struct block *set_of(uint64_t hash)
{
	return table[hash >> 50];
}

bool sp_block_add(const void *address, uint64_t bytes, uint64_t n)
{
	uint64_t hash = hash_of(address);
	struct block *set = set_of(hash);

	_Static_assert(SETS == 1 << (64 - 50), "all hashes have one");
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
	uint64_t hash = hash_of(address);
	struct block *set = set_of(hash);

	if (!__atomic_load_n(&counters[hash >> 50], __ATOMIC_RELAXED))
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
