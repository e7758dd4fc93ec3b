/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count.c: counts, while a command runs, how often each function of a file is entered and how often its point is
 * passed.
 *
 *     count FILE [moved] COMMAND...      a line for each function hit: entered, passed, how far the point is moved,
 * loops, function, names. Entries are counted only with "moved", of functions whose point is moved count at OFFSET FILE
 * COMMAND...    one breakpoint, wherever that is; prints how often it was met count check FILE                   no
 * command: whether the kernel takes all points (the file is mapped meanwhile), and refuses the first instructions that
 * are left out for what the kernel does
 *
 * Nothing of soprof's own attaching is used: a program of a few instructions, one link for all entries, one for all
 * points. Exit code 77: this kernel has no such links, or does not let us.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/point.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UPROBE_MULTI = 48, N_MAX = 32768, SKIPPED = 77, NOT_SUPPORTED = 524 };

struct multi { /* of union bpf_attr, for BPF_LINK_CREATE; Debian 12's header has no uprobe_multi */
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static int link_create(int program, const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n)
{
	struct multi m = {.prog_fd = (uint32_t)program,
			  .attach_type = UPROBE_MULTI,
			  .path = (uint64_t)(uintptr_t)path,
			  .offsets = (uint64_t)(uintptr_t)offsets,
			  .cookies = (uint64_t)(uintptr_t)cookies,
			  .count = (uint32_t)n};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &m, sizeof(m));
	return fd < 0 ? -errno : (int)fd;
}

/* Adds one to the element that the cookie names. */
static int load_program(int map)
{
	const struct bpf_insn code[] = {
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie},
	    {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 0, .off = -4},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
	    {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
	    {0},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
	    {.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .imm = 0, .off = 2},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
	    {.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI);
	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "GPL", code, SP_COUNT(code), &opts);
}

struct counting {
	const char *path;
	struct sp_probe_set set;
	int map, program;
};

/* The places of entries, or of points; elements from `first` on. */
static int attach(const struct counting *c, bool entries, uint32_t first)
{
	size_t n = c->set.n;
	SP_FREE uint64_t *offsets = calloc(n + 1, sizeof(*offsets));
	SP_FREE uint64_t *cookies = calloc(n + 1, sizeof(*cookies));
	if (!offsets || !cookies)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct sp_probe_point *p = &c->set.points[i];
		offsets[i] = entries ? p->function : p->offset;
		cookies[i] = first + i;
	}
	return link_create(c->program, c->path, offsets, cookies, n);
}

/* The entries, but for those that the kernel refuses: these are passed over. */
static int attach_entries(struct counting *c)
{
	struct sp_probe_set all = c->set;
	size_t n = 0;
	for (size_t i = 0; i < all.n; i++)
		if (all.points[i].offset != all.points[i].function)
			all.points[n++] = all.points[i];
	c->set.n = n;
	return n ? attach(c, true, 0) : -ENOENT;
}

static int run(char **command)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void print_counts(const struct counting *c)
{
	for (uint32_t i = 0; i < c->set.n; i++) {
		const struct sp_probe_point *p = &c->set.points[i];
		uint64_t entered = 0, passed = 0;
		uint32_t other = N_MAX + i;
		bpf_map_lookup_elem(c->map, &i, &entered);
		bpf_map_lookup_elem(c->map, &other, &passed);
		if (!entered && !passed)
			continue;
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s %" PRIx64, entered, passed, p->offset - p->function,
		       p->loops ? "loops" : "-", p->function);
		for (uint32_t k = 0; k < p->n_names; k++)
			printf(" %s", p->names[k]);
		putchar('\n');
	}
}

static int count(struct counting *c, char **command)
{
	bool moved_only = strcmp(command[0], "moved") == 0;
	int points, entries = -1;
	if (moved_only) /* two breakpoints in each function */
		entries = attach_entries(c);
	points = attach(c, false, N_MAX);
	if (points < 0 || (moved_only && entries < 0)) {
		fprintf(stderr, "attach: %s\n", strerror(points < 0 ? -points : -entries));
		return points == -EINVAL || points == -EPERM ? SKIPPED : 1;
	}
	int r = run(command + moved_only);
	close(points);
	if (entries >= 0)
		close(entries);
	print_counts(c);
	return r;
}

static int count_at(struct counting *c, const char *where, char **command)
{
	uint64_t offset = strtoull(where, NULL, 16), cookie = 0, n = 0;
	uint32_t first = 0;
	int link = link_create(c->program, c->path, &offset, &cookie, 1);
	if (link < 0) {
		fprintf(stderr, "attach: %s\n", strerror(-link));
		return link == -EINVAL || link == -EPERM ? SKIPPED : 1;
	}
	int r = run(command);
	close(link);
	bpf_map_lookup_elem(c->map, &first, &n);
	printf("met %" PRIu64 "\n", n);
	return r;
}

/* --- what the kernel takes --- */

static int map_code(const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size <= 0 || mmap(NULL, (size_t)size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

static int check(const struct counting *c)
{
	size_t n_refused = 0, n_taken = 0;
	uint64_t cookie = 0;
	int r = map_code(c->path), fd = r < 0 ? r : attach(c, false, N_MAX);
	if (fd < 0) {
		fprintf(stderr, "attach: %s\n", strerror(-fd));
		return fd == -EINVAL || fd == -EPERM ? SKIPPED : 1;
	}
	close(fd);
	for (size_t i = 0; i < c->set.n_left_out; i++) {
		const struct sp_probe_left_out *x = &c->set.left_out[i];
		if (x->why != SP_PROBE_PREFIX && x->why != SP_PROBE_OPCODE)
			continue;
		fd = link_create(c->program, c->path, &x->function, &cookie, 1);
		n_refused += fd == -NOT_SUPPORTED;
		n_taken += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	printf("taken %zu; of those left out it refuses %zu, takes %zu\n", c->set.n, n_refused, n_taken);
	return 0;
}

static int find(const char *path, struct sp_probe_set *set)
{
	const struct sp_probe_what what = {.inner = true};
	struct sp_elf *e;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sp_elf_open_fd(fd, &e);
	if (r < 0)
		return sp_fail(r, "open %s", path);
	r = sp_probe_points(e, &what, set);
	sp_elf_close(e);
	return r;
}

static int prepare(struct counting *c)
{
	int r = find(c->path, &c->set);
	if (r < 0 || c->set.n > N_MAX) {
		fprintf(stderr, "%s\n", r < 0 ? sp_error_text(r) : "too many functions");
		return 1;
	}
	c->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", 4, 8, 2 * N_MAX, NULL);
	c->program = c->map < 0 ? -1 : load_program(c->map);
	if (c->program >= 0)
		return 0;
	fprintf(stderr, "load: %s\n", strerror(errno));
	return SKIPPED;
}

int main(int argc, char **argv)
{
	bool checks = argc == 3 && strcmp(argv[1], "check") == 0, at = argc > 4 && strcmp(argv[1], "at") == 0;
	if (argc < 3)
		return 2;
	struct counting c = {.path = argv[checks ? 2 : at ? 3 : 1]};
	int r = prepare(&c);
	if (r == 0 && at)
		r = count_at(&c, argv[2], argv + 4);
	else if (r == 0)
		r = checks ? check(&c) : count(&c, argv + 2);
	sp_probe_set_done(&c.set);
	return r;
}
