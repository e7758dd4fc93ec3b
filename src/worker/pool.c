/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of one role. A process works on its jobs in order, so the first one without an answer is to blame for
 * a crash or a missed deadline; those behind it go back to the head of the queue.
 */
#include "base/error.h"
#include "base/filter.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/usage.h"
#include "worker/priv.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An opener that is at one file for so long gets help from another, and no more work. */
static const uint64_t slow_ns = 10000000;
/* A killed process that is still there after this is stuck in the kernel: abandoned. */
static const uint64_t stuck_ns = 200000000;
/* A process that has needed so much is not kept for small work: what it has freed it still holds. */
#if defined(__SANITIZE_ADDRESS__) /* whose shadow every process has */
static const uint64_t large_bytes = UINT64_C(1) << 30;
#else
static const uint64_t large_bytes = 8 << 20;
#endif
/* When both have had nothing to do for so long, one of them goes. */
static const uint64_t helper_ns = 1000000000;
/* How often a job is sent, when processes end in peace without an answer to it. */
enum { MAX_TRIES = 3 };
enum { MAX_MORE = 5 };

static const char *role_name(enum sp_role role)
{
	return role == SP_ROLE_OPENER ? "opener" : role == SP_ROLE_FETCHER ? "debuginfod" : "parser";
}

static void fail(struct sp_workers *w, struct sp_job *j, int r, const char *error)
{
	sp_job_fail(j, r, error);
	sp_job_push(&w->answered, j);
}

static bool ended(const struct sp_worker *p)
{
	return p->socket < 0;
}

static bool slow(const struct sp_worker *p, uint64_t now_ns)
{
	return p->role == SP_ROLE_OPENER && p->jobs.n && now_ns - p->since_ns >= slow_ns;
}

static void count(const struct sp_pool *c, uint64_t now_ns, unsigned *ret_live, unsigned *ret_ready,
		  unsigned *ret_stuck)
{
	*ret_live = *ret_ready = *ret_stuck = 0;
	for (const struct sp_worker *p = c->processes; p; p = p->next) {
		*ret_live += !ended(p);
		*ret_ready += !ended(p) && !slow(p, now_ns);
		*ret_stuck += ended(p) && p->late;
	}
}

static bool is_good(const struct sp_pool *c, uint32_t dev)
{
	for (unsigned i = 0; i < c->n_good_devs; i++)
		if (c->good_devs[i] == dev)
			return true;
	return false;
}

static void note_good(struct sp_pool *c, uint32_t dev)
{
	if (!is_good(c, dev) && c->n_good_devs < SP_POOL_GOOD_DEVS)
		c->good_devs[c->n_good_devs++] = dev;
}

/* With all the stuck processes that are allowed: only devices that have answered and that nothing is stuck on. */
static bool refused(const struct sp_pool *c, uint32_t dev, unsigned n_stuck)
{
	if (n_stuck < SP_WORKER_ABANDONED)
		return false;
	for (const struct sp_worker *p = c->processes; p; p = p->next)
		if (ended(p) && p->late && p->dev == dev)
			return true;
	return !is_good(c, dev);
}

/* cpu_ns: the process's so far; 0 = not known. */
static void book(const struct sp_worker *p, struct sp_job *j, uint64_t cpu_ns)
{
	if (j)
		j->cpu_ns += cpu_ns - SP_MIN(p->begin_cpu_ns, cpu_ns);
}

/* The jobs of a lost process go back; the first fails with r (0 = none is to blame) and its text. */
static void scatter(struct sp_workers *w, struct sp_worker *p, int r, const char *words)
{
	struct sp_job *first = sp_job_pop(&p->jobs);
	struct sp_job_list back = {0};
	if (first && (r < 0 || ++first->n_tries >= MAX_TRIES))
		fail(w, first, r < 0 ? r : -EIO, words);
	else if (first)
		sp_job_push(&back, first);
	sp_job_prepend(&w->pools[p->role].queue, &p->jobs);
	sp_job_prepend(&w->pools[p->role].queue, &back);
	p->load = 0;
}

static const char nonsense[] = "parser failed: its answer makes no sense";

static void note_crash(struct sp_workers *w, const char *words)
{
	w->ended.n_crashed++;
	snprintf(w->ended.crashed, sizeof(w->ended.crashed), "%s", words);
}

static void lost(struct sp_workers *w, struct sp_worker *p, int status)
{
	char words[SP_WORKER_WORDS];
	bool in_peace = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == SP_FILTER_EXIT)
		snprintf(words, sizeof(words), "%s ended by its seccomp filter", role_name(p->role));
	else if (status != -1 && WIFSIGNALED(status))
		snprintf(words, sizeof(words), "%s crashed (signal %d)", role_name(p->role), WTERMSIG(status));
	else if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 3)
		snprintf(words, sizeof(words), "%s could not give up its privileges", role_name(p->role));
	else
		snprintf(words, sizeof(words), "%s ended before it answered", role_name(p->role));
	if (p->jobs.n && !in_peace)
		note_crash(w, words);
	scatter(w, p, in_peace ? 0 : -EIO, words);
}

static bool has_spent(const struct sp_pool *c, const struct sp_worker *p, uint64_t cpu_ns)
{
	return c->cpu_ns && cpu_ns >= p->begin_cpu_ns + c->cpu_ns;
}

/* By the name that the file had when it was mapped, which may lie in a container. An opener has none yet. */
static void note_late(struct sp_workers *w, const struct sp_job *j, const char *words)
{
	char link[64], path[SP_WORKER_LATE - SP_WORKER_WORDS - 2] = "";
	snprintf(link, sizeof(link), "/proc/self/fd/%d", j->fd);
	ssize_t n = j->fd < 0 ? 0 : readlink(link, path, sizeof(path) - 1);
	path[SP_MAX(n, 0)] = '\0';
	w->ended.n_late++;
	snprintf(w->ended.late, sizeof(w->ended.late), "%s%s%s", path, *path ? ": " : "", words);
}

static void late(struct sp_workers *w, struct sp_worker *p)
{
	const struct sp_pool *c = &w->pools[p->role];
	char words[SP_WORKER_WORDS];
	bool is_spent = has_spent(c, p, sp_usage_cpu_ns((uint32_t)p->pid));
	unsigned ms = (unsigned)((is_spent ? c->cpu_ns : c->deadline_ns) / 1000000);
	const char *of = is_spent ? " of CPU time" : "";
	if (ms % 1000)
		snprintf(words, sizeof(words), "%s took over %u ms%s", role_name(p->role), ms, of);
	else
		snprintf(words, sizeof(words), "%s took over %u s%s", role_name(p->role), ms / 1000, of);
	p->dev = p->jobs.first->dev;
	p->late = true;
	note_late(w, p->jobs.first, words);
	book(p, p->jobs.first, sp_usage_cpu_ns((uint32_t)p->pid));
	sp_worker_end(p);
	scatter(w, p, -ETIMEDOUT, words);
}

/* Its first job is begun. */
static void begin(const struct sp_pool *c, struct sp_worker *p, uint64_t cpu_ns)
{
	p->since_ns = sp_time_ns(CLOCK_MONOTONIC);
	p->spent_at_ns = c->cpu_ns ? p->since_ns + c->cpu_ns : UINT64_MAX;
	p->begin_cpu_ns = p->last_cpu_ns = SP_MAX(cpu_ns, p->begin_cpu_ns); /* 0: it has gone */
	p->n_more = 0;
}

static uint64_t end_ns(const struct sp_pool *c, const struct sp_worker *p)
{
	return p->since_ns + c->deadline_ns * (1 + p->n_more);
}

/* When it is to be looked at. */
static uint64_t due_ns(const struct sp_pool *c, const struct sp_worker *p)
{
	return SP_MIN(end_ns(c, p), p->spent_at_ns);
}

/* A parser that gets on, and had little of a CPU since others had it, is given as long again, MAX_MORE times. */
static bool is_starved(const struct sp_pool *c, struct sp_worker *p)
{
	uint64_t cpu_ns = p->role == SP_ROLE_PARSER ? sp_usage_cpu_ns((uint32_t)p->pid) : 0;
	bool gets_on = cpu_ns > p->last_cpu_ns + c->deadline_ns / 1000;
	p->last_cpu_ns = cpu_ns;
	return gets_on && cpu_ns - p->begin_cpu_ns < c->deadline_ns / 4 * 3 && p->n_more++ < MAX_MORE;
}

static bool may_go_on(const struct sp_pool *c, struct sp_worker *p, uint64_t now_ns)
{
	uint64_t cpu_ns = c->cpu_ns ? sp_usage_cpu_ns((uint32_t)p->pid) : 0;
	if (has_spent(c, p, cpu_ns))
		return false;
	if (c->cpu_ns)
		p->spent_at_ns = now_ns + p->begin_cpu_ns + c->cpu_ns - SP_MAX(cpu_ns, p->begin_cpu_ns);
	return now_ns < end_ns(c, p) || is_starved(c, p);
}

static int start(struct sp_workers *w, enum sp_role role)
{
	struct sp_worker *p;
	int r = sp_worker_new(role, w->epoll, w->broker, &p);
	if (r < 0) {
		w->ended.n_unstarted++;
		w->ended.unstarted = r;
		return sp_fail(r, "start a %s", role_name(role));
	}
	p->next = w->pools[role].processes;
	w->pools[role].processes = p;
	return 0;
}

static struct sp_worker *pick(const struct sp_pool *c, unsigned weight, uint64_t now_ns)
{
	struct sp_worker *best = NULL;
	for (struct sp_worker *p = c->processes; p; p = p->next)
		if (!ended(p) && !slow(p, now_ns) && (!p->load || p->load + weight <= c->capacity) &&
		    (!best || p->load < best->load))
			best = p;
	return best;
}

/* A second opener only helps out a slow one; parsers are started up to their number as work comes. */
static struct sp_worker *pick_or_start(struct sp_workers *w, enum sp_role role, unsigned weight, int *ret_r)
{
	struct sp_pool *c = &w->pools[role];
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	struct sp_worker *p = pick(c, weight, now_ns);
	unsigned n_live, n_ready, n_stuck;
	count(c, now_ns, &n_live, &n_ready, &n_stuck);
	*ret_r = 0;
	if (p || n_live >= c->max_processes || (role == SP_ROLE_OPENER && n_ready))
		return p;
	if (n_live + n_stuck >= c->max_processes + SP_WORKER_ABANDONED) {
		*ret_r = n_live ? 0 : sp_fail_said(-EIO, "every %s waits for a file system", role_name(role));
		return NULL;
	}
	*ret_r = start(w, role);
	return *ret_r < 0 ? NULL : pick(c, weight, now_ns);
}

/*
 * What may take long leaves one parser to what is small and urgent, and a table that no sample waits for leaves one
 * more to those that are waited for.
 */
static bool must_wait(const struct sp_pool *c, const struct sp_job *j)
{
	unsigned n_left = j->kind == SP_JOB_BUILD && !j->urgency ? 2 : 1, n_busy = 0;
	for (const struct sp_worker *p = c->processes; p; p = p->next)
		n_busy += !ended(p) && p->load;
	return sp_job_weight(j) > 1 && n_busy && n_busy + n_left >= c->max_processes;
}

/* Who has read another file may have been taken over by it: he is not asked what could kill others. */
static void dismiss_used(struct sp_pool *c)
{
	for (struct sp_worker *p = c->processes; p; p = p->next)
		if (p->is_used && !p->load)
			sp_worker_end(p);
}

static int hand_over(struct sp_pool *c, struct sp_worker *p)
{
	struct sp_job *j = c->queue.first;
	uint64_t cpu_ns = sp_usage_cpu_ns((uint32_t)p->pid); /* before it has the job, and may be through with it */
	int r = sp_job_send(j, p->socket);
	if (r < 0)
		return r;
	sp_job_pop(&c->queue);
	if (!p->jobs.n)
		begin(c, p, cpu_ns);
	sp_job_push(&p->jobs, j);
	p->load += sp_job_weight(j);
	p->is_used = true;
	return 0;
}

static void fail_first(struct sp_workers *w, struct sp_pool *c, int r)
{
	struct sp_job *j = sp_job_pop(&c->queue);
	fail(w, j, r, sp_error_text(r));
}

/* false: no more can be sent now. */
static bool send_first(struct sp_workers *w, enum sp_role role)
{
	struct sp_pool *c = &w->pools[role];
	unsigned n_live, n_ready, n_stuck;
	count(c, sp_time_ns(CLOCK_MONOTONIC), &n_live, &n_ready, &n_stuck);
	if (refused(c, c->queue.first->dev, n_stuck)) {
		fail(w, sp_job_pop(&c->queue), -EIO, "file system does not answer");
		return true;
	}
	if (must_wait(c, c->queue.first))
		return false;
	int r;
	if (sp_job_is_grave(c->queue.first))
		dismiss_used(c);
	struct sp_worker *p = pick_or_start(w, role, sp_job_weight(c->queue.first), &r);
	if (!p && r == 0)
		return false;
	r = p ? hand_over(c, p) : r;
	if (p && (r == -EAGAIN || r == -ETOOMANYREFS) && p->jobs.n)
		return false; /* its next answer makes room */
	if (p && (r == -EPIPE || r == -ECONNRESET)) {
		sp_pool_serve(w, p); /* it has gone; the next turn starts another */
		return true;
	}
	if (r < 0)
		fail_first(w, c, r);
	return true;
}

void sp_pool_pump(struct sp_workers *w, enum sp_role role)
{
	while (w->pools[role].queue.n && send_first(w, role))
		;
}

/* A process that breaks the rules is not asked again. */
static void dismiss(struct sp_workers *w, struct sp_worker *p, int r)
{
	note_crash(w, nonsense);
	book(p, p->jobs.first, sp_usage_cpu_ns((uint32_t)p->pid));
	sp_worker_end(p);
	scatter(w, p, r, nonsense);
}

static void take(struct sp_workers *w, struct sp_worker *p, const struct sp_answer_message *a, int fd)
{
	struct sp_job *j = p->jobs.first;
	uint64_t cpu_ns = sp_usage_cpu_ns((uint32_t)p->pid);
	if (!j || j->number != a->number) {
		sp_cleanup_close(&fd);
		dismiss(w, p, -EBADMSG);
		return;
	}
	int r = sp_job_take(j, a, fd);
	sp_job_pop(&p->jobs);
	p->load -= sp_job_weight(j);
	book(p, j, cpu_ns);
	begin(&w->pools[p->role], p, cpu_ns);
	if (sp_job_weight(j) > 1 || p->n_answers++ % 64 == 0)
		sp_worker_measure(p);
	note_good(&w->pools[p->role], j->dev);
	if (r < 0)
		fail(w, j, r, r == -EBADMSG ? nonsense : NULL);
	else
		sp_job_push(&w->answered, j);
	if (r == -EBADMSG)
		dismiss(w, p, 0);
	else if (!p->jobs.n && p->peak_bytes > large_bytes)
		sp_worker_end(p);
}

static void take_all(struct sp_workers *w, struct sp_worker *p)
{
	static struct sp_answer_message a;
	while (p->socket >= 0) {
		int fd;
		int r = sp_job_receive(p->socket, p->role, &a, &fd);
		if (r == -EAGAIN)
			return;
		if (r > 0)
			take(w, p, &a, fd);
		else if (r == -EBADMSG)
			dismiss(w, p, r);
		else
			sp_worker_end(p);
	}
}

/* Those that are there when one goes have had the most together that any of them will have had with it. */
static void note_peak(struct sp_workers *w, const struct sp_worker *gone)
{
	uint64_t bytes = gone->peak_bytes;
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		for (struct sp_worker *p = w->pools[role].processes; p; p = p->next) {
			sp_worker_measure(p);
			bytes += p->reaped ? 0 : p->peak_bytes;
		}
	w->ended.peak_bytes = SP_MAX(w->ended.peak_bytes, bytes);
}

void sp_pool_serve(struct sp_workers *w, struct sp_worker *p)
{
	int status;
	uint64_t cpu_ns;
	bool gone = !p->reaped && sp_worker_reap(p, &status, &cpu_ns);
	take_all(w, p); /* what it said before it went is still there */
	if (!gone)
		return;
	sp_worker_end(p);
	book(p, p->jobs.first, cpu_ns);
	w->ended.cpu_ns += cpu_ns;
	w->ended.parsers_ns += p->role == SP_ROLE_PARSER ? cpu_ns : 0;
	note_peak(w, p);
	lost(w, p, status);
}

/* When an opener is to end that has come to help another, which may be this one: one will do. ~0 = not. */
static uint64_t retires_ns(const struct sp_pool *c, const struct sp_worker *p)
{
	unsigned n = 0;
	if (p->role != SP_ROLE_OPENER || p->jobs.n || ended(p))
		return ~0ULL;
	for (const struct sp_worker *other = c->processes; other; other = other->next)
		n += !ended(other) && !other->jobs.n;
	return n > 1 ? p->since_ns + helper_ns : ~0ULL;
}

static void watch(struct sp_workers *w, struct sp_worker *p, uint64_t now_ns)
{
	const struct sp_pool *c = &w->pools[p->role];
	if (retires_ns(c, p) <= now_ns)
		sp_worker_end(p);
	if (p->jobs.n && now_ns >= due_ns(c, p) && !may_go_on(c, p, now_ns))
		late(w, p);
	if (ended(p) && !p->reaped && !p->abandoned && now_ns >= p->ended_ns + stuck_ns) {
		p->abandoned = true;
		w->ended.n_abandoned++;
	}
}

void sp_pool_tick(struct sp_workers *w, enum sp_role role, uint64_t now_ns)
{
	for (struct sp_worker **at = &w->pools[role].processes; *at;) {
		struct sp_worker *p = *at;
		watch(w, p, now_ns);
		if (p->reaped) {
			*at = p->next;
			sp_worker_free(p);
		} else {
			at = &p->next;
		}
	}
}

uint64_t sp_pool_next_ns(const struct sp_pool *c, uint64_t now_ns)
{
	uint64_t next = ~0ULL;
	for (const struct sp_worker *p = c->processes; p; p = p->next) {
		next = SP_MIN(next, retires_ns(c, p));
		if (p->jobs.n)
			next = SP_MIN(next, due_ns(c, p));
		if (p->jobs.n && p->role == SP_ROLE_OPENER && c->queue.n && !slow(p, now_ns))
			next = SP_MIN(next, p->since_ns + slow_ns);
		if (ended(p) && !p->reaped && !p->abandoned)
			next = SP_MIN(next, p->ended_ns + stuck_ns);
	}
	return next;
}
