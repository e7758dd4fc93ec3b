/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "proc/usage.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEADLINE_MS = 10000,
	OPEN_DEADLINE_MS = 2000,
	MIN_PARSERS = 3, /* one may be at a file that takes seconds, and one is for what takes little */
	MAX_PARSERS = 5,
	OPENERS = 2,
	REAP_MS = 500,
	FETCHER_GRACE_MS = 2000
};

static unsigned parsers_for(const struct sp_workers_options *o)
{
	if (o && o->n_parsers)
		return SP_MIN(o->n_parsers, MAX_PARSERS);
	long n = sysconf(_SC_NPROCESSORS_ONLN) / 2 + 1;
	return (unsigned)SP_MIN(SP_MAX(n, MIN_PARSERS), MAX_PARSERS);
}

int sp_workers_new(const struct sp_workers_options *o, struct sp_workers **ret_workers)
{
	SP_FREE struct sp_workers *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	unsigned parse_ms = o && o->deadline_ms ? o->deadline_ms : DEADLINE_MS;
	unsigned open_ms = o && o->open_deadline_ms ? o->open_deadline_ms : OPEN_DEADLINE_MS;
	w->pools[SP_ROLE_PARSER] = (struct sp_pool){.max_processes = parsers_for(o),
						    .capacity = SP_POOL_CAPACITY,
						    .deadline_ns = parse_ms * 1000000ULL,
						    .cpu_ns = o ? o->max_cpu_ms * 1000000ULL : 0};
	w->pools[SP_ROLE_OPENER] =
	    (struct sp_pool){.max_processes = OPENERS, .capacity = 1, .deadline_ns = open_ms * 1000000ULL};
	w->pools[SP_ROLE_FETCHER] = (struct sp_pool){.max_processes = 1, .capacity = 1};
	w->broker = o ? o->broker : NULL;
	w->shortens_names = o && o->shortens_names;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0)
		return sp_fail(-errno, "make an epoll descriptor");
	*ret_workers = sp_take_ptr(w);
	return 0;
}

static void deliver(struct sp_workers *w)
{
	struct sp_job *j;
	while ((j = sp_job_pop(&w->answered))) {
		w->n_outstanding--;
		w->called_ns = j->cpu_ns;
		sp_job_call(j);
	}
}

static void cancel_all(struct sp_workers *w, struct sp_job_list *list)
{
	struct sp_job *j;
	while ((j = sp_job_pop(list))) {
		sp_job_fail(j, -ECANCELED, NULL);
		sp_job_push(&w->answered, j);
	}
}

/* Gives killed processes the time to go; those that hang in the kernel are left to it. */
static void bury(struct sp_pool *c)
{
	uint64_t end_ns = sp_time_ns(CLOCK_MONOTONIC) + REAP_MS * 1000000ULL;
	for (struct sp_worker *p; (p = c->processes);) {
		int status;
		uint64_t cpu_ns, now_ns;
		struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
		while (!p->reaped && !sp_worker_reap(p, &status, &cpu_ns) &&
		       (now_ns = sp_time_ns(CLOCK_MONOTONIC)) < end_ns)
			poll(&fd, 1, (int)((end_ns - now_ns) / 1000000) + 1);
		c->processes = p->next;
		sp_worker_free(p);
	}
}

void sp_workers_free(struct sp_workers *w)
{
	if (!w)
		return;
	w->closing = true;
	for (unsigned role = 0; role < SP_N_ROLES; role++) {
		for (struct sp_worker *p = w->pools[role].processes; p; p = p->next) {
			sp_worker_end(p);
			cancel_all(w, &p->jobs);
		}
		cancel_all(w, &w->pools[role].queue);
	}
	deliver(w);
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		bury(&w->pools[role]);
	close(w->epoll);
	free(w);
}

static enum sp_role role_of(enum sp_job_kind kind)
{
	if (kind == SP_JOB_FETCH)
		return SP_ROLE_FETCHER;
	return kind == SP_JOB_OPEN || kind == SP_JOB_OPEN_PATH ? SP_ROLE_OPENER : SP_ROLE_PARSER;
}

static int submit(struct sp_workers *w, struct sp_job *j)
{
	enum sp_role role = role_of(j->kind);
	j->number = ++w->last_number;
	w->n_outstanding++;
	sp_job_insert(&w->pools[role].queue, j);
	sp_pool_pump(w, role);
	return 0;
}

static void job_drop(struct sp_job **j)
{
	if (!*j)
		return;
	sp_cleanup_close(&(*j)->fd);
	sp_cleanup_close(&(*j)->debug_fd);
	sp_cleanup_close(&(*j)->table_fd);
	free((*j)->head);
	free((*j)->offsets);
	free((*j)->path);
	free(*j);
}
#define JOB_DROP __attribute__((cleanup(job_drop)))

/* Names, and all that is done while somebody waits for a process, before builds; what takes little first. */
static uint32_t urgency_of(enum sp_job_kind kind)
{
	if (kind == SP_JOB_IDENTIFY || kind == SP_JOB_JIT_FRAME || kind == SP_JOB_JIT_IMAGE)
		return SP_URGENT;
	return kind != SP_JOB_BUILD;
}

static int job_new(struct sp_workers *w, enum sp_job_kind kind, union sp_job_done done, void *arg,
		   struct sp_job **ret_job)
{
	if (w->closing)
		return -ECANCELED;
	struct sp_job *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->kind = kind;
	j->urgency = urgency_of(kind);
	j->fd = j->memfd = j->debug_fd = j->table_fd = j->opened.fd = -1;
	j->done = done;
	j->arg = arg;
	*ret_job = j;
	return 0;
}

/* --- opening and fetching --- */
int sp_workers_open(struct sp_workers *w, const struct sp_open_request *q,
		    void (*done)(void *arg, struct sp_open_result *result), void *arg)
{
	struct sp_job *j;
	int r = job_new(w, SP_JOB_OPEN, (union sp_job_done){.open = done}, arg, &j);
	if (r < 0)
		return r;
	j->open = *q;
	j->dev = q->key.dev;
	j->path = q->path ? strndup(q->path, SP_JOB_MAX_PATH - 1) : NULL;
	j->open.path = NULL; /* an address, which says nothing to another process */
	return submit(w, j);
}

int sp_workers_open_path(struct sp_workers *w, const struct sp_open_path *q,
			 void (*done)(void *arg, struct sp_open_result *result), void *arg)
{
	if (strlen(q->path) >= SP_JOB_MAX_PATH)
		return w->closing ? -ECANCELED : -ENAMETOOLONG;
	JOB_DROP struct sp_job *j = NULL;
	int r = job_new(w, SP_JOB_OPEN_PATH, (union sp_job_done){.open = done}, arg, &j);
	if (r < 0)
		return r;
	j->open.pid = q->pid;
	j->in_root = q->in_root;
	j->path = strdup(q->path);
	return j->path ? submit(w, sp_take_ptr(j)) : -ENOMEM;
}

int sp_workers_fetch(struct sp_workers *w, const struct sp_fetch_request *q,
		     void (*done)(void *arg, struct sp_open_result *result), void *arg)
{
	JOB_DROP struct sp_job *j = NULL;
	int r = job_new(w, SP_JOB_FETCH, (union sp_job_done){.open = done}, arg, &j);
	if (r < 0)
		return r;
	if (strlen(q->urls) >= SP_JOB_MAX_PATH || q->build_id_len > sizeof(j->build_id))
		return -EINVAL;
	j->path = strdup(q->urls);
	j->build_id_len = q->build_id_len;
	j->deadline_ms = q->deadline_ms;
	memcpy(j->build_id, q->build_id, q->build_id_len);
	if (!j->path)
		return -ENOMEM;
	w->pools[SP_ROLE_FETCHER].deadline_ns = (q->deadline_ms + FETCHER_GRACE_MS) * 1000000ULL;
	return submit(w, sp_take_ptr(j));
}

void sp_workers_hurry(struct sp_workers *w, const void *arg, uint32_t urgency)
{
	sp_job_hurry(&w->pools[SP_ROLE_PARSER].queue, arg, urgency);
}

void sp_workers_cancel(struct sp_workers *w, const void *arg)
{
	struct sp_job *j;
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		while ((j = sp_job_take_out(&w->pools[role].queue, arg))) {
			sp_job_fail(j, -ECANCELED, NULL);
			sp_job_push(&w->answered, j);
		}
}

void sp_workers_rest(struct sp_workers *w)
{
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		for (struct sp_worker *p = w->pools[role].processes; p; p = p->next)
			if (!p->jobs.n)
				sp_worker_end(p);
}

uint64_t sp_workers_called_ns(const struct sp_workers *w)
{
	return w->called_ns;
}

/* --- questions to parsers --- */
/* Never asks the file's server: statx(DONT_SYNC) does not block on a file that is open. */
static uint32_t device_of(int fd, uint64_t *ret_bytes)
{
	struct statx st;
	*ret_bytes = 0;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &st) < 0)
		return 0;
	*ret_bytes = st.stx_size;
	return st.stx_dev_major << 20 | st.stx_dev_minor;
}

static int keep_fd(int fd, int *kept, const char *what)
{
	*kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *kept < 0 ? sp_fail(-errno, "keep %s for the parser", what) : 0;
}

static int check_offsets(enum sp_job_kind kind, const struct sp_question *q)
{
	if (kind == SP_JOB_JIT_FRAME || kind == SP_JOB_JIT_IMAGE)
		return 0;
	if (q->n > SP_JOB_MAX_OFFSETS)
		return sp_fail(-E2BIG, "find %zu names at one time", q->n);
	for (size_t i = 1; i < q->n && kind != SP_JOB_POINTS && kind != SP_JOB_MARKS; i++)
		if (q->offsets[i] < q->offsets[i - 1])
			return sp_fail_said(-EINVAL, "offsets are not sorted");
	return 0;
}

static int give_question(struct sp_job *j, const struct sp_question *q)
{
	int r = keep_fd(q->fd, &j->fd, "a file");
	if (r >= 0 && q->debug_fd >= 0)
		r = keep_fd(q->debug_fd, &j->debug_fd, "a debug file");
	if (r >= 0)
		r = check_offsets(j->kind, q);
	if (r < 0)
		return r;
	j->dev = device_of(q->fd, &j->file_bytes);
	j->number_asked = q->number;
	j->offsets = malloc(q->n * sizeof(*q->offsets) + 1);
	if (!j->offsets)
		return -ENOMEM;
	if (q->n)
		memcpy(j->offsets, q->offsets, q->n * sizeof(*q->offsets));
	j->n_offsets = q->n;
	return 0;
}

int sp_workers_ask(struct sp_workers *w, enum sp_job_kind kind, struct sp_question q, union sp_job_done done, void *arg)
{
	JOB_DROP struct sp_job *j = NULL;
	int r = job_new(w, kind, done, arg, &j);
	r = r < 0 ? r : give_question(j, &q);
	if (r >= 0)
		j->shortens_names = w->shortens_names;
	return r < 0 ? r : submit(w, sp_take_ptr(j));
}

/* A question whose answer is a table of names. */
static int ask_table(struct sp_workers *w, enum sp_job_kind kind, struct sp_question q, int table_fd,
		     const struct sp_name_table_head *head, union sp_job_done done, void *arg)
{
	JOB_DROP struct sp_job *j = NULL;
	int r = job_new(w, kind, done, arg, &j);
	r = r < 0 ? r : give_question(j, &q);
	r = r < 0 ? r : keep_fd(table_fd, &j->table_fd, "a table of names");
	if (r < 0)
		return r;
	j->head = malloc(sizeof(*head));
	if (!j->head)
		return -ENOMEM;
	*j->head = *head;
	return submit(w, sp_take_ptr(j));
}

int sp_workers_identify(struct sp_workers *w, int fd, void (*done)(void *arg, struct sp_identify_result *id), void *arg)
{
	return sp_workers_ask(w, SP_JOB_IDENTIFY, (struct sp_question){.fd = fd, .debug_fd = -1},
			      (union sp_job_done){.identify = done}, arg);
}

int sp_workers_build(struct sp_workers *w, int fd, void (*done)(void *arg, int r, struct sp_blob *blob), void *arg)
{
	return sp_workers_ask(w, SP_JOB_BUILD, (struct sp_question){.fd = fd, .debug_fd = -1},
			      (union sp_job_done){.build = done}, arg);
}

int sp_workers_debug(struct sp_workers *w, int fd, bool with_crc,
		     void (*done)(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc), void *arg)
{
	return sp_workers_ask(w, SP_JOB_DEBUG, (struct sp_question){.fd = fd, .debug_fd = -1, .number = with_crc},
			      (union sp_job_done){.debug = done}, arg);
}

int sp_workers_count(struct sp_workers *w, int fd,
		     void (*done)(void *arg, int r, const struct sp_symbol_counts *counts), void *arg)
{
	return sp_workers_ask(w, SP_JOB_COUNT, (struct sp_question){.fd = fd, .debug_fd = -1},
			      (union sp_job_done){.count = done}, arg);
}

int sp_workers_names(struct sp_workers *w, int fd, int debug_fd, const uint64_t *offsets, size_t n,
		     void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning), void *arg)
{
	return sp_workers_ask(w, SP_JOB_NAMES, (struct sp_question){fd, debug_fd, 0, offsets, n},
			      (union sp_job_done){.names = done}, arg);
}

int sp_workers_data_names(struct sp_workers *w, int fd, int debug_fd, const uint64_t *vaddrs, size_t n,
			  void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning),
			  void *arg)
{
	return sp_workers_ask(w, SP_JOB_DATA_NAMES, (struct sp_question){fd, debug_fd, 0, vaddrs, n},
			      (union sp_job_done){.names = done}, arg);
}

int sp_workers_spans(struct sp_workers *w, int fd, int debug_fd, int table_fd, const struct sp_name_table_head *head,
		     void (*done)(void *arg, int r, const struct sp_name_table_head *head), void *arg)
{
	return ask_table(w, SP_JOB_SPANS, (struct sp_question){.fd = fd, .debug_fd = debug_fd}, table_fd, head,
			 (union sp_job_done){.spans = done}, arg);
}

int sp_workers_kernel(struct sp_workers *w, int fd, int table_fd,
		      void (*done)(void *arg, int r, const struct sp_name_table_head *head), void *arg)
{
	return ask_table(w, SP_JOB_KERNEL, (struct sp_question){.fd = fd, .debug_fd = -1}, table_fd,
			 &(struct sp_name_table_head){0}, (union sp_job_done){.spans = done}, arg);
}

int sp_workers_source_lines(struct sp_workers *w, int fd, int debug_fd, const uint64_t *offsets, size_t n,
			    void (*done)(void *arg, int r, struct sp_source_lines *sources, size_t n), void *arg)
{
	return sp_workers_ask(w, SP_JOB_SOURCES, (struct sp_question){fd, debug_fd, 0, offsets, n},
			      (union sp_job_done){.sources = done}, arg);
}

int sp_workers_verify(struct sp_workers *w, int fd, const uint64_t *places, size_t n,
		      void (*done)(void *arg, int r, const uint64_t *places, size_t n), void *arg)
{
	return sp_workers_ask(w, SP_JOB_VERIFY, (struct sp_question){fd, -1, 0, places, n},
			      (union sp_job_done){.verify = done}, arg);
}

int sp_workers_jit_names(struct sp_workers *w, enum sp_jit_source source, int fd, uint64_t asked,
			 const uint64_t *addresses, size_t n,
			 void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning),
			 void *arg)
{
	static const enum sp_job_kind kinds[] = {
	    [SP_JIT_MAP] = SP_JOB_MAP, [SP_JIT_DUMP] = SP_JOB_JIT_DUMP, [SP_JIT_OBJECTS] = SP_JOB_JIT_OBJECTS};

	return sp_workers_ask(w, kinds[source], (struct sp_question){fd, -1, asked, addresses, n},
			      (union sp_job_done){.names = done}, arg);
}

int sp_workers_jit_descriptor(struct sp_workers *w, int fd, uint64_t offset,
			      void (*done)(void *arg, int r, uint64_t distance), void *arg)
{
	return sp_workers_ask(w, SP_JOB_JIT_DESCRIPTOR,
			      (struct sp_question){.fd = fd, .debug_fd = -1, .number = offset},
			      (union sp_job_done){.descriptor = done}, arg);
}

int sp_workers_jit_frame(struct sp_workers *w, int memory, const uint64_t *question, size_t n,
			 void (*done)(void *arg, int r, uint64_t frame), void *arg)
{
	return sp_workers_ask(w, SP_JOB_JIT_FRAME, (struct sp_question){memory, -1, 0, question, n},
			      (union sp_job_done){.descriptor = done}, arg);
}

int sp_workers_jit_image(struct sp_workers *w, int memory, const struct sp_hotspot *h, const uint64_t *places, size_t n,
			 size_t n_leaves, void (*done)(void *arg, int r, struct sp_image *image), void *arg)
{
	enum { HEAD = sizeof(*h) / sizeof(uint64_t) };
	SP_FREE uint64_t *words = calloc(HEAD + n, sizeof(*words));
	if (!words)
		return -ENOMEM;
	memcpy(words, h, sizeof(*h));
	if (n)
		memcpy(words + HEAD, places, n * sizeof(*places));
	return sp_workers_ask(w, SP_JOB_JIT_IMAGE, (struct sp_question){memory, -1, n_leaves, words, HEAD + n},
			      (union sp_job_done){.image = done}, arg);
}

int sp_workers_fd(const struct sp_workers *w)
{
	return w->epoll;
}

int sp_workers_timeout_ms(const struct sp_workers *w)
{
	uint64_t next = ~0ULL, now = sp_time_ns(CLOCK_MONOTONIC);
	if (w->answered.n)
		return 0;
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		next = SP_MIN(next, sp_pool_next_ns(&w->pools[role], now));
	return sp_ms_until(next);
}

unsigned sp_workers_outstanding(const struct sp_workers *w)
{
	return (unsigned)w->n_outstanding;
}

int sp_workers_dispatch(struct sp_workers *w)
{
	struct epoll_event events[16];
	int n = epoll_wait(w->epoll, events, SP_COUNT(events), 0);
	if (n < 0 && errno != EINTR)
		return sp_fail(-errno, "wait for workers");
	for (int i = 0; i < n; i++)
		sp_pool_serve(w, events[i].data.ptr);
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		sp_pool_tick(w, role, now_ns);
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		sp_pool_pump(w, role);
	deliver(w);
	return 0;
}

int sp_workers_wait(struct sp_workers *w, int timeout_ms)
{
	uint64_t end_ns = timeout_ms < 0 ? UINT64_MAX : sp_time_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000000;
	for (;;) {
		int r = sp_workers_dispatch(w);
		if (r < 0 || !w->n_outstanding)
			return r;
		int ms = sp_ms_until(end_ns);
		if (!ms)
			return -ETIMEDOUT;
		struct pollfd fd = {.fd = w->epoll, .events = POLLIN};
		poll(&fd, 1, sp_ms_sooner(ms, sp_workers_timeout_ms(w)));
	}
}

static void add_usage(struct sp_workers_stats *s, int pid, bool is_parser, uint64_t peak_bytes)
{
	struct sp_usage u = sp_worker_usage(pid);
	s->cpu_ns += u.user_ns + u.system_ns;
	s->parsers_ns += is_parser ? u.user_ns + u.system_ns : 0;
	s->peak_bytes += SP_MAX(peak_bytes, u.peak_bytes);
	s->own_bytes += u.own_bytes;
}

void sp_workers_stats(const struct sp_workers *w, struct sp_workers_stats *ret_stats)
{
	uint64_t broker_bytes;
	*ret_stats = w->ended;
	ret_stats->peak_bytes = 0;
	if (w->broker)
		add_usage(ret_stats, sp_broker_pid(w->broker), false, 0);
	broker_bytes = ret_stats->peak_bytes;
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		for (struct sp_worker *p = w->pools[role].processes; p; p = p->next)
			if (!p->reaped)
				add_usage(ret_stats, p->pid, role == SP_ROLE_PARSER, p->peak_bytes);
	ret_stats->peak_bytes = SP_MAX(ret_stats->peak_bytes, w->ended.peak_bytes + broker_bytes);
}

uint64_t sp_workers_cpu_ns(const struct sp_workers *w)
{
	uint64_t ns = w->ended.cpu_ns + (w->broker ? sp_usage_cpu_ns((uint32_t)sp_broker_pid(w->broker)) : 0);
	for (unsigned role = 0; role < SP_N_ROLES; role++)
		for (const struct sp_worker *p = w->pools[role].processes; p; p = p->next)
			ns += p->reaped ? 0 : sp_usage_cpu_ns((uint32_t)p->pid);
	return ns;
}
