/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Freed when its owner and all its threads have let go of it. The working thread is the one with number `turn`; all
 * others are abandoned.
 */
struct sp_mapped_scan {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char *proc;
	uint32_t *pids;
	size_t n_pids, next;
	uint64_t deadline_ns, since_ns; /* since: when the work on pids[next - 1] began */
	struct sp_scanned *ready;
	unsigned turn, n_stuck, n_holders;
	bool is_working, is_over;
};

struct scanner {
	struct sp_mapped_scan *scan;
	unsigned turn;
};

static void let_go(struct sp_mapped_scan *s)
{
	pthread_mutex_lock(&s->lock);
	bool is_last = --s->n_holders == 0;
	pthread_mutex_unlock(&s->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	sp_scanned_free(s->ready);
	free(s->proc);
	free(s->pids);
	free(s);
}

/* The next process to read, after the last result has been taken; false: no more, or this thread is abandoned. */
static bool next_pid(struct scanner *t, uint32_t *ret_pid)
{
	struct sp_mapped_scan *s = t->scan;
	bool is_ours;

	pthread_mutex_lock(&s->lock);
	while (s->turn == t->turn && s->ready && !s->is_over)
		pthread_cond_wait(&s->changed, &s->lock);
	is_ours = s->turn == t->turn && !s->is_over && s->next < s->n_pids;
	if (is_ours) {
		*ret_pid = s->pids[s->next++];
		s->since_ns = sp_time_ns(CLOCK_MONOTONIC);
		s->is_working = true;
	} else if (s->turn == t->turn) {
		s->is_over = true;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return is_ours;
}

static void hand_over(struct scanner *t, struct sp_scanned *found)
{
	struct sp_mapped_scan *s = t->scan;

	pthread_mutex_lock(&s->lock);
	if (s->turn == t->turn) {
		s->ready = found;
		found = NULL;
		s->is_working = false;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	sp_scanned_free(found);
}

static void *work(void *arg)
{
	struct scanner t = *(struct scanner *)arg;
	uint32_t pid;

	free(arg);
	while (next_pid(&t, &pid)) {
		struct sp_scanned *found = sp_scan_process(t.scan->proc, pid);
		if (!found)
			break; /* out of memory: after the deadline the process counts as stuck */
		hand_over(&t, found);
	}
	let_go(t.scan);
	return NULL;
}

static int mapped_scan_start_thread(struct sp_mapped_scan *s)
{
	struct scanner *t = malloc(sizeof(*t));
	pthread_attr_t attr;
	pthread_t thread;

	if (!t)
		return -ENOMEM;
	*t = (struct scanner){.scan = s, .turn = s->turn};
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	s->n_holders++;
	int r = -pthread_create(&thread, &attr, work, t);
	pthread_attr_destroy(&attr);
	if (r < 0) {
		s->n_holders--;
		free(t);
		return sp_fail(r, "start a thread");
	}
	return 0;
}

int sp_scan_new(const char *proc, const uint32_t *pids, size_t n_pids, unsigned deadline_ms,
		struct sp_mapped_scan **ret_scan)
{
	struct sp_mapped_scan *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return -ENOMEM;
	s->n_holders = 1;
	s->n_pids = n_pids;
	s->deadline_ns = deadline_ms * 1000000ULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	s->proc = strdup(proc);
	s->pids = malloc((n_pids + 1) * sizeof(*pids));
	if (!s->proc || !s->pids) {
		let_go(s);
		return -ENOMEM;
	}
	if (n_pids > 0)
		memcpy(s->pids, pids, n_pids * sizeof(*pids));
	*ret_scan = s;
	return 0;
}

static struct sp_scanned *stuck(uint32_t pid)
{
	struct sp_scanned *found = calloc(1, sizeof(*found));

	if (found)
		*found = (struct sp_scanned){.pid = pid, .r = -ETIMEDOUT};
	return found;
}

static uint64_t patience_ns(const struct sp_mapped_scan *s)
{
	return s->n_stuck < SP_SCAN_PATIENT ? s->deadline_ns : s->deadline_ns / 20;
}

static uint64_t deadline_of(const struct sp_mapped_scan *s)
{
	return s->since_ns + patience_ns(s);
}

static void wait_until(struct sp_mapped_scan *s, uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / SP_NS_PER_S), .tv_nsec = (long)(end_ns % SP_NS_PER_S)};

	pthread_cond_timedwait(&s->changed, &s->lock, &end);
}

/* Called with the lock held: the result, or NULL at the end. */
static int next_locked(struct sp_mapped_scan *s, struct sp_scanned **ret_scanned)
{
	while (!s->ready && !s->is_over && !(s->is_working && sp_time_ns(CLOCK_MONOTONIC) >= deadline_of(s)))
		wait_until(s, s->is_working ? deadline_of(s) : sp_time_ns(CLOCK_MONOTONIC) + patience_ns(s));
	if (s->ready || s->is_over) {
		*ret_scanned = sp_take_ptr(s->ready);
		pthread_cond_broadcast(&s->changed);
		return 0;
	}
	*ret_scanned = stuck(s->pids[s->next - 1]);
	s->turn++;
	s->n_stuck++;
	s->is_working = false;
	if (!*ret_scanned)
		return -ENOMEM;
	return s->n_stuck < SP_SCAN_MAX_STUCK ? mapped_scan_start_thread(s) : 0;
}

int sp_mapped_scan_next(struct sp_mapped_scan *s, struct sp_scanned **ret_scanned)
{
	struct sp_scanned *found = NULL;
	int r;

	pthread_mutex_lock(&s->lock);
	r = s->turn == 0 ? (s->turn = 1, mapped_scan_start_thread(s)) : 0;
	if (r == 0 && s->n_stuck >= SP_SCAN_MAX_STUCK) {
		found = s->next < s->n_pids ? stuck(s->pids[s->next]) : NULL;
		r = s->next++ < s->n_pids && !found ? -ENOMEM : 0;
	} else if (r == 0) {
		r = next_locked(s, &found);
	}
	pthread_mutex_unlock(&s->lock);
	if (r < 0) {
		sp_scanned_free(found);
		return r;
	}
	*ret_scanned = found;
	return found != NULL;
}

void sp_scan_free(struct sp_mapped_scan *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	let_go(s);
}
