/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.c: what names cost an agent, window by window, on whatever runs meanwhile.
 *   naming [HERTZ [SECONDS [WINDOWS]]]    100 2 15: 400 samples a window on two busy CPUs
 * Samples all CPUs as the agent does, and measures only what happens between a window's end and its last name: CPU time
 * of this process, and of its parsers and opener (which tell it to the ms or so). Needs root.
 */
#include "naming/naming.h"
#include "base/error.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/lasting.h"
#include "capture/recipe_ops.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "recipe/recipe.h"
#include "symbol/symbol.h"
#include "worker/worker.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
	struct sp_workers *workers;
	struct sp_profile *profile;
	struct sp_capture *capture;
	struct sp_naming naming;
	unsigned *cpus;
	size_t n_cpus;
};

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, sp_error_text(r));
	exit(1);
}

static void begin(struct bench *b, uint64_t hz)
{
	check(sp_workers_new(NULL, &b->workers), "workers");
	check(sp_profile_new(&b->profile), "profile");
	check(sp_process_cpus_online(&b->cpus, &b->n_cpus), "CPUs");
	const struct sp_capture_options o = {.recipes = {&sp_recipe_cpu},
					     .cpus = b->cpus,
					     .n_cpus = b->n_cpus,
					     .user = true,
					     .kernel = true,
					     .no_seek = true,
					     .drain_ns = 10 * SP_NS_PER_S,
					     .frequency_hz = hz};
	check(sp_capture_new(&o, b->profile, b->workers, &b->capture), "capture");
	b->naming = (struct sp_naming){.workers = b->workers,
				       .capture = b->capture,
				       .profile = b->profile,
				       .no_fetch = true,
				       .keeps_kernel = true,
				       .kallsyms = fopen("/proc/kallsyms", "re")};
	check(sp_capture_start(b->capture), "start");
}

static void window_run(struct bench *b, uint64_t seconds)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + seconds * SP_NS_PER_S, now;
	struct pollfd polls[SP_CAPTURE_MAX_FDS];
	int fds[SP_CAPTURE_MAX_FDS];
	size_t n = sp_capture_fds(b->capture, fds);
	for (size_t i = 0; i < n; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	while ((now = sp_time_ns(CLOCK_MONOTONIC)) < end) {
		uint64_t next = sp_capture_next_ns(b->capture);
		uint64_t until = next < end ? next : end;
		poll(polls, n, until > now ? (int)((until - now) / 1000000 + 1) : 0);
		check(sp_capture_step(b->capture), "step");
	}
	check(sp_capture_drain(b->capture), "window");
	while (sp_capture_is_identifying(b->capture) && sp_workers_outstanding(b->workers))
		sp_workers_wait(b->workers, 10);
}

struct cost {
	uint64_t own_ns, workers_ns;
};

static struct cost cost_now(const struct bench *b)
{
	struct sp_workers_stats w;
	sp_workers_stats(b->workers, &w);
	return (struct cost){sp_time_ns(CLOCK_PROCESS_CPUTIME_ID), w.cpu_ns};
}

static int64_t samples_of(const struct sp_profile *p)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		n += sp_profile_row(p, i)->values[0];
	return n;
}

static void window_name(struct bench *b, unsigned number)
{
	uint32_t n_before = b->naming.namer.n_frames, n_frames = sp_profile_n_frames(b->profile);
	struct sp_naming_stats was = b->naming.stats;
	struct cost before = cost_now(b);
	check(sp_naming_run(&b->naming), "names");
	struct cost after = cost_now(b);
	const struct sp_naming_stats *is = &b->naming.stats;
	printf("window %2u: %5ld samples, %5u new frames of %6u, tables found %2lu made %2lu asked %2lu: "
	       "own %7.3f ms, workers %7.3f ms\n",
	       number, (long)samples_of(b->profile), n_frames - n_before, n_frames,
	       (unsigned long)(is->n_found - was.n_found), (unsigned long)(is->n_made - was.n_made),
	       (unsigned long)(is->n_asked - was.n_asked), (double)(after.own_ns - before.own_ns) / 1e6,
	       (double)(after.workers_ns - before.workers_ns) / 1e6);
	fflush(stdout);
	sp_profile_clear_rows(b->profile);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	sp_worker_main(argc, argv);
	unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 15;
	begin(&b, argc > 1 ? strtoul(argv[1], NULL, 10) : 100);
	for (unsigned i = 0; i < n; i++) {
		window_run(&b, argc > 2 ? strtoul(argv[2], NULL, 10) : 2);
		window_name(&b, i + 1);
	}
	sp_naming_done(&b.naming);
	sp_workers_free(b.workers);
	sp_capture_free(b.capture);
	sp_profile_free(b.profile);
	return 0;
}
