/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits in a session that goes on: one that lasts over several drains is counted up to each, once, and over a change of
 * the profile; and all of a thread's waits are the time that it did not run. By root only.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "bpf/wire.h"
#include "capture/capture.h"
#include "capture/lasting.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "recipe/recipe.h"
#include "test.h"
#include "worker/worker.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct session {
	struct sp_capture *c;
	struct sp_profile *p;
	struct sp_workers *w;
};

struct victim {
	pthread_t thread;
	sem_t go, has_tid;
	uint32_t tid;
	int pipe[2];
};

/* Waits in read(2) until the pipe is closed, then sleeps often for a short time. */
static void *wait_long(void *arg)
{
	struct victim *v = arg;
	char byte;

	v->tid = (uint32_t)gettid();
	sem_post(&v->has_tid);
	while (sem_wait(&v->go))
		;
	assert_int_equal(read(v->pipe[0], &byte, 1), 0);
	for (unsigned i = 0; i < 200; i++)
		usleep(1000);
	while (sem_wait(&v->go))
		;
	return NULL;
}

static void victim_start(struct victim *v)
{
	assert_int_equal(sem_init(&v->go, 0, 0) | sem_init(&v->has_tid, 0, 0) | pipe(v->pipe), 0);
	assert_int_equal(pthread_create(&v->thread, NULL, wait_long, v), 0);
	while (sem_wait(&v->has_tid))
		;
}

static void victim_end(struct victim *v)
{
	sem_post(&v->go);
	pthread_join(v->thread, NULL);
	close(v->pipe[0]);
}

/* False: not allowed. */
static bool session_begin(struct session *s, const uint32_t *tid)
{
	static unsigned cpus[512];
	long n = sysconf(_SC_NPROCESSORS_ONLN), i;
	struct sp_capture_options o = {.recipes = {sp_recipe_find("offcpu")},
				       .filter = SP_TARGETS_TID,
				       .targets = tid,
				       .n_targets = 1,
				       .cpus = cpus,
				       .user = true,
				       .kernel = true,
				       .no_seek = true,
				       .drain_ns = 10 * SP_NS_PER_S,
				       .cache = "",
				       .frequency_hz = 49};
	int r;

	for (i = 0; i < n && i < (long)SP_COUNT(cpus); i++)
		cpus[i] = (unsigned)i;
	o.n_cpus = (size_t)i;
	assert_int_equal(sp_profile_new(&s->p), 0);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &s->w), 0);
	r = sp_capture_new(&o, s->p, s->w, &s->c);
	if (r < 0) {
		print_message("skip: %s\n", sp_error_text(r));
		sp_workers_free(s->w);
		sp_profile_free(s->p);
		return false;
	}
	assert_int_equal(sp_capture_start(s->c), 0);
	return true;
}

static void settle(struct session *s)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + 20 * SP_NS_PER_S;

	do {
		assert_int_equal(sp_capture_step(s->c), 0);
		usleep(1000);
	} while ((sp_capture_is_waiting(s->c) || sp_workers_outstanding(s->w)) && sp_time_ns(CLOCK_MONOTONIC) < end);
}

struct seen {
	int64_t n, ns, n_bad;
};

static struct seen look(const struct sp_profile *p)
{
	struct seen seen = {0};

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);

		seen.n += row->values[0];
		seen.ns += row->values[1];
		seen.n_bad += sp_profile_stack(p, row->user).stack_class != SP_CLASS_COMPLETE;
	}
	return seen;
}

static uint64_t n_lost(struct session *s)
{
	struct sp_capture_stats stats;

	sp_capture_look(s->c, false);
	sp_capture_stats(s->c, &stats);
	return stats.counter[SP_N_LOST_ENDS] + stats.counter[SP_N_LOST_EPISODES];
}

/* The time that a thread has run, by the kernel's own books. */
static int64_t ran_ns(uint32_t tid)
{
	char path[64], line[128] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/schedstat", tid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	return strtoll(line, NULL, 10);
}

enum { DRAINS = 4, DRAIN_MS = 150 };
#define NS_PER_MS 1000000LL

struct drained {
	int64_t from_ns, to_ns; /* it was counted up to a time between these */
	int64_t ran_ns, waited_ns, stolen_ns;
};

/* When another machine had a CPU, for which the thread neither ran nor waited; in whole ticks. */
static int64_t stolen_ns(void)
{
	FILE *f = fopen("/proc/stat", "re");
	long long ticks = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks), 1);
	fclose(f);
	return ticks * (int64_t)(SP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static struct drained drain(struct session *s, uint32_t tid)
{
	struct drained d = {.from_ns = (int64_t)sp_time_ns(CLOCK_MONOTONIC)};

	assert_int_equal(sp_capture_drain(s->c), 0);
	d.to_ns = (int64_t)sp_time_ns(CLOCK_MONOTONIC);
	d.ran_ns = ran_ns(tid);
	d.waited_ns = look(s->p).ns;
	d.stolen_ns = stolen_ns();
	return d;
}

/*
 * Between two drains the thread waited, or ran. The upper bound is of the waits alone: the kernel's books let a thread
 * run from the moment it is woken, before it has a CPU.
 */
static void adds_up(const struct drained *a, const struct drained *b)
{
	int64_t waited = b->waited_ns - a->waited_ns, ran = b->ran_ns - a->ran_ns, stolen = b->stolen_ns - a->stolen_ns;

	stolen += b->stolen_ns ? 2 * (int64_t)(SP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) : 0; /* of a tick each */
	print_message("waited %.3f ms and ran %.3f in %.3f to %.3f ms\n", (double)waited / 1e6, (double)ran / 1e6,
		      (double)(b->from_ns - a->to_ns) / 1e6, (double)(b->to_ns - a->from_ns) / 1e6);
	assert_true(waited + ran > b->from_ns - a->to_ns - NS_PER_MS - stolen);
	assert_true(waited < b->to_ns - a->from_ns + NS_PER_MS);
}

static void over_drains(void **state)
{
	struct victim v = {0};
	struct session s = {0};
	struct drained first, last;
	uint64_t before;

	victim_start(&v);
	if (!session_begin(&s, &v.tid)) {
		close(v.pipe[1]);
		sem_post(&v.go);
		victim_end(&v);
		skip();
	}
	sem_post(&v.go); /* it runs for an instant, and waits in read(2) */
	usleep(50000);
	settle(&s);
	first = drain(&s, v.tid);
	before = n_lost(&s);
	for (unsigned i = 0; i < DRAINS; i++) {
		usleep(DRAIN_MS * 1000);
		last = drain(&s, v.tid);
		adds_up(&first, &last);
		assert_in_range(look(s.p).n, 1, 2); /* the wait for `go` may have begun in the session, too */
	}
	close(v.pipe[1]);
	usleep(600000);
	settle(&s);
	last = drain(&s, v.tid);
	adds_up(&first, &last);
	assert_in_range(look(s.p).n, 200, 400);
	assert_int_equal(look(s.p).n_bad, 0);
	assert_int_equal(n_lost(&s), before);
	sp_workers_free(s.w);
	sp_capture_free(s.c);
	sp_profile_free(s.p);
	victim_end(&v);
}

/* What waits while the profile is changed is counted until then; its end, which would name stacks of before, is lost.
 */
static void over_profiles(void **state)
{
	static const struct sp_capture_keep keep = {.max_files = 1000, .n_drains = 1000};
	struct sp_profile *fresh;
	struct victim v = {0};
	struct session s = {0};
	uint64_t before;

	victim_start(&v);
	if (!session_begin(&s, &v.tid)) {
		close(v.pipe[1]);
		sem_post(&v.go);
		victim_end(&v);
		skip();
	}
	sem_post(&v.go);
	usleep(100000);
	settle(&s);
	before = n_lost(&s);
	assert_int_equal(sp_capture_close(s.c, &keep), 0);
	assert_true(look(s.p).ns > 80 * NS_PER_MS);
	assert_int_equal(sp_profile_new(&fresh), 0);
	assert_int_equal(sp_capture_renew(s.c, fresh), 0);
	sp_profile_free(s.p);
	s.p = fresh;
	assert_int_equal(n_lost(&s), before + 1);
	close(v.pipe[1]);
	usleep(600000);
	settle(&s);
	assert_int_equal(sp_capture_drain(s.c), 0);
	assert_in_range(look(s.p).n, 190, 400);
	assert_true(look(s.p).ns > 200 * NS_PER_MS);
	assert_int_equal(look(s.p).n_bad, 0);
	assert_int_equal(n_lost(&s), before + 1);
	sp_workers_free(s.w);
	sp_capture_free(s.c);
	sp_profile_free(s.p);
	victim_end(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(over_drains), cmocka_unit_test(over_profiles)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
