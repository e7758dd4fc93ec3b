/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h: the library that ld.so loads into programs (LD_PRELOAD) and that draws a sample of their allocations.
 *
 * It stands before malloc and its like, and C++'s operators, of whatever library they are, and calls the next ones. A
 * thread counts bytes; distances between sampled bytes are exponential, so that each byte has the same chance
 * (SOPROF_MEMORY bytes is the mean distance; 1: all). A block that has a sampled byte is sampled: sp_memory_taken() is
 * told how many bytes and allocations it stands for, and, where not all are sampled, the block is remembered, so that
 * its free is told, too (where all are, every free is, and the kernel half alone knows the blocks). Those two functions
 * do nothing: probes sit on them. So an allocation that is not sampled costs some ns, and nothing here speaks to
 * soprof. Any thread, signal handlers and children of fork may call everything. Memory is static. Where the table of
 * sampled blocks is full a block is told with address 0: its free will not be seen.
 */
#ifndef SP_MEMORY_MEMORY_H
#define SP_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* --- x86_64/hooks.S, and what probes take from them: the arguments, in this order --- */
__attribute__((visibility("default"))) void sp_memory_taken(const void *address, uint64_t bytes, uint64_t n);
__attribute__((visibility("default"))) void sp_memory_freed(const void *address);

/* --- sample.c --- */
/* What an allocation of so many bytes stands for. false: it is not sampled. */
bool sp_memory_draw(uint64_t size, uint64_t *ret_bytes, uint64_t *ret_n);
bool sp_memory_is_exact(void);     /* every allocation is sampled */
bool sp_memory_may_be_exact(void); /* it is, or that has not been asked for yet */

/* --- malloc.c --- */
void *sp_memory_next(const char *name); /* the next function of that name; NULL: there is none */
void sp_memory_looks_up(bool is_on);    /* what the thread allocates meanwhile is for us: it is not told */
uint64_t sp_memory_n_given(void);       /* blocks that malloc and its like have given the thread */
/* A block of a function that may have called one of these, when they had given so many. Returns the block. */
void *sp_memory_given_once(void *block, uint64_t size, uint64_t before);
void sp_memory_frees(const void *block); /* before it is given back */

/* --- blocks.c: the sampled blocks that are allocated --- */
enum { SP_BLOCK_BITS = 14 };
extern uint8_t sp_block_counters[1 << SP_BLOCK_BITS]; /* by hash; one that was full once stays so */
static inline uint64_t sp_block_hash(const void *address)
{
	return (((uint64_t)address >> 4) * 0x9e3779b97f4a7c15ULL) >> (64 - SP_BLOCK_BITS);
}
/* false: it is none of them. Of nearly every block that is freed. */
static inline bool sp_block_may_be(const void *address)
{
	return __atomic_load_n(&sp_block_counters[sp_block_hash(address)], __ATOMIC_RELAXED);
}
bool sp_block_add(const void *address, uint64_t bytes, uint64_t n); /* false: no place */
/* Removes it. false: it is not there. */
bool sp_block_take(const void *address, uint64_t *ret_bytes, uint64_t *ret_n);

#pragma GCC visibility pop

#endif
