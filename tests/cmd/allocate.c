/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocate.c: allocates in every way, and says what it has had and what it has not freed: "BLOCKS BYTES LIVE
 * LIVE_BYTES", as it asked for them. With a number N, small blocks N times, of which a tenth stays.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static unsigned long blocks, bytes, live, live_bytes;

static void *had(void *block, size_t size)
{
	if (!block)
		abort();
	__atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bytes, size, __ATOMIC_RELAXED);
	__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&live_bytes, size, __ATOMIC_RELAXED);
	return block;
}

static void gone(size_t size)
{
	__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&live_bytes, size, __ATOMIC_RELAXED);
}

KEEP void leak_all(void)
{
	for (size_t i = 0; i < 100; i++)
		had(malloc(1000 + i), 1000 + i);
}

KEEP void leak_none(void)
{
	for (size_t i = 0; i < 500; i++) {
		void *block = had(calloc(i + 1, 16), (i + 1) * 16);

		free(block);
		gone((i + 1) * 16);
	}
}

KEEP void grow(void)
{
	size_t size = 10;
	char *block = had(realloc(NULL, size), size);

	for (int i = 0; i < 12; i++) {
		block = realloc(block, 2 * size);
		gone(size);
		size *= 2;
		had(block, size);
	}
	block = reallocarray(block, 3, 1000);
	gone(size);
	had(block, 3000);
}

KEEP void align(void)
{
	void *block;

	had(aligned_alloc(64, 640), 640);
	had(memalign(128, 1280), 1280);
	had(valloc(5000), 5000);
	had(posix_memalign(&block, 4096, 8192) ? NULL : block, 8192);
	free(block);
	gone(8192);
}

KEEP void map(void)
{
	void *kept = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *lost = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	had(kept, 1 << 20);
	had(lost, 3 << 20);
	munmap(lost, 3 << 20);
	gone(3 << 20);
}

/* What one thread has, another frees. */
static void *thread_free(void *block)
{
	free(block);
	gone(77);
	had(malloc(99), 99);
	return NULL;
}

KEEP void threads(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_free, had(malloc(77), 77)))
			abort();
		pthread_join(thread, NULL);
	}
}

/* A child of fork frees what its parent has: that is its own copy. */
KEEP void child(void)
{
	void *block = had(malloc(12345), 12345);
	pid_t pid = fork();

	if (!pid) {
		free(block);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

KEEP void small(unsigned long n)
{
	unsigned x = 1;

	for (unsigned long i = 0; i < n; i++) {
		size_t size = 1 + (x = x * 1103515245 + 12345) / 65536 % 6000;
		void *block = had(malloc(size), size);

		if (i % 10 == 0)
			continue;
		free(block);
		gone(size);
	}
}

int main(int argc, char **argv)
{
	static char buffer[BUFSIZ];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (argc > 1) {
		small(strtoul(argv[1], NULL, 10));
	} else {
		leak_all();
		leak_none();
		grow();
		align();
		map();
		child();
		threads();
	}
	printf("%lu %lu %lu %lu\n", blocks, bytes, live, live_bytes);
	return 0;
}
