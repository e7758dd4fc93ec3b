/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile.c: processes that make trouble for a profiler, and burn CPU time in hostile_work() meanwhile, for SECONDS.
 *   hostile fuse SECONDS DIR FILE   mounts a FUSE file system on DIR (in a mount namespace of its own) that serves FILE
 * as DIR/file, executes that (`DIR/file SECONDS`), and then answers nothing any more hostile maps SECONDS DIR N      N
 * executable mappings of a file whose path has 3,800 bytes hostile file SECONDS FILE       maps FILE executable,
 * without looking into it hostile rewrite SECONDS FILE    the same; and truncates and rewrites FILE all the time
 *   hostile bomb FILE               writes an ELF file of 8 TiB, all holes, with 3 GiB of .eh_frame at its start, of
 * which 96 MiB are there: a row every three bytes hostile stacks SECONDS          no stack comes twice
 */
#include "victim.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_NODE = 2, MAX_READ = 1 << 17, PATH_BYTES = 3800 };

static double end;

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(77);
}

VICTIM static void hostile_work(void)
{
	while (victim_now() < end)
		burn(20000);
}

/* --- a file system that stops answering --- */
static int served;
static struct stat served_st;

static void reply(int fd, const struct fuse_in_header *in, int error, const void *bytes, size_t size)
{
	static char message[sizeof(struct fuse_out_header) + MAX_READ];
	struct fuse_out_header h = {.len = (uint32_t)(sizeof(h) + size), .error = error, .unique = in->unique};

	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), bytes, size);
	(void)!write(fd, message, h.len);
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 1, .blksize = 4096};

	if (node == FILE_NODE) {
		a.mode = S_IFREG | 0755;
		a.size = (uint64_t)served_st.st_size;
	}
	return a;
}

static void reply_read(int fd, const struct fuse_in_header *in)
{
	static char bytes[MAX_READ];
	const struct fuse_read_in *r = (const void *)(in + 1);
	ssize_t n = pread(served, bytes, r->size < MAX_READ ? r->size : MAX_READ, (off_t)r->offset);

	reply(fd, in, n < 0 ? -EIO : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static void serve(int fd, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .entry_valid = 1000, .attr_valid = 1000};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attr_of(in->nodeid)};
	struct fuse_open_out opened = {.fh = 1};

	entry.attr = attr_of(FILE_NODE);
	if (in->opcode == FUSE_INIT)
		reply(fd, in, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP && !strcmp((const char *)(in + 1), "file"))
		reply(fd, in, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_GETATTR)
		reply(fd, in, 0, &attr, sizeof(attr));
	else if (in->opcode == FUSE_OPEN || in->opcode == FUSE_OPENDIR)
		reply(fd, in, 0, &opened, sizeof(opened));
	else if (in->opcode == FUSE_READ)
		reply_read(fd, in);
	else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET)
		reply(fd, in, in->opcode == FUSE_LOOKUP ? -ENOENT : -ENOSYS, "", 0);
}

/* Answers for a second, then only takes, until the time is over; the connection ends with this process. */
static void run_server(int fd)
{
	static union {
		struct fuse_in_header h;
		char bytes[1 << 18];
	} in;
	double silent = victim_now() + 1;

	while (victim_now() < end) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 50) > 0 && !(p.revents & POLLIN))
			usleep(1000); /* not mounted yet */
		else if (p.revents && read(fd, &in, sizeof(in)) > 0 && victim_now() < silent)
			serve(fd, &in.h);
	}
}

static void fuse(const char *seconds, const char *dir, const char *file)
{
	char options[128], path[4096];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	pid_t child;

	served = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || served < 0 || fstat(served, &served_st))
		give_up("open /dev/fuse");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		give_up("make a mount namespace");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
		if (mount("hostile", dir, "fuse", MS_NODEV | MS_NOSUID, options))
			give_up("mount");
		snprintf(path, sizeof(path), "%s/file", dir);
		execl(path, path, seconds, (char *)NULL);
		give_up("execute what the file system serves");
	}
	run_server(fd);
	kill(child, SIGKILL);
}

/* --- mappings --- */
/* A directory so deep that the path of a file in it has PATH_BYTES; the process is in it afterwards. */
static void go_deep(const char *dir)
{
	char name[256];

	memset(name, 'd', 240);
	name[240] = 0;
	if (chdir(dir))
		give_up(dir);
	for (size_t n = strlen(dir); n < PATH_BYTES; n += 241)
		if ((mkdir(name, 0755) && errno != EEXIST) || chdir(name))
			give_up("make a deep directory");
}

static void maps(const char *dir, long n)
{
	int fd;
	long i;

	go_deep(dir);
	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || ftruncate(fd, 2 * 4096))
		give_up("make a file");
	/* Every other page of it, so that no two can be one mapping. */
	for (i = 0; i < n; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, i & 1 ? 4096 : 0) == MAP_FAILED)
			break;
	fprintf(stderr, "%ld mappings\n", i);
	hostile_work();
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		give_up(path);
	close(fd);
}

static void rewrite(const char *path)
{
	static char bytes[1 << 20];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	unsigned seed = 1;

	map_file(path);
	while (n > 0 && victim_now() < end) {
		ssize_t cut = rand_r(&seed) % n;

		if (ftruncate(fd, cut) || pwrite(fd, bytes + cut, (size_t)(n - cut), cut) < 0)
			give_up(path);
		burn(2000);
	}
}

/* --- an ELF bomb --- */
/* A CIE, and the head of one FDE for all the rest: `length` bytes, 64-bit addresses. */
static size_t put_frame_head(unsigned char *to, uint32_t length)
{
	static const unsigned char cie[] = {20, 0,    0,  0, 0, 0,    0, 0, 1,    'z', 'R', 0,
					    1,  0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1,   0,   0};
	uint64_t start = 0x1000, bytes = 1ULL << 36;
	uint32_t back = sizeof(cie) + 4;

	memcpy(to, cie, sizeof(cie));
	to[0] = sizeof(cie) - 4;
	memcpy(to + 24, &length, 4);
	memcpy(to + 28, &back, 4);
	memcpy(to + 32, &start, 8);
	memcpy(to + 40, &bytes, 8);
	to[48] = 0; /* no augmentation */
	return 49;
}

static void bomb(const char *path)
{
	enum { BODY = 96 << 20 };
	static const char names[] = "\0.eh_frame\0.shstrtab";
	Elf64_Ehdr h = {.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = 1,
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_phoff = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2,
			.e_shoff = 1ULL << 40};
	Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 1ULL << 43, .p_memsz = 1ULL << 43};
	Elf64_Shdr s[3] = {
	    {0},
	    {.sh_name = 1,
	     .sh_type = SHT_PROGBITS,
	     .sh_flags = SHF_ALLOC,
	     .sh_addr = 4096,
	     .sh_offset = 4096,
	     .sh_size = 3ULL << 30},
	    {.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = (1ULL << 40) + sizeof(s), .sh_size = sizeof(names)}};
	unsigned char *body = malloc(BODY);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	size_t at = body ? put_frame_head(body, BODY - 28) : 0;

	memcpy(h.e_ident, "\177ELF\2\1\1", 7);
	for (int i = 0; at + 3 <= BODY; i++, at += 3) { /* advance, then another CFA */
		body[at] = 0x44;
		body[at + 1] = 0x0e;
		body[at + 2] = (unsigned char)(8 + 8 * (i & 7));
	}
	if (fd < 0 || ftruncate(fd, 1LL << 43) || pwrite(fd, &h, sizeof(h), 0) < 0 ||
	    pwrite(fd, &p, sizeof(p), sizeof(h)) < 0 || pwrite(fd, body, BODY, 4096) < 0 ||
	    pwrite(fd, s, sizeof(s), 1LL << 40) < 0 ||
	    pwrite(fd, names, sizeof(names), (1LL << 40) + (long)sizeof(s)) < 0)
		give_up(path);
	free(body);
}

/* --- stacks that never come again --- */
VICTIM static void left(uint64_t way, int depth);
VICTIM static void right(uint64_t way, int depth)
{
	if (!depth)
		burn(200);
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	KEEP_FRAME();
}
VICTIM static void left(uint64_t way, int depth)
{
	if (!depth)
		burn(200);
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	KEEP_FRAME();
}

static void stacks(void)
{
	uint64_t way = 88172645463325252ULL;

	while (victim_now() < end) {
		way ^= way << 13;
		way ^= way >> 7;
		way ^= way << 17;
		left(way, 60);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	end = victim_now() + (argc > 2 ? strtod(argv[2], NULL) : 0);
	if (!strcmp(what, "bomb")) {
		bomb(argv[2]);
	} else if (!strcmp(what, "fuse") && argc == 5) {
		fuse(argv[2], argv[3], argv[4]);
	} else if (!strcmp(what, "maps") && argc == 5) {
		maps(argv[3], strtol(argv[4], NULL, 10));
	} else if (!strcmp(what, "rewrite") && argc == 4) {
		rewrite(argv[3]);
	} else if (!strcmp(what, "file") && argc == 4) {
		map_file(argv[3]);
		hostile_work();
	} else if (!strcmp(what, "stacks")) {
		stacks();
	} else {
		return 2;
	}
	return 0;
}
