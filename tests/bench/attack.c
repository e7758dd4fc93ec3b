/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attack.c: programs that would have the agent work for them: `attack DIRECTORY KIND NUMBER...`, until ended.
 *
 * burn           works a quarter of the time or so, as somebody does who harms nobody.
 * notes N        N processes, each with a mapped file of 1,000 headers over one MiB of notes, which is another file at
 *                each sample, by its time.
 * memfds N BYTES TIMES MS  N processes, each with code in a memfd of BYTES, which end after MS; TIMES of that.
 * names N BYTES  one process with N functions in a perf map, with names of BYTES, and deep random stacks.
 * frames N       the same without frame pointers, and without names: the code would have to be read for each frame.
 * ids N          two processes that run code of N files with build ids of their own.
 * cgroups N      in a cgroup, DIRECTORY: N more in it, and processes in ones of their own that end soon.
 *
 * The code that runs is a section of this program, so that a copy of the program is a file that has it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_NOTES = 1000, NOTES_BYTES = 1 << 20, DEPTH = 200, NODE_BYTES = 256, ID_BYTES = 20 };

struct path {
	size_t at, n;
	void (**next)(struct path *);
	unsigned int rounds;
};

#define CODE __attribute__((section("attack_code"), noipa, aligned(NODE_BYTES)))
extern const char __start_attack_code[], __stop_attack_code[], __ehdr_start[];

/* Copied to other places: they call nothing, and know no address. Each has NODE_BYTES at most. */
CODE static void burn(unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
}

CODE static void node(struct path *p)
{
	size_t i = p->at++;

	if (i < p->n)
		p->next[i](p);
	for (unsigned int k = 0; i == p->n && k < p->rounds; k++)
		__asm__ volatile("" : "+r"(k)::"memory");
	__asm__ volatile("" ::: "memory");
}

CODE __attribute__((optimize("omit-frame-pointer"))) static void frameless(struct path *p)
{
	size_t i = p->at++;

	__asm__ volatile("mov $8, %%ebp" ::: "rbp"); /* it leads nowhere */
	if (i < p->n)
		p->next[i](p);
	for (unsigned int k = 0; i == p->n && k < p->rounds; k++)
		__asm__ volatile("" : "+r"(k)::"memory");
	__asm__ volatile("" ::: "memory");
}

typedef void burn_fn(unsigned int rounds);
enum { MS = 1000000 }; /* rounds: about as many as a millisecond has */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- copies of this program --- */
struct image {
	uint8_t *bytes;
	size_t size;
	uint64_t code; /* offset of burn() */
};

static Elf64_Phdr *image_headers(const struct image *m)
{
	return (Elf64_Phdr *)(m->bytes + ((Elf64_Ehdr *)m->bytes)->e_phoff);
}

static uint64_t image_code(const struct image *m)
{
	uint64_t vaddr = (uint64_t)((const char *)burn - __ehdr_start);

	for (size_t i = 0; i < ((Elf64_Ehdr *)m->bytes)->e_phnum; i++) {
		const Elf64_Phdr *p = &image_headers(m)[i];
		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr < p->p_vaddr + p->p_filesz)
			return vaddr - p->p_vaddr + p->p_offset;
	}
	exit(1);
}

static struct image image_read(void)
{
	struct image m = {0};
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		die("/proc/self/exe");
	m.size = (size_t)st.st_size;
	m.bytes = malloc(m.size);
	if (!m.bytes || read(fd, m.bytes, m.size) != (ssize_t)m.size)
		die("/proc/self/exe");
	close(fd);
	m.code = image_code(&m);
	return m;
}

static uint8_t *image_build_id(const struct image *m)
{
	static const char head[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU"; /* with its NUL */

	uint8_t *found = memmem(m->bytes, m->size, head, sizeof(head));
	if (!found)
		exit(1);
	return found + sizeof(head);
}

static int file_make(const char *name, const struct image *m)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, m->bytes, m->size) != (ssize_t)m->size)
		die(name);
	return fd;
}

static burn_fn *code_map(int fd, uint64_t code)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = code / page * page;
	uint64_t bytes = code - from + (uint64_t)(__stop_attack_code - (const char *)burn);
	char *at = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)from);

	if (at == MAP_FAILED)
		die("mmap");
	return (burn_fn *)(void *)(at + (code - from));
}

/* --- attacks --- */
/* In place of the program's headers: they come first where notes are looked for. */
static struct image notes_image(const struct image *m)
{
	Elf64_Ehdr head = *(Elf64_Ehdr *)m->bytes;
	size_t at = (m->size + 15) / 16 * 16, headers = at + NOTES_BYTES;
	struct image n = {.code = m->code, .size = headers + (N_NOTES + 20) * sizeof(Elf64_Phdr)};

	n.bytes = calloc(1, n.size);
	if (!n.bytes || head.e_phnum > 20)
		exit(1);
	memcpy(n.bytes, m->bytes, m->size);
	for (size_t i = at; i < headers; i += 16)
		n.bytes[i + 4] = 4; /* no name, 4 bytes */
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(n.bytes + headers);
	for (size_t i = 0; i < N_NOTES; i++)
		*p++ = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at, .p_filesz = NOTES_BYTES, .p_align = 4};
	for (size_t i = 0; i < head.e_phnum; i++) {
		if (image_headers(m)[i].p_type != PT_NOTE)
			*p++ = image_headers(m)[i];
	}
	head.e_phoff = headers;
	head.e_phnum = (Elf64_Half)(p - (Elf64_Phdr *)(void *)(n.bytes + headers));
	head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
	memcpy(n.bytes, &head, sizeof(head));
	return n;
}

static void notes(const struct image *m, unsigned int i)
{
	struct image n = notes_image(m);
	struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
	char name[64];

	snprintf(name, sizeof(name), "notes%u", i);
	int fd = file_make(name, &n);
	burn_fn *code = code_map(fd, n.code);
	for (;;) {
		t[1].tv_nsec = (t[1].tv_nsec + 1009) % 1000000000;
		if (futimens(fd, t) < 0)
			die("futimens");
		code(MS);
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void memfd(const struct image *m, size_t bytes, unsigned int ms)
{
	int fd = memfd_create("attack", 0);

	if (fd < 0 || write(fd, m->bytes, m->size) != (ssize_t)m->size || fallocate(fd, 0, 0, (off_t)bytes) < 0)
		die("memfd");
	burn_fn *code = code_map(fd, m->code);
	for (uint64_t until = now_ms() + ms; now_ms() < until;)
		code(MS);
	_exit(0);
}

static void memfds(const struct image *m, unsigned int n, size_t bytes, unsigned int times, unsigned int ms)
{
	for (unsigned int i = 0; i < times; i++) {
		for (unsigned int k = 0; k < n; k++) {
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				memfd(m, bytes, ms);
			}
		}
		while (wait(NULL) > 0)
			;
	}
	pause();
}

static char perf_map[64];

static void perf_map_remove(int signal)
{
	unlink(perf_map);
	_exit(128 + signal);
}

static uint32_t draw(void)
{
	static uint64_t seed = 88172645463325252ULL;

	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33);
}

static void perf_map_write(const char *code, unsigned int n, unsigned int bytes)
{
	snprintf(perf_map, sizeof(perf_map), "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(perf_map, "we");
	if (!f)
		die(perf_map);
	signal(SIGTERM, perf_map_remove);
	for (unsigned int i = 0; i < n; i++) {
		fprintf(f, "%lx %x f%u_", (unsigned long)(code + (size_t)i * NODE_BYTES), NODE_BYTES, i);
		for (unsigned int k = 0; k < bytes; k++)
			putc("abcdefghijklmnopqrstuvwxyz012345"[draw() % 32], f);
		putc('\n', f);
	}
	fclose(f);
}

/* bytes: of each function's name; 0: they have none. */
static void stacks(void (*kind)(struct path *), unsigned int n, unsigned int bytes)
{
	char *code =
	    mmap(NULL, (size_t)n * NODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*next[DEPTH])(struct path *);

	if (code == MAP_FAILED)
		die("mmap");
	for (unsigned int i = 0; i < n; i++)
		memcpy(code + (size_t)i * NODE_BYTES, (const void *)kind, NODE_BYTES);
	if (bytes)
		perf_map_write(code, n, bytes);
	for (;;) {
		for (unsigned int i = 0; i < DEPTH; i++)
			next[i] = (void (*)(struct path *))(void *)(code + (size_t)(draw() % n) * NODE_BYTES);
		struct path p = {.n = DEPTH, .next = next, .rounds = MS};
		node(&p);
	}
}

static void ids(const struct image *m, unsigned int n)
{
	burn_fn **codes = calloc(n, sizeof(*codes));
	uint8_t *id = image_build_id(m);
	char name[64];

	if (!codes)
		exit(1);
	for (unsigned int i = 0; i < n; i++) {
		for (int k = 0; k < ID_BYTES; k++)
			id[k] = (uint8_t)draw();
		snprintf(name, sizeof(name), "junk%u", i);
		int fd = file_make(name, m);
		codes[i] = code_map(fd, m->code);
		close(fd);
	}
	unsigned int first = fork() == 0 ? n / 2 : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = first;; i++)
		codes[i % n](60 * MS);
}

static void cgroups(unsigned int n)
{
	char name[256], procs[300];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%0200u", i);
		mkdir(name, 0755);
	}
	for (unsigned int i = 0;; i++) {
		snprintf(name, sizeof(name), "v%u", i);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", name);
		if (mkdir(name, 0755) < 0)
			die(name);
		if (fork() == 0) {
			int fd = open(procs, O_WRONLY | O_CLOEXEC);
			if (fd < 0 || write(fd, "0", 1) != 1)
				_exit(1);
			burn(60 * MS);
			_exit(0);
		}
		while (wait(NULL) > 0)
			;
		rmdir(name);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3 || chdir(argv[1]) < 0)
		return 2;
	unsigned long numbers[4] = {0};
	for (int i = 3; i < argc && i < 7; i++)
		numbers[i - 3] = strtoul(argv[i], NULL, 10);
	struct image m = image_read();
	unsigned int n = (unsigned int)numbers[0];
	if (!strcmp(argv[2], "notes")) {
		for (unsigned int i = 1; i < n && fork() != 0; i++)
			;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		notes(&m, (unsigned int)getpid());
	} else if (!strcmp(argv[2], "memfds")) {
		memfds(&m, n, numbers[1], (unsigned int)numbers[2], (unsigned int)numbers[3]);
	} else if (!strcmp(argv[2], "names")) {
		stacks(node, n, (unsigned int)numbers[1]);
	} else if (!strcmp(argv[2], "frames")) {
		stacks(frameless, n, 0);
	} else if (!strcmp(argv[2], "cgroups")) {
		cgroups(n);
	} else if (!strcmp(argv[2], "ids")) {
		ids(&m, n);
	} else {
		for (;;) {
			burn(5 * MS);
			usleep(5000 + draw() % 10000);
		}
	}
	return 0;
}
