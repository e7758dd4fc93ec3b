/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parent's worker processes, and the code that runs in a worker.
 *
 * A process owns the jobs sent to it (job_priv.h), a pool its processes. 0 or a negative errno. One thread, the
 * caller's.
 */
#ifndef SP_WORKER_PRIV_H
#define SP_WORKER_PRIV_H

#include "worker/job_priv.h"

enum {
	SP_POOL_GOOD_DEVS = 64,
	SP_POOL_CAPACITY = 8, /* so many small jobs are with a parser at one time, or one that may take long, alone */
};
#define SP_URGENT UINT32_MAX

struct sp_worker {
	struct sp_worker *next;
	enum sp_role role;
	int pid, pidfd, socket;  /* socket -1: no more is expected of it, and it has been killed */
	struct sp_job_list jobs; /* sent, unanswered; the first is in work */
	unsigned load;
	uint64_t since_ns, ended_ns; /* when the first job became the first, or the last was done; when it was killed */
	uint64_t begin_cpu_ns, last_cpu_ns; /* its CPU time at since_ns, and when its first job was late */
	unsigned n_more;                    /* how often its first job was given as long again */
	uint64_t spent_at_ns;               /* before that its first job cannot have used all of the pool's cpu_ns */
	uint64_t n_answers, peak_bytes;
	int epoll;                /* the caller's, which watches socket and pidfd */
	struct sp_broker *broker; /* NULL: it was forked */
	uint32_t dev;             /* of the job that it was late with */
	bool late, abandoned, reaped;
	bool is_used; /* it was given a job */
};

struct sp_pool { /* the processes of one role and what waits for them */
	unsigned max_processes, capacity, n_good_devs;
	uint32_t good_devs[SP_POOL_GOOD_DEVS]; /* devices that have answered */
	uint64_t deadline_ns, idle_ns;         /* idle_ns 0: a process stays */
	uint64_t cpu_ns;                       /* that a job may use; 0 = no limit */
	struct sp_job_list queue;
	struct sp_worker *processes;
};

struct sp_workers {
	int epoll;
	struct sp_broker *broker;
	bool closing, shortens_names;
	uint64_t last_number, n_outstanding, called_ns; /* called_ns: CPU time of the job that is being answered */
	struct sp_pool pools[SP_N_ROLES];
	struct sp_job_list answered;   /* callbacks are due */
	struct sp_workers_stats ended; /* of processes that are gone */
};

int sp_worker_new(enum sp_role role, int epoll, struct sp_broker *broker, struct sp_worker **ret_worker);
void sp_worker_end(struct sp_worker *p); /* kills it; waits for nothing */
bool sp_worker_reap(struct sp_worker *p, int *ret_status, uint64_t *ret_cpu_ns);
void sp_worker_measure(struct sp_worker *p); /* VmHWM so far */
struct sp_usage sp_worker_usage(int pid);    /* all 0: not known */
void sp_worker_free(struct sp_worker *p);    /* of a reaped one, or to forget one that cannot die */

void sp_pool_pump(struct sp_workers *w, enum sp_role role);    /* sends what can be sent, starts a role's processes */
void sp_pool_serve(struct sp_workers *w, struct sp_worker *p); /* takes in answers and ends */
void sp_pool_tick(struct sp_workers *w, enum sp_role role, uint64_t now_ns); /* deadlines; forgets ended processes */
uint64_t sp_pool_next_ns(const struct sp_pool *pool, uint64_t now_ns); /* the next thing to do by time; ~0 = none */

/* broker.c: a worker that has the other end of a socket pair: its pid. And the end of one. */
int sp_broker_start(struct sp_broker *b, enum sp_role role, int socket);
int sp_broker_kill(struct sp_broker *b, int pid);
int sp_broker_seal(struct sp_broker *b); /* no more outputs */
int sp_broker_pid(const struct sp_broker *b);

/* One; fd may be -1. -ETOOMANYREFS: for a second this user had too many descriptors on their way to send one more. */
int sp_put_message(int socket, const void *bytes, size_t n, int fd);
/* In the child. */
_Noreturn void sp_worker_begin(enum sp_role role, int socket);  /* a new process becomes a worker */
_Noreturn void sp_worker_become(enum sp_role role, int socket); /* the same in the broker's */
_Noreturn void sp_broker_run(void), sp_worker_run(enum sp_role role);
bool sp_worker_can_exec(void);  /* main has called sp_worker_main() */
#define SP_WORKER_LINES "lines" /* the argument behind the role */
bool sp_worker_wants_lines(void);
void sp_sandbox_keep_over_exec(void);
int sp_sandbox_enter(void);   /* gives everything up, for ever */
int sp_sandbox_fetcher(void); /* no privileges, but files and the network */
int sp_sandbox_opener(void);  /* keeps what opening needs */
int sp_sandbox_broker(void);  /* and starting workers, BPF arrays, perf events, an output */
int sp_sandbox_broker_settle(bool has_output);
void sp_parser_work(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a);
int sp_opener_work(const struct sp_job_message *m, struct sp_answer_message *a);  /* the descriptor, or -1 */
int sp_fetcher_work(const struct sp_job_message *m, struct sp_answer_message *a); /* this, too */

#endif
