/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void sp_cleanup_free(void *pointer_to_pointer)
{
	void *p;

	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
}

void sp_cleanup_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

void sp_cleanup_fclose(FILE **stream)
{
	int saved = errno;

	if (*stream)
		(void)fclose(*stream);
	errno = saved;
}

int sp_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

int sp_grow(void *array_pointer, size_t *capacity, size_t n_wanted, size_t size)
{
	size_t n = *capacity + *capacity / 2, bytes;
	char *old;

	if (n_wanted <= *capacity)
		return 0;
	n = SP_MAX(SP_MAX(n, n_wanted), 8);
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
		return -ENOMEM;
	memcpy(&old, array_pointer, sizeof(old));
	char *array = realloc(old, bytes);
	if (!array)
		return -ENOMEM;
	memset(array + *capacity * size, 0, (n - *capacity) * size);
	memcpy(array_pointer, &array, sizeof(array));
	*capacity = n;
	return 0;
}

size_t sp_heap_used_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

void sp_heap_make_large(size_t bytes)
{
	enum { LARGE_PAGE = 2 << 20, MMAP_MIN = 32 << 20 };
	void *block;

	mallopt(M_MMAP_THRESHOLD, MMAP_MIN); /* more than that it does not take */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	mallopt(M_TOP_PAD, (int)SP_MIN(bytes, (size_t)INT_MAX));
	block = malloc(MMAP_MIN / 2); /* more than what is left of the heap: it grows */
	uintptr_t from = ((uintptr_t)block + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE, end = (uintptr_t)sbrk(0);
	if (block && (uintptr_t)block < end && from < end)
		(void)madvise((void *)from, end - from, MADV_HUGEPAGE); /* NOLINT(performance-no-int-to-ptr) */
	free(block);
}

void sp_heap_return_large(size_t bytes)
{
	mallopt(M_MMAP_THRESHOLD, (int)bytes);
	mallopt(M_TRIM_THRESHOLD, (int)(2 * bytes));
}

void sp_process_expendable(void)
{
	SP_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return; /* then the kernel chooses by size */
}
