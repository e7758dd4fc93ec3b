/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocate.c: allocates in every way, and says what it has had and what it has not freed: "BLOCKS BYTES LIVE
 * LIVE_BYTES CHUNKS MALLINFO INFO", as it asked for them, its children too. The last three are of the blocks that libc
 * had given by then: what these take, and what mallinfo2() and malloc_info() say. With a number N, small blocks N
 * times, of which a tenth stays. With "-" before that it has some blocks already, says "ready", waits for a line, and
 * has no children; the ledger is of what comes then. With ALLOCATE_NEW in the environment C++'s operators allocate,
 * too.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP static __attribute__((noinline))

struct ledger {
	unsigned long blocks, bytes, live, live_bytes;
};
static struct ledger *ledger; /* the children's, too */
static unsigned long chunks;
static bool has_waited;
static void *early[3]; /* had before the line, freed afterwards */

static void *had(void *block, size_t size)
{
	if (!block)
		abort();
	__atomic_add_fetch(&ledger->blocks, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ledger->bytes, size, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ledger->live, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ledger->live_bytes, size, __ATOMIC_RELAXED);
	return block;
}

/* A block of libc's that stays. */
static void keep(void *block, size_t size)
{
	had(block, size);
	chunks += malloc_usable_size(block) + sizeof(size_t);
}

static void gone(size_t size)
{
	__atomic_sub_fetch(&ledger->live, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&ledger->live_bytes, size, __ATOMIC_RELAXED);
}

KEEP void leak_all(void)
{
	for (size_t i = 0; i < 100; i++)
		keep(malloc(1000 + i), 1000 + i);
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
	keep(block, 3000);
}

KEEP void align(void)
{
	void *block;

	keep(aligned_alloc(64, 640), 640);
	keep(memalign(128, 1280), 1280);
	keep(valloc(5000), 5000);
#ifndef HAS_MUSL /* which has no pvalloc */
	keep(pvalloc(4096), 4096);
#endif
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

/* By a library that is opened now: C++'s operators, which take from malloc. */
KEEP void opened(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	void *(*take)(size_t) = library ? (void *(*)(size_t))dlsym(library, "_Znwm") : NULL;
	void (*give)(void *) = library ? (void (*)(void *))dlsym(library, "_ZdlPv") : NULL;

	for (int i = 0; i < 30 && take && give; i++) {
		void *block = had(take(444), 444);

		if (i % 3)
			continue;
		give(block);
		gone(444);
	}
}

/* Those of an allocator that was preloaded, or linked to: with ALLOCATE_NEW. */
KEEP void operators(void)
{
	void *(*take)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
	void *(*take_many)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znam");
	void (*give)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "_ZdlPvm");
	void (*give_many)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdaPv");

	for (size_t i = 0; i < 60; i++) {
		size_t size = 500 + 1000 * i; /* of each size class, and beyond */
		void *block = had(take(size), size), *more = had(take_many(3 * size), 3 * size);

		if (i % 3)
			continue;
		give(block, size);
		gone(size);
		give_many(more);
		gone(3 * size);
	}
}

/* A child of fork frees what its parent has, its own copy; what it has itself counts, too. */
KEEP void child(void)
{
	void *block = had(malloc(12345), 12345);
	pid_t pid = fork();

	if (!pid) {
		free(block);
		for (int i = 0; i < 50; i++) {
			block = had(malloc(333), 333);
			if (i % 5)
				continue;
			free(block);
			gone(333);
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

#ifndef HAS_MUSL
static jmp_buf out;

/* Before libc's: a call that never ends, as where a signal's handler jumps out of malloc; of another size it ends. */
__attribute__((noinline, visibility("default"))) void *pvalloc(size_t size)
{
	if (size == 10)
		longjmp(out, 1);
	return valloc((size + 4095) & ~4095UL);
}

KEEP void jump(void)
{
	for (volatile int i = 0; i < 3; i++)
		if (!setjmp(out))
			had(pvalloc(10), 10);
	had(malloc(111), 111);
}
#endif

/* What was there before counts for nothing when it goes; a block that realloc leaves where it is stays. */
KEEP void late(void)
{
	void *block;

	had(realloc(early[2], 5000), 5000);
	block = had(malloc(800), 800);
	if (realloc(block, PTRDIFF_MAX))
		abort();
	block = had(malloc(700), 700);
	if (realloc(block, PTRDIFF_MAX))
		abort();
	free(block);
	gone(700);
#ifndef HAS_MUSL
	jump();
#endif
}

KEEP void early_have(void)
{
	char line[8];

	for (int i = 0; i < 3; i++)
		early[i] = malloc(600);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		abort();
	has_waited = true;
	free(early[0]);
	free(early[1]);
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

static size_t libc_has(void)
{
#ifdef HAS_MUSL /* which does not say */
	return 0;
#else
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#endif
}

/* The last number of this kind is that of all arenas. */
static size_t number_of(const char *words, const char *kind)
{
	const char *at = NULL, *size;

	for (const char *next = strstr(words, kind); next; next = strstr(next + 1, kind))
		at = next;
	size = at ? strstr(at, "size=\"") : NULL;
	return size ? strtoul(size + 6, NULL, 10) : 0;
}

/* As malloc_info() has it: all but what is free. By stderr, since a file of its own would be allocated. */
static size_t info_has(void)
{
#ifdef HAS_MUSL
	return 0;
#else
	static char words[1 << 16];
	int file = memfd_create("info", 0), before = dup(STDERR_FILENO);
	ssize_t n;

	if (file < 0 || dup2(file, STDERR_FILENO) < 0 || malloc_info(0, stderr) || fflush(stderr))
		abort();
	n = pread(file, words, sizeof(words) - 1, 0);
	words[n < 0 ? 0 : n] = '\0';
	dup2(before, STDERR_FILENO);
	close(before);
	close(file);
	return number_of(words, "<system type=\"current\"") + number_of(words, "<total type=\"mmap\"") -
	       number_of(words, "<total type=\"fast\"") - number_of(words, "<total type=\"rest\"");
#endif
}

KEEP void every_way(void)
{
	size_t before, info_before;

	free(had(malloc(1), 1)); /* the first brings libc's own */
	gone(1);
	usleep(200000); /* the tables that its stack has asked for come */
	before = libc_has();
	info_before = info_has();
	leak_all();
	leak_none();
	grow();
	align();
	before = libc_has() - before;
	info_before = info_has() - info_before;
	map();
	if (has_waited)
		late();
	else
		child();
	threads();
	opened();
	if (getenv("ALLOCATE_NEW"))
		operators();
	printf("%lu %lu %lu %lu %lu %zu %zu\n", ledger->blocks, ledger->bytes, ledger->live, ledger->live_bytes, chunks,
	       before, info_before);
}

int main(int argc, char **argv)
{
	static char buffer[BUFSIZ];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && !strcmp(argv[1], "-")) {
		early_have();
		argv++;
		argc--;
	} else {
		had(ledger, sizeof(*ledger));
	}
	if (argc > 1) {
		small(strtoul(argv[1], NULL, 10));
		printf("%lu %lu %lu %lu\n", ledger->blocks, ledger->bytes, ledger->live, ledger->live_bytes);
		return 0;
	}
	every_way();
	return 0;
}
