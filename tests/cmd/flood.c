/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flood SECONDS DEPTH NAME_BYTES: makes N_FUNCS functions at run time, tells long names of theirs in a perf map, and
 * runs through stacks of DEPTH of them in random order, a new one for each MS of its CPU time. When the map is written
 * and before the first of these calls it prints the map's path.
 */
#define FRAMES_ARE_TOLD __attribute__((noinline, noclone))
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { N_FUNCS = 8000, CODE_BYTES = 32, MAX_NAME = 4096, MS = 20 };

static unsigned char *code;
static unsigned long long seed = 88172645463325252ULL;
static long left;

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static unsigned int draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 32);
}

FRAMES_ARE_TOLD static void burn(void)
{
	long long end = cpu_ns() + MS * 1000000LL;

	while (cpu_ns() < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

/* Called by each of the functions. */
FRAMES_ARE_TOLD static void next(void)
{
	if (left-- > 0)
		((void (*)(void))(code + (size_t)(draw() % N_FUNCS) * CODE_BYTES))();
	else
		burn();
	__asm__ volatile(""); /* no tail call */
}

/* push %rbp; mov %rsp,%rbp; movabs $next,%rax; call *%rax; pop %rbp; ret */
static void make_code(void)
{
	static const unsigned char before[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8}, after[] = {0xff, 0xd0, 0x5d, 0xc3};
	void (*to)(void) = next;

	code = mmap(NULL, (size_t)N_FUNCS * CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (code == MAP_FAILED)
		exit(1);
	for (int i = 0; i < N_FUNCS; i++) {
		unsigned char *at = code + (size_t)i * CODE_BYTES;

		memcpy(at, before, sizeof(before));
		memcpy(at + sizeof(before), &to, sizeof(to));
		memcpy(at + sizeof(before) + sizeof(to), after, sizeof(after));
	}
}

static void write_map(int name_bytes)
{
	static char name[MAX_NAME + 1], path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		exit(1);
	for (int i = 0; i < N_FUNCS; i++) {
		for (int k = 0; k < name_bytes; k++)
			name[k] = (char)('a' + draw() % 26);
		fprintf(f, "%lx %x flood_%d_%s\n", (unsigned long)(code + (size_t)i * CODE_BYTES), CODE_BYTES, i, name);
	}
	fclose(f);
	puts(path);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long long end;
	long depth = argc > 2 ? strtol(argv[2], NULL, 10) : 0, bytes = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	if (argc != 4 || bytes < 0 || bytes > MAX_NAME)
		return 2;
	make_code();
	write_map((int)bytes);
	for (end = time(NULL) + strtol(argv[1], NULL, 10); time(NULL) < end;) {
		left = depth;
		next();
	}
	return 0;
}
