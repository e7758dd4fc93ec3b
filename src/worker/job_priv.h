/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_priv.h: the parent's jobs, and what becomes of an answer.
 *
 * A job owns its descriptors, offsets and results until its callback has been called. A list owns its jobs. 0 or a
 * negative errno. One thread, the caller's.
 */
#ifndef SP_WORKER_JOB_PRIV_H
#define SP_WORKER_JOB_PRIV_H

#include "unwind/hotspot_image.h"
#include "worker/message.h"
#include <stdbool.h>

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
	void (*points)(void *arg, int r, struct sp_probe_set *set);
	void (*marks)(void *arg, int r, struct sp_usdts *marks);
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
	uint64_t file_bytes; /* POINTS, MARKS: its size when it was asked about */
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
	struct sp_probe_set points;
	struct sp_usdts marks;
};

struct sp_job_list {
	struct sp_job *first, *last;
	size_t n;
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
int sp_job_read(int memfd, uint64_t size, void **ret_bytes);  /* an answer's, with a NUL behind it */
int sp_job_take_probes(struct sp_job *j, const struct sp_answer_message *a); /* probes.c: of sp_job_take() */
bool sp_job_is_grave(const struct sp_job *j); /* wants a process that has had no other job */

/* What a parser is asked about a file, and its separate debug file (-1 = none). */
struct sp_question {
	int fd, debug_fd;
	uint64_t number; /* message.h */
	const uint64_t *offsets;
	size_t n;
};
int sp_workers_ask(struct sp_workers *w, enum sp_job_kind kind, struct sp_question q, union sp_job_done done,
		   void *arg);

/* In the parser: n words of a question. */
int sp_parser_points(struct sp_elf *e, int memfd, size_t n, struct sp_answer_message *a);
int sp_parser_marks(struct sp_elf *e, int memfd, size_t n, struct sp_answer_message *a);

#endif
