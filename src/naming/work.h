/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.h: the current question, as steps. Private to src/naming.
 *
 * Steps form a stack. sp_naming_then() pushes the continuation; a step's result (>= 0 or a negative errno) is passed
 * to the last one pushed, and the last result is the question's. Beyond SP_NAMING_STEPS the question fails with
 * -ELOOP. A step that has asked a worker returns sp_naming_asked(), or a function below made of it; the next step gets
 * the answer. What a step holds is in struct sp_naming_work, which closes and frees it. One thread.
 */
#ifndef SP_NAMING_WORK_H
#define SP_NAMING_WORK_H

#include "base/entries.h"
#include "naming/jit.h"
#include "naming/naming.h"
#include "symbol/name_table.h"
#include "worker/jobs_names.h"
#include <limits.h>
#include <stdbool.h>

typedef int sp_naming_step_fn(struct sp_naming *n, int r);
enum { SP_NAMING_STEPS = 16 }; /* one for each part of a question that waits for another */

struct sp_debug_search {
	struct sp_elf_debug own; /* what the file has itself */
	unsigned n_tried;        /* places, by our paths and by those of a process */
	bool has_asked_servers, in_process, by_link, is_trusted;
	char path[PATH_MAX];
	int fd, found; /* what is being looked at; -1 = nothing yet */
};

struct sp_naming_work {
	struct sp_naming *naming; /* NULL: the answer is not wanted any more */
	sp_naming_step_fn *then[SP_NAMING_STEPS];
	unsigned n_then;
	bool is_waiting; /* for a worker */
	int result;      /* of the last step */
	char error[512]; /* what a worker says of it */
	uint64_t cpu_ns; /* that workers have used for it */
	/* The question. */
	uint32_t file;
	const uint64_t *offsets;
	size_t n;
	struct sp_name *names;
	struct sp_source_lines *sources;
	uint64_t *verified; /* of the offsets; n_verified */
	size_t n_verified;
	/* What workers have answered last. */
	struct sp_naming_opened {
		int fd;
		uint32_t uid, mode; /* whose it is */
		uint64_t size;
		struct sp_file_state state;
	} opened;
	struct sp_elf_debug debug;
	uint32_t crc;
	uint64_t distance;
	struct sp_name *answer; /* where names go */
	sp_naming_step_fn *ask; /* sp_naming_by_debug() */
	int fd;                 /* our own: the session may close its */
	/* The table of names. */
	int table_fd;
	bool is_cached, is_second; /* for the disk; what was damaged is made anew, once */
	char entry[SP_ENTRY_NAME];
	struct sp_name_table_head head;
	struct sp_cache_key key;
	uint8_t build_id[32];
	/* The debug file. */
	struct sp_debug_search search;
	uint64_t fetch_began_ns;
	/* JIT code. */
	struct sp_jit_question jit;
};

void sp_naming_then(struct sp_naming *n, sp_naming_step_fn *step);
/* A question begins; it is waited for; the work goes, and what was found in it: its result. */
int sp_naming_begin(struct sp_naming *n, const struct sp_name_question *q, sp_naming_step_fn *first);
int sp_naming_wait(struct sp_naming *n);
int sp_naming_end(struct sp_naming *n);

/* r: of having asked a worker, with the work as arg, and one of these as callback. */
int sp_naming_asked(struct sp_naming *n, int r);
void sp_naming_came(struct sp_naming_work *w, int r); /* what a callback ends with; what came is the work's already */
void sp_naming_opened(void *work, struct sp_open_result *result);
void sp_naming_named(void *work, int r, struct sp_name *names, size_t n, const char *warning);
void sp_naming_table_came(void *work, int r, const struct sp_name_table_head *head);
/* An opener, for work->opened; a parser, for work->debug and crc. */
int sp_naming_open(struct sp_naming *n, const struct sp_open_path *q);
int sp_naming_look(struct sp_naming *n, int fd, bool with_crc);

#endif
