/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h: the library that ld.so loads into programs (LD_PRELOAD) and that draws a sample of their allocations.
 *
 * It stands before malloc and its like, of whatever library they are, and calls the next ones. A thread counts bytes;
 * distances between sampled bytes are exponential, so that each byte has the same chance (SOPROF_MEMORY bytes is the
 * mean distance; 1: all). A block that has a sampled byte is sampled: sp_memory_taken() is told how many bytes and
 * allocations it stands for, and, where not all are sampled, the block is remembered, so that its free is told, too
 * (where all are, every free is, and the kernel half alone knows the blocks). Those two functions do nothing: probes
 * sit on them. So an allocation that is not sampled costs some ns, and nothing here speaks to soprof. Any
 * thread, signal handlers and children of fork may call everything. Memory is static. Where the
 * table of sampled blocks is full a block is told with address 0: its free will not be seen.
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
/* It changes with each allocation that is drawn, so it tells whether one has called another. */
int64_t sp_memory_left(void);
bool sp_memory_is_exact(void); /* every allocation is sampled */

/* --- blocks.c: the sampled blocks that are allocated --- */
bool sp_block_add(const void *address, uint64_t bytes, uint64_t n); /* false: no place */
/* Removes it. false: it is not there. */
bool sp_block_take(const void *address, uint64_t *ret_bytes, uint64_t *ret_n);

#pragma GCC visibility pop

#endif
