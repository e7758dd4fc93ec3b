/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * malloc and its like, in front of the program's own. The next ones are looked up when they are first wanted, by
 * dlsym(), which may allocate itself: it gets memory of ours, which is never given back.
 */
#include "memory/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum { FIRST_BYTES = 64 << 10, ALIGNMENT = 16 };

static union {
	char bytes[FIRST_BYTES];
	max_align_t align;
} first;
static size_t n_first; /* bytes of it that are taken */

static bool is_first(const void *address)
{
	return (uintptr_t)address - (uintptr_t)first.bytes < FIRST_BYTES;
}

/* Zeroed. In front of each block is its size. */
static void *first_take(size_t size)
{
	size_t want = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, at;

	if (size > FIRST_BYTES)
		return NULL;
	at = __atomic_fetch_add(&n_first, want, __ATOMIC_RELAXED);
	if (at + want > FIRST_BYTES)
		return NULL;
	memcpy(first.bytes + at, &size, sizeof(size));
	return first.bytes + at + ALIGNMENT;
}

static size_t first_size(const void *address)
{
	size_t size;

	memcpy(&size, (const char *)address - ALIGNMENT, sizeof(size));
	return size;
}

/* --- the next ones --- */
/* volatile: dlsym() says that it calls nothing here (leaf), and calls malloc. */
static __thread volatile bool looks_up __attribute__((tls_model("initial-exec")));

void sp_memory_looks_up(bool is_on)
{
	looks_up = is_on;
}

void *sp_memory_next(const char *name)
{
	void *found;

	looks_up = true;
	found = dlsym(RTLD_NEXT, name);
	looks_up = false;
	return found;
}

/* Defines next_NAME(): the next function of that name, or NULL, where there is none or we look for one just now. */
#define NEXT(name)                                                                                                     \
	static __typeof__(&name) found_##name;                                                                         \
	__attribute__((noinline, cold)) static __typeof__(&name) find_##name(void)                                     \
	{                                                                                                              \
		__typeof__(&name) f = looks_up ? NULL : (__typeof__(&name))sp_memory_next(#name);                      \
                                                                                                                       \
		if (f)                                                                                                 \
			__atomic_store_n(&found_##name, f, __ATOMIC_RELAXED);                                          \
		return f;                                                                                              \
	}                                                                                                              \
	static inline __typeof__(&name) next_##name(void)                                                              \
	{                                                                                                              \
		__typeof__(&name) f = __atomic_load_n(&found_##name, __ATOMIC_RELAXED);                                \
                                                                                                                       \
		return __builtin_expect(f != NULL, true) ? f : find_##name();                                          \
	}

NEXT(malloc)
NEXT(calloc)
NEXT(realloc)
NEXT(free)
NEXT(aligned_alloc)
NEXT(memalign)
NEXT(posix_memalign)
NEXT(valloc)
NEXT(pvalloc)
NEXT(mmap)
NEXT(munmap)
NEXT(malloc_usable_size)

/* --- what they have in common --- */
static void tell_taken(const void *block, uint64_t bytes, uint64_t n)
{
	bool is_kept;

	if (looks_up) /* it is dlsym()'s, for us */
		return;
	is_kept = sp_memory_is_exact() || sp_block_add(block, bytes, n);

	sp_memory_taken(is_kept ? block : NULL, bytes, n);
}

/* It is ours before anybody else can have its address, so the program sees it last. */
static inline void *taken(void *block, uint64_t size)
{
	uint64_t bytes, n;

	if (block && __builtin_expect(sp_memory_draw(size, &bytes, &n), false))
		tell_taken(block, bytes, n);
	return block;
}

/* Blocks that malloc and its like have given: some call others of them, in some libraries, which then have told it. */
static __thread uint64_t n_given __attribute__((tls_model("initial-exec")));

static inline void *given(void *block, uint64_t size)
{
	n_given++;
	return taken(block, size);
}

uint64_t sp_memory_n_given(void)
{
	return n_given;
}

void *sp_memory_given_once(void *block, uint64_t size, uint64_t before)
{
	return n_given == before ? given(block, size) : block;
}

/* Before it is given back: from then on others may have its address. */
static inline bool freed(const void *block, uint64_t *ret_bytes, uint64_t *ret_n)
{
	if (!block || (!sp_block_take(block, ret_bytes, ret_n) && !sp_memory_is_exact()))
		return false;
	sp_memory_freed(block);
	return true;
}

void sp_memory_frees(const void *block)
{
	uint64_t bytes, n;

	freed(block, &bytes, &n);
}

EXPORT void *malloc(size_t size)
{
	__typeof__(&malloc) next = next_malloc();

	return next ? given(next(size), size) : first_take(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	__typeof__(&calloc) next = next_calloc();
	uint64_t before = n_given;
	size_t bytes;

	if (next)
		return sp_memory_given_once(next(n, size), n * size, before);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : first_take(bytes);
}

__attribute__((noinline)) static void free_rare(void *block)
{
	__typeof__(&free) next = next_free();
	uint64_t bytes, n;

	if (is_first(block) || !next)
		return;
	freed(block, &bytes, &n);
	next(block);
}

/* What nearly every block needs, in few instructions. */
EXPORT void free(void *block)
{
	__typeof__(&free) next = __atomic_load_n(&found_free, __ATOMIC_RELAXED);

	if (__builtin_expect(!next || is_first(block) || sp_block_may_be(block) || sp_memory_may_be_exact(), false))
		free_rare(block);
	else
		next(block);
}

/* A block of ours goes on in one of theirs. */
static void *first_leave(void *block, size_t size)
{
	void *to = malloc(size);

	if (to)
		memcpy(to, block, size < first_size(block) ? size : first_size(block));
	return to;
}

/* What a block stands for that was not remembered, as all are sampled: what it has, since what was asked for is gone.
 */
static void untold(void *block, uint64_t bytes, uint64_t n)
{
	__typeof__(&malloc_usable_size) next = next_malloc_usable_size();

	if (sp_memory_is_exact())
		tell_taken(block, next ? next(block) : 0, 1);
	else
		tell_taken(block, bytes, n);
}

/*
 * The old block is told as freed first, since another thread may get its address before we are back. If it stays, it
 * is told once more, as it was.
 */
EXPORT void *realloc(void *block, size_t size)
{
	__typeof__(&realloc) next = next_realloc();
	uint64_t before = n_given;
	uint64_t bytes, n;
	bool was_sampled;
	void *to;

	if (is_first(block) || !next)
		return block ? first_leave(block, size) : malloc(size);
	was_sampled = freed(block, &bytes, &n);
	to = next(block, size);
	if (!to && was_sampled && size != 0)
		untold(block, bytes, n);
	return sp_memory_given_once(to, size, before);
}

/* Not the next one: that calls realloc, which is ours, and the block would count twice. */
EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(n, size, &bytes))
		return realloc(block, bytes);
	errno = ENOMEM;
	return NULL;
}

/* --- by alignment --- */
static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	__typeof__(&aligned_alloc) next = next_aligned_alloc();
	uint64_t before = n_given;

	return next ? sp_memory_given_once(next(alignment, size), size, before) : none();
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	__typeof__(&memalign) next = next_memalign();
	uint64_t before = n_given;

	return next ? sp_memory_given_once(next(alignment, size), size, before) : none();
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	__typeof__(&posix_memalign) next = next_posix_memalign();
	uint64_t before = n_given;
	int r = next ? next(ret_block, alignment, size) : ENOMEM;

	if (!r)
		sp_memory_given_once(*ret_block, size, before);
	return r;
}

EXPORT void *valloc(size_t size)
{
	__typeof__(&valloc) next = next_valloc();
	uint64_t before = n_given;

	return next ? sp_memory_given_once(next(size), size, before) : none();
}

EXPORT void *pvalloc(size_t size)
{
	__typeof__(&pvalloc) next = next_pvalloc();
	uint64_t before = n_given;

	return next ? sp_memory_given_once(next(size), size, before) : none();
}

/* --- mappings: memory that a program takes by itself. libc's malloc does not come this way --- */
static bool is_memory(int protection, int flags)
{
	return flags & MAP_ANONYMOUS && protection & PROT_WRITE;
}

EXPORT void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
	__typeof__(&mmap) next = next_mmap();
	void *block;

	if (!next)
		return none(), MAP_FAILED;
	block = next(where, size, protection, flags, fd, offset);
	if (block != MAP_FAILED && is_memory(protection, flags))
		taken(block, size);
	return block;
}

EXPORT void *mmap64(void *where, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

/* A mapping is freed with its first page. */
EXPORT int munmap(void *block, size_t size)
{
	__typeof__(&munmap) next = next_munmap();
	uint64_t bytes, n;

	if (!next)
		return none(), -1;
	freed(block, &bytes, &n);
	return next(block, size);
}
