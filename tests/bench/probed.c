/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probed push|lea [pair]: prints the nanoseconds of CPU time that a call of a probed function takes, the least of many
 * runs. pair: with an empty program at the beginning and the end of each call, which it attaches itself.
 */
#include "base/error.h"
#include "elf/elf.h"
#include "probe/attach.h"
#include "probe/point.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 15000, RUNS = 40 };

long probed_push(long x);
long probed_lea(long x);

static double once(long (*f)(long))
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (long i = 0; i < CALLS; i++)
		f(i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / CALLS;
}

static int empty_program(void)
{
	const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, o,
		    .expected_attach_type = (enum bpf_attach_type)sp_probe_attach_type(SP_PROBE_SESSION));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &o);
}

static int pair_attach(const char *library, const char *function)
{
	static struct sp_probe_link link;
	struct sp_probe_program program = {.fd = empty_program(), .kind = SP_PROBE_SESSION};
	struct sp_probe_what what = {.globs = &function, .n_globs = 1, .returns = true};
	struct sp_probe_set set;
	struct sp_elf *elf;
	int fd = open(library, O_RDONLY | O_CLOEXEC), r = fd < 0 || program.fd < 0 ? -1 : sp_elf_open_fd(fd, &elf);

	if (r >= 0)
		r = sp_probe_points(elf, &what, &set);
	if (r >= 0)
		r = sp_probe_attach(&program, fd, &(struct sp_probe_at){.offsets = &set.points[0].offset, .n = 1}, 0,
				    &link);
	return r;
}

int main(int argc, char **argv)
{
	bool is_push = argc > 1 && !strcmp(argv[1], "push");
	const char *library = getenv("PROBED_LIBRARY");
	double least = 1e9;

	if (argc > 2 && (!library || pair_attach(library, is_push ? "probed_push" : "probed_lea") < 0)) {
		fprintf(stderr, "cannot attach\n");
		return 1;
	}
	for (int i = 0; i < RUNS; i++) {
		double ns = once(is_push ? probed_push : probed_lea);

		least = ns < least ? ns : least;
	}
	printf("%.1f\n", least);
	return 0;
}
