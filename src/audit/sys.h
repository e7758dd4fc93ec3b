/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys.h: system calls and a few functions over bytes, since the audit library has no libc.
 *
 * The library runs in every counted program, in ld.so's namespace for auditors, before the program's libc is set up.
 * So it may not call a libc, and has no errno, thread-local memory or vector registers. The program may be in a
 * sandbox, so only system calls that ld.so itself makes are used, and madvise, as in any malloc. Results are the
 * kernel's: negative errno.
 */
#ifndef SP_AUDIT_SYS_H
#define SP_AUDIT_SYS_H

#include "audit/x86_64/instructions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline size_t sp_len(const char *s)
{
	size_t n = 0;

	while (s[n] != '\0')
		n++;
	return n;
}

static inline bool sp_equal(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	while (n > 0 && *x == *y)
		x++, y++, n--;
	return n == 0;
}

static inline uint64_t sp_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static inline uint64_t sp_mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ULL;
	return sp_mix(hash, n);
}

#define sp_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define sp_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define sp_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define sp_swap(p, old, new)                                                                                           \
	__extension__({                                                                                                \
		__typeof__(*(p)) sp_old = (old);                                                                       \
		__atomic_compare_exchange_n((p), &sp_old, (new), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);           \
	})

#endif
