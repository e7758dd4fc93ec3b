/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cost.h"

#include <inttypes.h>
#include <sanitizer/allocator_interface.h>
#include <sanitizer/lsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIES = 3, COMPARES_EVERY = 16, MAX_LEAK_CHECKS = 1000, FORGETS = 256, NS_PER_BYTE_BESIDES = 2 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Thread_local struct {
	bool counts;
	int64_t now, most, may;
} heap;
static size_t input_bytes;
size_t fuzz_bytes_besides;
static struct {
	uint64_t value;
	size_t size;
} most_bytes, most_ns;

void fuzz_broken(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

static void too_much(const char *what, uint64_t value, uint64_t may)
{
	heap.counts = false;
	fprintf(stderr, "an input of %zu bytes takes %" PRIu64 " %s, and may take %" PRIu64 "\n", input_bytes, value,
		what, may);
	abort();
}

/* Aborts inside the allocation that is too much: the trace that libFuzzer prints shows who wanted it. */
static void taken(const volatile void *p, size_t size)
{
	if (!p || !heap.counts)
		return;
	heap.now += (int64_t)size;
	if (heap.now > heap.may + (int64_t)fuzz_bytes_besides)
		too_much("bytes of memory", (uint64_t)heap.now, (uint64_t)heap.may + fuzz_bytes_besides);
	if (heap.now > heap.most)
		heap.most = heap.now;
}

static void given_back(const volatile void *p)
{
	if (p && heap.counts)
		heap.now -= (int64_t)__sanitizer_get_allocated_size((const void *)p);
}

static void tell(void)
{
	fprintf(stderr, "cost: at most %" PRIu64 " bytes (%zu of input), %" PRIu64 " us (%zu of input)\n",
		most_bytes.value, most_bytes.size, most_ns.value / 1000, most_ns.size);
}

/*
 * What is freed stays poisoned until so much more is freed, which is longer than most inputs run, and then is used
 * again: memory that is in no cache any more was a third of the time. So were long traces of who allocated;
 * ASAN_OPTIONS=malloc_context_size=30 shows them of a finding.
 */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=2:malloc_context_size=2";
}

/* libFuzzer's own hooks, by which it counts what is not freed, took up to an eighth of the time: ours know it, too. */
static void leave_leaks_to_us(int *argc, char ***argv)
{
	static char flag[] = "-detect_leaks=0";
	char **with = calloc((size_t)*argc + 2, sizeof(*with));

	if (!with)
		abort();
	with[0] = (*argv)[0];
	with[1] = flag; /* flags behind it win */
	memcpy(with + 2, *argv + 1, (size_t)*argc * sizeof(*with));
	*argv = with;
	++*argc;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	leave_leaks_to_us(argc, argv);
	if (__sanitizer_install_malloc_and_free_hooks(taken, given_back) == 0)
		abort();
	return atexit(tell);
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t run(const uint8_t *data, size_t size)
{
	uint64_t began = thread_ns();

	heap.now = heap.most = 0;
	fuzz_bytes_besides = 0;
	heap.counts = true;
	fuzz_one(data, size);
	heap.counts = false;
	return thread_ns() - began;
}

/* What stays allocated may be kept by the target, and then is not at the next run. */
static void check_leaks(const uint8_t *data, size_t size)
{
	static unsigned n_checks;

	if (heap.now > 0 && n_checks < MAX_LEAK_CHECKS)
		run(data, size);
	if (heap.now > 0 && n_checks++ < MAX_LEAK_CHECKS && __lsan_do_recoverable_leak_check() != 0)
		abort();
}

/*
 * CPU time of what ran on a busy machine, or on new pages, is measured again where it would tell something: the least
 * of some runs. A target that does more for every eighth input would be measured again for each of these, so a false
 * alarm is remembered.
 */
static void measure(const uint8_t *data, size_t size, uint64_t may_ns)
{
	static uint64_t false_alarm_ns; /* forgotten by degrees */
	uint64_t first = run(data, size), least = first, ns;

	bool may_be_most = first > most_ns.value && first > false_alarm_ns;

	may_ns += fuzz_bytes_besides * NS_PER_BYTE_BESIDES;
	for (unsigned i = 1; i < TRIES && (least > may_ns || (may_be_most && least > most_ns.value)); i++) {
		ns = run(data, size);
		least = ns < least ? ns : least;
	}
	if (may_be_most && least > most_ns.value)
		most_ns.value = least, most_ns.size = size;
	else if (may_be_most)
		false_alarm_ns = first;
	false_alarm_ns -= false_alarm_ns / FORGETS;
	if (least > may_ns)
		too_much("us of CPU time", least / 1000, may_ns / 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t may_ns = fuzz_cost.us * 1000 + fuzz_cost.ns_per_byte * size;
	static bool has_begun;
	static unsigned n_runs;

	fuzz_tells_compares = n_runs++ % COMPARES_EVERY == 0;
	if (!has_begun)
		fuzz_one(data, size); /* what a target makes once is not the cost of its first input */
	has_begun = true;
	input_bytes = size;
	heap.may = (int64_t)(fuzz_cost.bytes + fuzz_cost.bytes_per_byte * size);
	measure(data, size, may_ns);
	if (heap.most > (int64_t)most_bytes.value)
		most_bytes.value = (uint64_t)heap.most, most_bytes.size = size;
	check_leaks(data, size);
	return 0;
}
