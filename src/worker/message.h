/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h: the messages between a worker and its parent.
 *
 * Each worker has a SOCK_SEQPACKET pair. The parent sends struct sp_job_message, cut after its path, with the file's
 * descriptor; for large questions or answers also with a memfd of the parent's, which has the question and which the
 * worker overwrites with the answer; a debug file's descriptor may be the third. The worker answers in order, with
 * struct sp_answer_message, cut after its text. Answers of parsers are hostile until checked: the parent accepts no
 * descriptors from them, and reads the memfd with pread into its own memory.
 */
#ifndef SP_WORKER_MESSAGE_H
#define SP_WORKER_MESSAGE_H

#include "worker/jobs_names.h"
#include "worker/jobs_probes.h"

enum {
	SP_JOB_SOCKET = 3,      /* the child's end, by number */
	SP_JOB_MAX_TEXT = 8192, /* a path, a soname or an error */
	SP_JOB_MAX_PATH = 4096, /* to be opened */
	SP_JOB_MAX_FDS = 3,     /* sent with a job: the file, the memfd, the debug file */
	SP_JOB_MAX_OFFSETS = 1 << 20,
	SP_JOB_MAX_BYTES = 256 << 20, /* of an answer in the memfd */
};

enum sp_role { SP_ROLE_PARSER, SP_ROLE_OPENER, SP_ROLE_FETCHER, SP_N_ROLES, SP_ROLE_BROKER = SP_N_ROLES };
enum sp_job_kind {
	SP_JOB_OPEN,
	SP_JOB_OPEN_PATH,
	SP_JOB_IDENTIFY,
	SP_JOB_BUILD,
	SP_JOB_NAMES,
	SP_JOB_DEBUG,
	SP_JOB_MAP,
	SP_JOB_FETCH,
	SP_JOB_COUNT,
	SP_JOB_SOURCES,
	SP_JOB_SPANS,
	SP_JOB_KERNEL,
	SP_JOB_JIT_DUMP,
	SP_JOB_JIT_OBJECTS,
	SP_JOB_JIT_DESCRIPTOR,
	SP_JOB_JIT_FRAME,
	SP_JOB_JIT_IMAGE,
	SP_JOB_VERIFY,
	SP_JOB_DATA_NAMES,
	SP_JOB_POINTS,
	SP_JOB_MARKS,
};

struct sp_job_message {
	uint64_t number;
	uint32_t kind, n_offsets;
	struct sp_open_request open;
	int32_t in_root;
	uint32_t shortens_names, pad;
	uint64_t
	    number_asked; /* argument of DEBUG: with_crc; of JIT_*: since_ns, descriptor's address, offset, n_leaves */
	uint32_t deadline_ms, build_id_len;
	uint8_t build_id[32]; /* FETCH */
	uint32_t path_len;
	char path[SP_JOB_MAX_PATH]; /* FETCH: the servers' addresses. No NUL; the message is cut behind it */
};

struct sp_answer_message {
	uint64_t number, dev, ino, ctime_ns, mtime_ns, opened_ns, size, bytes; /* bytes: of the answer in the memfd */
	uint64_t sample;
	int32_t r;
	uint32_t text_len, build_id_len;
	uint8_t build_id[32];
	uint32_t deleted, uid, mode, nlink, is_ours, is_withheld; /* withheld: found, but no ELF file */
	struct sp_elf_package package;
	uint64_t image_vaddr, image_bytes;
	struct sp_elf_debug debug;
	uint32_t crc;
	struct sp_symbol_counts counts;
	char text[SP_JOB_MAX_TEXT]; /* why r < 0, else path or soname; no NUL */
};

/* SPANS: the memfd holds spans as symbol/span.h writes them. */
/* One name in the memfd; the strings follow it, without NUL. */
struct sp_packed_name {
	uint64_t start, size, vaddr;
	uint32_t name_len, linkage_len, is_gap, zero; /* a length SP_PACKED_NULL = no string */
};
/* Of each offset in the memfd: how many of these follow; with their strings behind each. */
struct sp_packed_source {
	uint32_t line, begin_line, name_len, source_len;
};
/* POINTS: this, and of each point the next, with its names behind it, each with its NUL. MARKS: how many, how many bad;
   of each two words, offset and semaphore, and three texts. The question: probes.c. */
struct sp_packed_points {
	uint64_t n, n_names, n_functions, n_ifuncs, n_ifuncs_unsure, is_go, refused[SP_PROBE_N_REFUSALS];
};
struct sp_packed_point {
	uint64_t offset, function, address;
	uint32_t n_names;
	int32_t jump;
	uint8_t cost, pushed, loops, length, zero[4];
};
#define SP_PACKED_NULL 0xffffffffu

#endif
