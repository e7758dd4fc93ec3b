/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mem.h: cleanup attributes and growing arrays.
 *
 * Cleanup attributes replace goto: a variable declared SP_FREE is freed at the end of its scope, SP_CLOSE closed,
 * SP_FCLOSE closed as a stream. sp_take_ptr() and sp_take_fd() return the value and disarm the cleanup. sp_grow()
 * grows an array that is kept as pointer, count and capacity.
 * Threads: no state; but sp_heap_..._large() must be called before a second thread is started.
 */
#ifndef SP_BASE_MEM_H
#define SP_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void sp_cleanup_free(void *pointer_to_pointer);
void sp_cleanup_close(const int *fd);
void sp_cleanup_fclose(FILE **stream);
#define SP_FREE __attribute__((cleanup(sp_cleanup_free)))
#define SP_CLOSE __attribute__((cleanup(sp_cleanup_close)))
#define SP_FCLOSE __attribute__((cleanup(sp_cleanup_fclose)))
#define sp_take_ptr(p)                                                                                                 \
	__extension__({                                                                                                \
		__typeof__(p) sp_taken = (p);                                                                          \
		(p) = NULL;                                                                                            \
		sp_taken;                                                                                              \
	})
int sp_take_fd(int *fd);

#define SP_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Both are computed once, in the type that they have in common; numbers whose signs differ are warned of as ever. */
#define SP_CHOOSE(a, is, b)                                                                                            \
	__extension__({                                                                                                \
		__typeof__(1 ? (a) : (b)) sp_a = (a), sp_b = (b);                                                      \
		if (0)                                                                                                 \
			(void)((a)is(b));                                                                              \
		sp_a is sp_b ? sp_a : sp_b;                                                                            \
	})
#define SP_MIN(a, b) SP_CHOOSE(a, <, b)
#define SP_MAX(a, b) SP_CHOOSE(a, >, b)

/*
 * Makes *array hold at least n_wanted elements of `size` bytes (new ones zeroed), growing by half.
 * 0 or -ENOMEM, on which nothing has changed.
 */
int sp_grow(void *array_pointer, size_t *capacity, size_t n_wanted, size_t size);
/* Puts a value behind the n elements of such an array. The same; the value is computed only where there is room. */
#define SP_APPEND(array, n, capacity, ...)                                                                             \
	__extension__({                                                                                                \
		int sp_grown = sp_grow(&(array), &(capacity), (n) + 1, sizeof(*(array)));                              \
		if (sp_grown == 0)                                                                                     \
			(array)[(n)++] = __VA_ARGS__;                                                                  \
		sp_grown;                                                                                              \
	})

/*
 * For a short-lived process with large arrays: malloc() keeps its memory, grows it by `bytes` at a time, and uses huge
 * pages for its beginning where the kernel has them. Else page faults take as long as the work itself.
 */
void sp_heap_make_large(size_t bytes);
/*
 * For one whose large blocks are needed for moments: from these bytes on each is mapped of its own, grows in place, and
 * goes back to the system at once. By default malloc() would keep up to twice the largest block for ever.
 */
void sp_heap_return_large(size_t bytes);
/* What malloc() has given out; 0 under sanitizers, which have a heap of their own. */
size_t sp_heap_used_bytes(void);
/* Where memory is short the kernel ends this process before others: for helpers, without which the rest goes on. */
void sp_process_expendable(void);

#endif
