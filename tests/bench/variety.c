/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * variety.c: `variety DIRECTORY BINARIES STACKS MS [PROCESSES [fresh]]`: work of many programs, by many paths, until
 * killed.
 *
 * In DIRECTORY it makes so many copies of itself, each with a build id of its own, and runs one after the other, so
 * many at a time (as there are CPUs), each for MS milliseconds. A copy goes STACKS / BINARIES paths of its own: half of
 * the time one of a few, else any. A path is a chain of calls, 6 to 40 deep, through 64 functions. `fresh`: a copy is
 * made anew, with another build id, each time it is run, as the programs of a build are.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 40, MIN_DEPTH = 6, N_FUNCTIONS = 64, N_HOT = 5, MAX_BYTES = 8 << 20 };

static uint64_t random_state;

static uint32_t next_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(random_state >> 33);
}

/* --- a path --- */
typedef void step(const uint8_t *path, unsigned left);
static step *const functions[N_FUNCTIONS];

static void burn(void)
{
	for (unsigned i = 0; i < 50000; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

/* Each is a function of its own, of another size, which its caller's frame stays under. */
#define FUNCTION(n)                                                                                                    \
	__attribute__((noipa)) static void path_##n(const uint8_t *path, unsigned left)                                \
	{                                                                                                              \
		volatile char room[16 + 8 * (n % 7)];                                                                  \
                                                                                                                       \
		room[0] = (char)n;                                                                                     \
		if (left)                                                                                              \
			functions[*path % N_FUNCTIONS](path + 1, left - 1);                                            \
		else                                                                                                   \
			burn();                                                                                        \
		room[1] = room[0];                                                                                     \
	}
#define EIGHT(X, a) X(a##0) X(a##1) X(a##2) X(a##3) X(a##4) X(a##5) X(a##6) X(a##7)
#define ALL(X) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) EIGHT(X, 8)
#define NAME(n) path_##n,
ALL(FUNCTION)
static step *const functions[N_FUNCTIONS] = {ALL(NAME)};

static void go(uint64_t binary, uint64_t path)
{
	uint8_t bytes[MAX_DEPTH];
	uint64_t before = random_state;
	unsigned depth;

	random_state = binary * 1000003 + path * 7919;
	depth = MIN_DEPTH + next_random() % (MAX_DEPTH - MIN_DEPTH);
	for (unsigned i = 0; i < depth; i++)
		bytes[i] = (uint8_t)next_random();
	random_state = before;
	functions[bytes[0] % N_FUNCTIONS](bytes + 1, depth - 1);
}

static int work(uint64_t binary, uint64_t n_paths, unsigned ms)
{
	struct timespec t;
	uint64_t end;

	random_state = binary ^ (uint64_t)getpid() << 20;
	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + ms;
	do {
		go(binary, next_random() % (next_random() % 2 ? n_paths : N_HOT));
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 < end);
	return 0;
}

/* --- the copies
 * --------------------------------------------------------------------------------------------------------
 */
static uint8_t *build_id_find(uint8_t *bytes, size_t n, size_t *ret_len)
{
	for (size_t i = 0; i + sizeof(Elf64_Nhdr) + 4 + 20 <= n; i += 4) {
		Elf64_Nhdr h;

		memcpy(&h, bytes + i, sizeof(h));
		if (h.n_namesz != 4 || h.n_type != NT_GNU_BUILD_ID || h.n_descsz > 64 ||
		    memcmp(bytes + i + sizeof(h), "GNU", 4) != 0)
			continue;
		*ret_len = h.n_descsz;
		return bytes + i + sizeof(h) + 4;
	}
	return NULL;
}

static bool copy_make(const char *path, uint8_t *bytes, size_t n, uint8_t *id, size_t id_len, uint64_t number)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	bool well;

	random_state = number + 1;
	for (size_t i = 0; i < id_len; i++)
		id[i] = (uint8_t)next_random();
	well = fd >= 0 && write(fd, bytes, n) == (ssize_t)n;
	if (fd >= 0)
		close(fd);
	return well;
}

static struct { /* what is copied: this program */
	uint8_t bytes[MAX_BYTES], *id;
	size_t n, id_len;
} original;

static bool original_read(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, original.bytes, sizeof(original.bytes));

	original.n = size > 0 ? (size_t)size : 0;
	original.id = build_id_find(original.bytes, original.n, &original.id_len);
	return original.id != NULL;
}

/* Of this number, in the place of this one of those that run. */
static bool copy_put(const char *directory, unsigned place, uint64_t number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/program-%03u", directory, place);
	unlink(path); /* the one that was there may run still */
	return copy_make(path, original.bytes, original.n, original.id, original.id_len, number);
}

static bool copies_make(const char *directory, unsigned n)
{
	bool well = original_read();

	for (unsigned i = 0; well && i < n; i++)
		well = copy_put(directory, i, i);
	return well;
}

static pid_t start(const char *directory, unsigned binary, const char *n_paths, const char *ms)
{
	pid_t pid = fork();
	char path[4096], number[16];

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/program-%03u", directory, binary);
	snprintf(number, sizeof(number), "%u", binary);
	execl(path, path, "--work", number, n_paths, ms, (char *)NULL);
	_exit(127);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0, running = 0, most, next = 0;
	bool fresh = argc > 6 && !strcmp(argv[6], "fresh");
	uint64_t n_made = (uint64_t)getpid() << 32; /* no number twice in any run */
	char paths[16];

	if (argc == 5 && !strcmp(argv[1], "--work"))
		return work(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
			    (unsigned)strtoul(argv[4], NULL, 10));
	if (argc < 5 || !n || !copies_make(argv[1], n))
		return 1;
	snprintf(paths, sizeof(paths), "%lu", strtoul(argv[3], NULL, 10) / n);
	most = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	for (;; next = (next + 1) % n) {
		if (fresh && !copy_put(argv[1], next, n_made++))
			return 1;
		if (start(argv[1], next, paths, argv[4]) < 0)
			return 1;
		if (++running >= most && wait(NULL) > 0)
			running--;
	}
}
