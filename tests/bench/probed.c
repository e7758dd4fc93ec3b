/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probed push|lea [pair]: prints the nanoseconds of CPU time that a call of a probed function takes, the least of many
 * runs. pair: with an empty program at the beginning and the end of each call, which it attaches itself.
 * probed push|lea turns [thread|threads]: calls it, and by turns the same function of PROBED_COPY with such a pair,
 * each time for a quarter of a millisecond, so that what else the machine does meets both alike. Prints of both the
 * nanoseconds of the fastest twentieth and of the median turn, and the median of what each turn is to its neighbour.
 * thread: in a thread that is not the process's first. threads: in four at once.
 * probed all: attaches an empty program to all functions of a library, says so, and waits for a signal.
 */
#include "base/error.h"
#include "base/search.h"
#include "elf/elf.h"
#include "probe/attach.h"
#include "probe/point.h"

#include <bpf/bpf.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 15000, RUNS = 40, TURN_CALLS = 300, TURNS = 4000, MOST_THREADS = 4 };

long probed_push(long x);
long probed_lea(long x);

static double once(long (*f)(long), int calls)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (long i = 0; i < calls; i++)
		f(i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / calls;
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

static int number_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return SP_RISING(*x, *y);
}

static double least_of_runs(long (*f)(long))
{
	double ns[RUNS];

	for (int i = 0; i < RUNS; i++)
		ns[i] = once(f, CALLS);
	qsort(ns, RUNS, sizeof(*ns), number_compare);
	return *ns;
}

static double ours[MOST_THREADS * TURNS], pairs[MOST_THREADS * TURNS], ratios[MOST_THREADS * TURNS];
static struct turning {
	long (*f)(long), (*pair)(long);
	int at; /* of this thread's in the arrays */
} turning[MOST_THREADS];

static void *turn(void *arg)
{
	const struct turning *t = arg;

	for (int i = t->at; i < t->at + TURNS; i++) {
		if (i % 2)
			pairs[i] = once(t->pair, TURN_CALLS);
		ours[i] = once(t->f, TURN_CALLS);
		if (i % 2 == 0)
			pairs[i] = once(t->pair, TURN_CALLS);
		ratios[i] = ours[i] / pairs[i];
	}
	return NULL;
}

/* n_threads: beside the first, which calls where it is 0. */
static int turns(long (*f)(long), long (*pair)(long), int n_threads)
{
	int n = (n_threads ? n_threads : 1) * TURNS;
	double *of[] = {ours, pairs, ratios};
	pthread_t threads[MOST_THREADS];

	for (int i = 0; i < MOST_THREADS; i++)
		turning[i] = (struct turning){.f = f, .pair = pair, .at = i * TURNS};
	if (!n_threads)
		turn(&turning[0]);
	for (int i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, turn, &turning[i]))
			return 1;
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		qsort(of[i], (size_t)n, sizeof(**of), number_compare);
	printf("%.1f %.1f %.1f %.1f %.4f\n", ours[n / 20], pairs[n / 20], ours[n / 2], pairs[n / 2], ratios[n / 2]);
	return 0;
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
	bool is_push = has_word(argv, "push"), is_all = has_word(argv, "all"), is_turns = has_word(argv, "turns");
	const char *name = is_push ? "probed_push" : "probed_lea";
	const char *library = getenv(is_turns ? "PROBED_COPY" : "PROBED_LIBRARY");
	long (*f)(long) = is_push ? probed_push : probed_lea, (*pair)(long) = NULL;
	void *copy = is_turns && library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
	int n = 0;

	if (copy)
		*(void **)&pair = dlsym(copy, name);
	if (is_all || is_turns || has_word(argv, "pair"))
		n = !library || (is_turns && !pair) ? -1
		    : is_all                        ? empty_attach(SP_PROBE_ENTRY, library, "*")
						    : empty_attach(SP_PROBE_SESSION, library, name);
	if (n < 0 || argc < 2) {
		fprintf(stderr, "cannot attach\n");
		return 1;
	}
	if (is_turns)
		return turns(f, pair, has_word(argv, "threads") ? MOST_THREADS : has_word(argv, "thread"));
	if (is_all) {
		fprintf(stderr, "attached to %d\n", n);
		pause();
		return 0;
	}
	printf("%.1f\n", least_of_runs(f));
	return 0;
}
