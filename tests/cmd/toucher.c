/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * toucher FILE: touches pages of each kind of memory for the first time, and says of each kind how many faults the
 * kernel has counted for it: NAME MINOR MAJOR, and in the end "all" of them. FILE's pages are dropped from the cache
 * before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

enum { PAGE = 4096, HEAP = 700, BSS = 500, STACK = 300, THREAD = 200, ANON = 900 };

static char bss[BSS * PAGE];
static struct rusage before;

static void begin(void)
{
	getrusage(RUSAGE_SELF, &before);
}

static void end(const char *name)
{
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	printf("%s %ld %ld\n", name, now.ru_minflt - before.ru_minflt, now.ru_majflt - before.ru_majflt);
}

static KEEP void write_pages(volatile char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i * PAGE] = 1;
}

static KEEP int read_pages(const volatile char *at, size_t n)
{
	int sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += at[i * PAGE];
	return sum;
}

static KEEP void write_stack(void)
{
	char pages[STACK * PAGE];

	write_pages(pages, STACK);
}

static void *write_thread(void *arg)
{
	char pages[THREAD * PAGE];

	write_pages(pages, THREAD);
	return arg;
}

/* Of memory that huge pages would make fewer faults of. */
static void *mapped(size_t n, int protection, int flags, int fd, int advice)
{
	void *at = mmap(NULL, n * PAGE, protection, flags, fd, 0);

	if (at == MAP_FAILED || madvise(at, n * PAGE, advice))
		perror("map memory");
	return at;
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY);
	struct rusage all;
	struct stat st;
	pthread_t thread;
	void *at;

	if (fd < 0 || fstat(fd, &st) || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 256); /* its buffer is made before it counts */
	puts("begin 0 0");
	usleep(500000); /* then its unwind table is there: these are more stacks at once than can wait for it */
	at = sbrk(HEAP * PAGE);
	madvise(at, HEAP * PAGE, MADV_NOHUGEPAGE);
	begin();
	write_pages(at, HEAP);
	end("[heap]");
	begin();
	write_pages(bss, BSS);
	end("data");
	begin();
	write_stack();
	end("[stack]");
	begin();
	if (pthread_create(&thread, NULL, write_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	end("thread");
	at = mapped(ANON, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, MADV_NOHUGEPAGE);
	begin();
	write_pages(at, ANON);
	end("[anon]");
	at = mapped((size_t)st.st_size / PAGE, PROT_READ, MAP_SHARED, fd, MADV_RANDOM);
	begin();
	read_pages(at, (size_t)st.st_size / PAGE);
	end("file");
	getrusage(RUSAGE_SELF, &all);
	printf("all %ld %ld\n", all.ru_minflt, all.ru_majflt);
	return 0;
}
