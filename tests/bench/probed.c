/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probed push|lea [pair] [thread|threads]: prints the nanoseconds of CPU time that a call of a probed function takes,
 * the least of many runs. pair: with an empty program at the beginning and the end of each call, which it attaches
 * itself. thread: in a thread that is not the process's first. threads: in four at once; the median, since at some
 * moments but one of them runs.
 * probed all: attaches an empty program to all functions of a library, says so, and waits for a signal.
 */
#include "base/error.h"
#include "elf/elf.h"
#include "probe/attach.h"
#include "probe/point.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 15000, RUNS = 40, MOST_THREADS = 4 };

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

static int empty_program(enum sp_probe_kind kind)
{
	const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = (enum bpf_attach_type)sp_probe_attach_type(kind));

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &o);
}

/* How many places. */
static int empty_attach(enum sp_probe_kind kind, const char *library, const char *functions)
{
	static struct sp_probe_link link;
	struct sp_probe_program program = {.fd = empty_program(kind), .kind = kind};
	struct sp_probe_what what = {.globs = &functions, .n_globs = 1, .returns = kind == SP_PROBE_SESSION};
	struct sp_probe_set set;
	struct sp_elf *elf;
	int fd = open(library, O_RDONLY | O_CLOEXEC), r = fd < 0 || program.fd < 0 ? -1 : sp_elf_open_fd(fd, &elf);
	uint64_t *offsets = NULL;

	if (r >= 0)
		r = sp_probe_points(elf, &what, &set);
	if (r >= 0 && !(offsets = calloc(set.n + 1, sizeof(*offsets))))
		r = -1;
	for (size_t i = 0; r >= 0 && i < set.n; i++)
		offsets[i] = set.points[i].offset;
	if (r >= 0)
		r = sp_probe_attach(&program, fd, &(struct sp_probe_at){.offsets = offsets, .n = set.n}, 0, &link);
	free(offsets);
	return r < 0 ? r : (int)set.n;
}

static double ns[MOST_THREADS * RUNS];
struct measuring {
	long (*f)(long);
	double *ns; /* of each run */
};

static void *measure(void *arg)
{
	struct measuring *m = arg;

	for (int i = 0; i < RUNS; i++)
		m->ns[i] = once(m->f);
	return NULL;
}

static int measure_in_threads(long (*f)(long), int n)
{
	struct measuring m[MOST_THREADS];
	pthread_t threads[MOST_THREADS];

	for (int i = 0; i < n; i++) {
		m[i] = (struct measuring){.f = f, .ns = ns + i * RUNS};
		if (pthread_create(&threads[i], NULL, measure, &m[i]))
			return -1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int ns_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool is_push = has_word(argv, "push"), is_all = has_word(argv, "all"), is_pair = has_word(argv, "pair");
	const char *library = getenv("PROBED_LIBRARY");
	struct measuring m = {.f = is_push ? probed_push : probed_lea, .ns = ns};
	int n = 0, n_threads = has_word(argv, "threads") ? MOST_THREADS : has_word(argv, "thread");

	if (is_all || is_pair)
		n = !library || argc < 2 ? -1
		    : is_all             ? empty_attach(SP_PROBE_ENTRY, library, "*")
			     : empty_attach(SP_PROBE_SESSION, library, is_push ? "probed_push" : "probed_lea");
	if (n < 0) {
		fprintf(stderr, "cannot attach\n");
		return 1;
	}
	if (is_all) {
		fprintf(stderr, "attached to %d\n", n);
		pause();
		return 0;
	}
	if (!n_threads)
		measure(&m);
	else if (measure_in_threads(m.f, n_threads))
		return 1;
	n = n_threads > 1 ? n_threads * RUNS : RUNS;
	qsort(ns, (size_t)n, sizeof(*ns), ns_compare);
	printf("%.1f\n", n_threads > 1 ? ns[n / 2] : *ns);
	return 0;
}
