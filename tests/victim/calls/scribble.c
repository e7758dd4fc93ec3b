/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scribble FILE PLUGIN MILLISECONDS: a program whose child gives up root and writes random words into its mapping of
 * the file of calls, mostly where its directory is, while children of the parent call from places that are not known
 * yet, and the parent opens a library again and again. Each of them must end as if nothing was counted. FILE
 * "": nobody writes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long counted_one(long x);
long counted_two(long x);

enum { HEADER = 4096, BLOCK = 16, BLOCKS = 4096, USUAL = 160 /* blocks that a new file has, about */ };

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* The mapping of the file's beginning. */
static uint8_t *find_mapping(const char *path, size_t *ret_size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	unsigned long low, high, offset;
	uint8_t *found = NULL;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, path) && sscanf(line, "%lx-%lx %*s %lx", &low, &high, &offset) == 3 && offset == 0) {
			found = (uint8_t *)low;
			*ret_size = high - low;
		}
	return found;
}

/* A word is another for a moment, or for good: offsets and states of blocks, cursors, the index, records, names. */
static void scribble(uint8_t *at, size_t size)
{
	uint64_t r = random_word();
	volatile uint64_t *word;

	if (r % 4 < 2)
		word = (uint64_t *)(at + HEADER + r / 8 % USUAL * BLOCK) + r / 4 % 2;
	else if (r % 4 == 2)
		word = (uint64_t *)at + r / 8 % 64;
	else
		word = (uint64_t *)at + r / 8 % (size / 8);
	uint64_t was = *word;
	*word = r % 7 == 0 ? random_word() : r % 7 < 4 ? random_word() % size & ~4095ULL : was + r % 65536;
	for (volatile int i = 0; i < (int)(r >> 40) % 200; i++)
		;
	if (r % 64 != 1)
		*word = was;
}

static pid_t start_scribbler(const char *path)
{
	pid_t pid = *path != '\0' ? fork() : 0;
	size_t size = 0;

	if (pid != 0 || *path == '\0')
		return pid;
	uint8_t *at = find_mapping(path, &size);
	if (!at || setgid(65534) != 0 || setuid(65534) != 0 || open(path, O_RDWR) >= 0)
		_exit(1);
	for (;;)
		scribble(at, size);
}

#define CALL x = counted_one(x) + counted_two(x);
#define CALL_8 CALL CALL CALL CALL CALL CALL CALL CALL
#define CALL_64 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8 CALL_8

static void call_all(void)
{
	volatile long keep;
	long x = 0;

	CALL_64
	keep = x;
	(void)keep;
}

static int run_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		call_all();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fprintf(stderr, "a child ended with %x\n", (unsigned)status);
	return status;
}

int main(int argc, char **argv)
{
	struct timespec begin, now;
	pid_t scribbler;
	int n = 0, failed = 0, status;

	if (argc != 4 || (scribbler = start_scribbler(argv[1])) < 0)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		void *plugin = dlopen(argv[2], RTLD_NOW);
		long (*run)(long) = plugin ? (long (*)(long))dlsym(plugin, "plugin_run") : NULL;
		if (!run)
			return 3;
		run(3);
		dlclose(plugin);
		failed |= run_child();
		n++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!failed &&
		 (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < atol(argv[3]));
	if (scribbler > 0 && waitpid(scribbler, &status, WNOHANG) != 0) {
		fprintf(stderr, "nothing was written\n");
		return 4;
	}
	if (scribbler > 0 && kill(scribbler, SIGKILL) == 0)
		waitpid(scribbler, &status, 0);
	printf("%d rounds\n", n);
	return failed != 0;
}
