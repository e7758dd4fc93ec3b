/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the two sides of a worker's socket share, and the parent's book-keeping.
 *
 * One SOCK_SEQPACKET pair a process. The parent sends struct sp_job_message with the file's descriptor and, where the
 * answer or the question may be large, a memfd that the parent made: the question is in it, and the process writes the
 * answer over it. The process sends struct sp_answer_message, cut after its text, in the order of the jobs. A parser's
 * answers are hostile until checked: the parent takes no descriptors from it and reads the memfd with pread into memory
 * of its own. Ownership: a job owns its descriptor, offsets and results until its callback has been called.
 */
#ifndef SP_WORKER_PRIV_H
#define SP_WORKER_PRIV_H

#include "worker/worker.h"
#include <stdbool.h>

enum {
	SP_JOB_SOCKET = 3,      /* the child's end, by number */
	SP_JOB_MAX_TEXT = 8192, /* a path, a soname or an error */
	SP_JOB_MAX_OFFSETS = 1 << 20,
	SP_JOB_MAX_BYTES = 256 << 20, /* of an answer in the memfd */
	SP_CREW_GOOD_DEVS = 64,
};

enum sp_role { SP_ROLE_PARSER, SP_ROLE_OPENER, SP_N_ROLES };
enum sp_job_kind { SP_JOB_OPEN, SP_JOB_IDENTIFY, SP_JOB_BUILD, SP_JOB_NAMES };

struct sp_job_message {
	uint64_t number;
	uint32_t kind, n_offsets;
	struct sp_open_request open;
};

struct sp_answer_message {
	uint64_t number, dev, ino, ctime_ns, bytes; /* bytes: of the answer in the memfd */
	int32_t r;
	uint32_t text_len, build_id_len;
	uint8_t build_id[32];
	uint32_t deleted, uid, mode, nlink, is_ours;
	struct sp_elf_package package;
	char text[SP_JOB_MAX_TEXT]; /* why r < 0, else path or soname; no NUL */
};

/* One name in the memfd; the strings follow it, without NUL. */
struct sp_packed_name {
	uint64_t start, size, vaddr;
	uint32_t name_len, linkage_len, is_gap, zero; /* a length SP_PACKED_NULL = no string */
};
#define SP_PACKED_NULL 0xffffffffu

struct sp_job {
	struct sp_job *next;
	uint64_t number;
	enum sp_job_kind kind;
	int fd, memfd; /* memfd only while the job is with a process */
	uint32_t dev, n_tries;
	struct sp_open_request open;
	uint64_t *offsets;
	size_t n_offsets;
	void *arg;
	union {
		void (*open)(void *arg, struct sp_open_result *result);
		void (*identify)(void *arg, struct sp_identify_result *id);
		void (*build)(void *arg, int r, struct sp_blob *blob);
		void (*names)(void *arg, int r, struct sp_name *names, size_t n);
	} done;
	int r;
	char *error; /* NULL: say strerror */
	struct sp_open_result opened;
	struct sp_identify_result identity;
	struct sp_blob *blob;
	struct sp_name *names;
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
	uint64_t since_ns, ended_ns; /* when the first job became the first; when the process was killed */
	uint64_t n_answers, peak_bytes;
	int epoll;    /* the caller's, which watches socket and pidfd */
	uint32_t dev; /* of the job that it was late with */
	bool late, abandoned, reaped;
};

struct sp_crew { /* the processes of one role and what waits for them */
	unsigned max_processes, capacity, n_good_devs;
	uint32_t good_devs[SP_CREW_GOOD_DEVS]; /* devices that have answered */
	uint64_t deadline_ns;
	struct sp_job_list queue;
	struct sp_worker *processes;
};

struct sp_workers {
	int epoll;
	bool closing;
	uint64_t last_number, n_outstanding;
	struct sp_crew crews[SP_N_ROLES];
	struct sp_job_list answered;   /* callbacks are due */
	struct sp_workers_stats ended; /* of processes that are gone */
};

/* jobs.c: lists of jobs; filling in an answer (0, or -EBADMSG when the process breaks the rules); calling back. */
void sp_job_push(struct sp_job_list *list, struct sp_job *j);
struct sp_job *sp_job_pop(struct sp_job_list *list);
void sp_job_prepend(struct sp_job_list *list, struct sp_job_list *head); /* head is empty afterwards */
unsigned sp_job_weight(const struct sp_job *j);
int sp_job_send(struct sp_job *j, int socket);
int sp_job_receive(int socket, enum sp_role role, struct sp_answer_message *ret_answer, int *ret_fd);
int sp_job_take(struct sp_job *j, const struct sp_answer_message *a, int fd);
void sp_job_fail(struct sp_job *j, int r, const char *error); /* forgets results that were taken; error is copied */
void sp_job_call(struct sp_job *j);                           /* and frees it */

int sp_worker_new(enum sp_role role, int epoll, struct sp_worker **ret_worker);
void sp_worker_end(struct sp_worker *p); /* kills it; waits for nothing */
bool sp_worker_reap(struct sp_worker *p, int *ret_status, uint64_t *ret_cpu_ns);
void sp_worker_measure(struct sp_worker *p); /* VmHWM so far */
uint64_t sp_worker_cpu_ns(const struct sp_worker *p);
void sp_worker_free(struct sp_worker *p); /* of a reaped one, or to forget one that cannot die */

/* The processes of one role. */
void sp_crew_pump(struct sp_workers *w, enum sp_role role);    /* sends what can be sent, starts processes */
void sp_crew_serve(struct sp_workers *w, struct sp_worker *p); /* takes in answers and ends */
void sp_crew_tick(struct sp_workers *w, enum sp_role role, uint64_t now_ns); /* deadlines; forgets ended processes */
uint64_t sp_crew_next_ns(const struct sp_crew *crew, uint64_t now_ns); /* the next thing to do by time; ~0 = none */

/* In the child. */
bool sp_worker_can_exec(void); /* main has called sp_worker_main(); asked before it is executed */
_Noreturn void sp_worker_run(enum sp_role role);
int sp_sandbox_enter(void);  /* gives everything up, for ever */
int sp_sandbox_opener(void); /* keeps what opening needs */
void sp_parser_work(const struct sp_job_message *m, const int *fds, struct sp_answer_message *a);
int sp_opener_work(const struct sp_job_message *m, struct sp_answer_message *a); /* the descriptor, or -1 */

/* mounts.c: types of file systems, as this process or that one sees them; -ENOENT when neither does. */
enum { SP_MOUNT_TYPE = 32 };
bool sp_type_may_hang(const char *type);
int sp_mount_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE]);
int sp_device_type(pid_t pid, uint32_t dev, char ret_type[SP_MOUNT_TYPE]);
int sp_overlay_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE]); /* of a layer */
int sp_mount_open(uint32_t dev, unsigned *position); /* the next mount point of a device, from *position 0 on */

#endif
