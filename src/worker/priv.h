/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parent's jobs and worker processes, and the code that runs in a worker.
 *
 * A job owns its descriptors, offsets and results until its callback has been called. A list owns its jobs, a process
 * the jobs sent to it, a pool its processes. 0 or a negative errno. One thread, the caller's.
 */
#ifndef SP_WORKER_PRIV_H
#define SP_WORKER_PRIV_H

#include "unwind/hotspot_image.h"
#include "worker/message.h"
#include <stdbool.h>

enum {
	SP_POOL_GOOD_DEVS = 64,
	SP_POOL_CAPACITY = 8, /* so many small jobs are with a parser at one time, or one that may take long, alone */
};
#define SP_URGENT UINT32_MAX

union sp_job_done {
	void (*open)(void *arg, struct sp_open_result *result);
	void (*identify)(void *arg, struct sp_identify_result *id);
	void (*build)(void *arg, int r, struct sp_blob *blob);
	void (*names)(void *arg, int r, struct sp_name *names, size_t n, const char *warning);
	void (*debug)(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc);
	void (*count)(void *arg, int r, const struct sp_symbol_counts *counts);
	void (*sources)(void *arg, int r, struct sp_source_lines *sources, size_t n);
	void (*spans)(void *arg, int r, const struct sp_name_table_head *head);
	void (*descriptor)(void *arg, int r, uint64_t distance);
	void (*image)(void *arg, int r, struct sp_image *image);
	void (*verify)(void *arg, int r, const uint64_t *places, size_t n);
};
struct sp_job {
	struct sp_job *next;
	uint64_t number;
	enum sp_job_kind kind;
	int fd, debug_fd, table_fd, memfd; /* memfd only while the job is with a process */
	uint32_t dev, n_tries, urgency, crc;
	struct sp_open_request open;
	char *path; /* OPEN_PATH; OPEN: where else to look; FETCH: the servers' addresses */
	uint8_t build_id[32];
	uint32_t build_id_len, deadline_ms;
	bool in_root, shortens_names;
	uint64_t number_asked, distance, cpu_ns; /* message.h; JIT_DESCRIPTOR, JIT_FRAME: the frame; used for it */
	uint64_t *offsets;
	size_t n_offsets;
	void *arg;
	union sp_job_done done;
	int r;
	char *error; /* NULL: say strerror; beside names: a warning */
	struct sp_open_result opened;
	struct sp_identify_result identity;
	struct sp_blob *blob;
	struct sp_image image;
	struct sp_name *names;
	struct sp_source_lines *sources;
	struct sp_elf_debug debug;
	struct sp_symbol_counts counts;
	struct sp_name_table_head *head;
};

struct sp_job_list {
	struct sp_job *first, *last;
	size_t n;
};

struct sp_worker {
	struct sp_worker *next;
	enum sp_role role;
	int pid, pidfd, socket;  /* socket -1: no more is expected of it, and it has been killed */
	struct sp_job_list jobs; /* sent, unanswered; the first is in work */
	unsigned load;
	uint64_t since_ns, ended_ns; /* when the first job became the first, or the last was done; when it was killed */
	uint64_t begin_cpu_ns, last_cpu_ns; /* its CPU time at since_ns, and when its first job was late */
	unsigned n_more;                    /* how often its first job was given as long again */
	uint64_t n_answers, peak_bytes;
	int epoll;                /* the caller's, which watches socket and pidfd */
	struct sp_broker *broker; /* NULL: it was forked */
	uint32_t dev;             /* of the job that it was late with */
	bool late, abandoned, reaped;
};

struct sp_pool { /* the processes of one role and what waits for them */
	unsigned max_processes, capacity, n_good_devs;
	uint32_t good_devs[SP_POOL_GOOD_DEVS]; /* devices that have answered */
	uint64_t deadline_ns, idle_ns;         /* idle_ns 0: a process stays */
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

/* jobs.c: lists of jobs; filling in an answer (0, or -EBADMSG when the process breaks the rules); calling back. */
void sp_job_push(struct sp_job_list *list, struct sp_job *j);
struct sp_job *sp_job_pop(struct sp_job_list *list);
void sp_job_prepend(struct sp_job_list *list, struct sp_job_list *head);        /* head is empty afterwards */
void sp_job_insert(struct sp_job_list *list, struct sp_job *j);                 /* before all that is less urgent */
void sp_job_hurry(struct sp_job_list *list, const void *arg, uint32_t urgency); /* the first with this arg */
struct sp_job *sp_job_take_out(struct sp_job_list *list, const void *arg);      /* likewise; NULL: none */
unsigned sp_job_weight(const struct sp_job *j);
int sp_job_send(struct sp_job *j, int socket);
int sp_job_receive(int socket, enum sp_role role, struct sp_answer_message *ret_answer, int *ret_fd);
int sp_job_take(struct sp_job *j, const struct sp_answer_message *a, int fd);
void sp_job_fail(struct sp_job *j, int r, const char *error); /* forgets results that were taken; error is copied */
void sp_job_call(struct sp_job *j);                           /* and frees it */

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

int sp_put_message(int socket, const void *bytes, size_t n, int fd); /* one; fd may be -1; 0 or a negative errno */
/* In the child. */
_Noreturn void sp_worker_begin(enum sp_role role, int socket);  /* a new process becomes a worker */
_Noreturn void sp_worker_become(enum sp_role role, int socket); /* the same in the broker's */
_Noreturn void sp_broker_run(void), sp_worker_run(enum sp_role role);
bool sp_worker_can_exec(void); /* main has called sp_worker_main() */
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
