/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++'s operators new and delete. Nearly all come by malloc and free, which are ours; those of libraries that have a
 * malloc of their own (tcmalloc, jemalloc, mimalloc) do not, and are told here. All others go on as if we were not
 * there: they are jumped to. Exceptions pass through.
 */
#include "memory/memory.h"

#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

struct operator
{
	const char *name;
	void *next;  /* NULL: none was found yet */
	bool is_own; /* not by way of malloc */
};

/* In old C libraries dlopen() and dladdr() are in a library that the program may lack. */
extern __typeof__(dlopen) dlopen __attribute__((weak));
extern __typeof__(dladdr) dladdr __attribute__((weak));

/* What a library brings along that was opened for itself alone (RTLD_LOCAL) is not among the next ones. */
static void *local_find(const char *name)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
	void *found = NULL;

	sp_memory_looks_up(true);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && dlopen && !found; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		found = library ? dlsym(library, name) : NULL;
	}
	sp_memory_looks_up(false);
	return found;
}

static bool is_in_one_library(const void *a, const void *b)
{
	Dl_info of_a, of_b;

	return a && b && dladdr && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

__attribute__((noinline)) static void *operator_find(struct operator* o)
{
	void *next = sp_memory_next(o->name);

	next = next ? next : local_find(o->name);
	o->is_own = is_in_one_library(next, sp_memory_next("malloc"));
	__atomic_store_n(&o->next, next, __ATOMIC_RELEASE);
	return next;
}

static inline void *operator_next(struct operator* o)
{
	void *next = __atomic_load_n(&o->next, __ATOMIC_ACQUIRE);

	return __builtin_expect(next != NULL, true) ? next : operator_find(o);
}

/* A library has an operator that nobody else sees: it does what they all do without an allocator of their own. */
static void *by_malloc(void *block)
{
	if (!block)
		abort(); /* nobody here can throw std::bad_alloc */
	return block;
}

/*
 * Of the variants' arguments those behind the size are passed on as they are: an alignment, a reference to
 * std::nothrow, or whatever is in the registers.
 */
#define NEW(name, fallback)                                                                                            \
	EXPORT void *name(size_t size, uintptr_t a, uintptr_t b);                                                      \
	EXPORT void *name(size_t size, uintptr_t a, uintptr_t b)                                                       \
	{                                                                                                              \
		static struct operator at = {#name, NULL, false};                                                      \
		void *(*next)(size_t size, uintptr_t a, uintptr_t b) =                                                 \
		    (void *(*)(size_t, uintptr_t, uintptr_t))operator_next(&at);                                       \
		uint64_t before;                                                                                       \
                                                                                                                       \
		if (!next)                                                                                             \
			return fallback;                                                                               \
		if (!at.is_own)                                                                                        \
			return next(size, a, b);                                                                       \
		before = sp_memory_n_given();                                                                          \
		return sp_memory_given_once(next(size, a, b), size, before);                                           \
	}
#define DELETE(name)                                                                                                   \
	EXPORT void name(void *block, uintptr_t a, uintptr_t b);                                                       \
	EXPORT void name(void *block, uintptr_t a, uintptr_t b)                                                        \
	{                                                                                                              \
		static struct operator at = {#name, NULL, false};                                                      \
		void (*next)(void *block, uintptr_t a, uintptr_t b) =                                                  \
		    (void (*)(void *, uintptr_t, uintptr_t))operator_next(&at);                                        \
                                                                                                                       \
		if (next && at.is_own)                                                                                 \
			sp_memory_frees(block);                                                                        \
		if (next)                                                                                              \
			next(block, a, b);                                                                             \
		else                                                                                                   \
			free(block);                                                                                   \
	}
#define ALIGNED aligned_alloc(a, (size + a - 1) / a * a)

NEW(_Znwm, by_malloc(malloc(size + !size)))
NEW(_Znam, by_malloc(malloc(size + !size)))
NEW(_ZnwmRKSt9nothrow_t, malloc(size + !size))
NEW(_ZnamRKSt9nothrow_t, malloc(size + !size))
NEW(_ZnwmSt11align_val_t, by_malloc(ALIGNED))
NEW(_ZnamSt11align_val_t, by_malloc(ALIGNED))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, ALIGNED)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, ALIGNED)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
