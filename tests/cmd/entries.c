/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries LIBRARY LINKER PROBES OUT COMMAND...: runs COMMAND with a uprobe at each function of LIBRARY (a copy that
 * nobody else uses) that PROBES names, and writes how often each was entered. The probes go with this process.
 * PROBES: lines `entry VADDR`, `jump VADDR TARGET CONDITION`: from inside of the library to an entry; 16: always.
 * OUT: lines VADDR TABLE POINTER LINKER INSIDE, by where the function returns to: behind a call by a linkage table or
 * another call outside of the library, into ld.so, or into the library. Exit code: COMMAND's; 77: this kernel has none.
 */
#include "entries.h"
#include "entries.skel.h"

#include <bpf/bpf.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MULTI = 48 }; /* BPF_TRACE_UPROBE_MULTI, from Linux 6.6 on */
struct link_create { /* union bpf_attr, of BPF_LINK_CREATE */
	uint32_t program, target, type, flags;
	uint64_t path, offsets, reference_counters, cookies;
	uint32_t n, multi_flags, pid;
};
enum { MAX_LOADS = 16 };
struct library {
	Elf64_Phdr loads[MAX_LOADS];
	size_t n;
	uint64_t bytes; /* of addresses, from 0 on */
};
static struct {
	uint64_t vaddr[MAX_PROBES], target[MAX_PROBES], offset[MAX_PROBES], cookie[MAX_PROBES];
	unsigned how[MAX_PROBES];
	uint32_t n;
} probes;

static void die(const char *what)
{
	fprintf(stderr, "entries: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void library_read(const char *path, struct library *ret_library)
{
	Elf64_Ehdr header;
	FILE *in = fopen(path, "re");
	struct library l = {.n = 0};
	Elf64_Phdr p;

	if (!in || fread(&header, sizeof(header), 1, in) != 1 || fseek(in, (long)header.e_phoff, SEEK_SET))
		die(path);
	for (unsigned i = 0; i < header.e_phnum && fread(&p, sizeof(p), 1, in) == 1; i++) {
		if (p.p_type != PT_LOAD || l.n == MAX_LOADS)
			continue;
		l.loads[l.n++] = p;
		l.bytes = p.p_vaddr + p.p_memsz > l.bytes ? p.p_vaddr + p.p_memsz : l.bytes;
	}
	fclose(in);
	*ret_library = l;
}

static bool offset_of(const struct library *l, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < l->n; i++) {
		const Elf64_Phdr *p = &l->loads[i];

		if ((p->p_flags & PF_X) && vaddr - p->p_vaddr < p->p_filesz) {
			*ret_offset = vaddr - p->p_vaddr + p->p_offset;
			return true;
		}
	}
	return false;
}

static void probes_read(const char *path, const struct library *l)
{
	FILE *in = fopen(path, "re");
	char line[128];

	if (!in)
		die(path);
	while (fgets(line, sizeof(line), in) && probes.n < MAX_PROBES) {
		uint32_t i = probes.n;

		probes.how[i] = HOW_ENTRY;
		if (sscanf(line, "jump %" SCNx64 " %" SCNx64 " %u", &probes.vaddr[i], &probes.target[i],
			   &probes.how[i]) != 3) {
			if (sscanf(line, "entry %" SCNx64, &probes.vaddr[i]) != 1)
				continue;
			probes.target[i] = probes.vaddr[i];
		}
		probes.n += offset_of(l, probes.vaddr[i], &probes.offset[i]);
	}
	fclose(in);
}

/* Jumps add to the counts of the function that they go to. */
static void cookies_make(void)
{
	for (uint32_t i = 0; i < probes.n; i++) {
		uint32_t k = 0;

		while (k < probes.n && (probes.how[k] != HOW_ENTRY || probes.vaddr[k] != probes.target[i]))
			k++;
		if (k == probes.n) {
			errno = EINVAL;
			die("a jump to no entry");
		}
		probes.cookie[i] = COOKIE(probes.vaddr[i], probes.how[i], k);
	}
}

static int attach(int program, const char *path)
{
	struct link_create a = {.program = (uint32_t)program,
				.type = MULTI,
				.path = (uintptr_t)path,
				.offsets = (uintptr_t)probes.offset,
				.cookies = (uintptr_t)probes.cookie,
				.n = probes.n};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
}

static int command_run(char **command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		die(command[0]);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		die("fork");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void counts_write(const char *path, int map)
{
	FILE *out = fopen(path, "we");

	if (!out)
		die(path);
	for (uint32_t i = 0; i < probes.n; i++) {
		struct counts c;

		if (probes.how[i] != HOW_ENTRY || bpf_map_lookup_elem(map, &i, &c))
			continue;
		fprintf(out, "%" PRIx64, probes.vaddr[i]);
		for (size_t k = 0; k < N_FROM; k++)
			fprintf(out, " %" PRId64, (int64_t)c.n[k]);
		fputc('\n', out);
		if (c.n_unread)
			fprintf(stderr, "entries: %" PRIx64 ": %" PRId64 " entries without a return address\n",
				probes.vaddr[i], (int64_t)c.n_unread);
	}
	if (fclose(out))
		die(path);
}

int main(int argc, char **argv)
{
	struct entries_bpf *skeleton = entries_bpf__open();
	struct library library, linker;
	int status;

	if (argc < 6)
		return 2;
	library_read(argv[1], &library);
	library_read(argv[2], &linker);
	probes_read(argv[3], &library);
	cookies_make();
	if (!skeleton)
		die("open the program");
	skeleton->rodata->library_bytes = library.bytes;
	skeleton->rodata->linker_bytes = linker.bytes;
	bpf_program__set_expected_attach_type(skeleton->progs.entry, (enum bpf_attach_type)MULTI);
	if (entries_bpf__load(skeleton) || attach(bpf_program__fd(skeleton->progs.entry), argv[1]) < 0) {
		fprintf(stderr, "entries: %u probes: %s\n", probes.n, strerror(errno));
		return errno == EINVAL || errno == EPERM ? 77 : 1;
	}
	status = command_run(argv + 5);
	counts_write(argv[4], bpf_map__fd(skeleton->maps.all_counts));
	entries_bpf__destroy(skeleton);
	return status;
}
