/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: shared by the files of src/naming.
 *
 * work.c runs the steps of a question; naming.c has the first ones and what is known of files; table.c finds or makes
 * a file's name table, kernel.c the kernel's; debug_file.c and fetch.c search debug files, by_path.c files; jit.h is
 * about memory without a file. struct sp_naming owns what is known of files, by number in the profile; struct
 * sp_naming_work what belongs to the current question. 0 or a negative errno. One thread.
 */
#ifndef SP_NAMING_PRIV_H
#define SP_NAMING_PRIV_H

#include "naming/work.h"
#include "symbol/name_table.h"
#include <stdbool.h>

enum sp_named_state {
	SP_NAMED_NEW,    /* nothing was looked for yet */
	SP_NAMED_CACHED, /* its table is on disk; opened for each question, since there may be many files */
	SP_NAMED_PRIVATE,
	SP_NAMED_ASKED,  /* it has no table: a parser is asked */
	SP_NAMED_FAILED, /* not even that worked: it is not tried again */
};

struct sp_named_file {
	uint8_t state;
	bool has_looked;       /* for a debug file; debug_fd is the one, or -1 */
	bool debug_is_trusted; /* what it says may go into the table on disk */
	int debug_fd;
	struct sp_name_table table; /* PRIVATE: fd is ours */
	uint64_t tag;               /* the file's in the profile */
	uint64_t looked_ns;         /* when its debug file was looked for in vain; 0 = it needs none, or has it */
	int failure;
	uint64_t n_met;          /* samples without names, as counted for may_parse */
	uint64_t asked_ns;       /* when it was asked last for some of its functions; 0 = never */
	unsigned n_asked;        /* how often */
	uint64_t rests_until_ns; /* memory without a file: its process's lists are not read before; CLOCK_BOOTTIME */
};

/* A file that was looked for at its path. */
struct sp_named_path {
	bool looked;
	int fd; /* or why there is none */
	uint32_t uid, mode;
	uint64_t size;
	struct sp_file_state state;
};

/* naming.c: what is known of a file; NULL: out of memory, which it is not any more once there was a first step. */
struct sp_named_file *sp_named_file(struct sp_naming *n, uint32_t file);
void sp_named_file_done(struct sp_named_file *f);
/* Whether a parser may be asked now; -EAGAIN is said if not. worth: one of these. */
enum { SP_NAMING_TABLE = 1, SP_NAMING_QUESTION = 4 }; /* what a sample is worth: some names take less than all */
bool sp_naming_may_parse(const struct sp_naming *n, const struct sp_named_file *f, unsigned worth);
/* The same of a file of so many bytes that the session does not know, which is read whole. */
bool sp_naming_may_read(const struct sp_naming *n, const struct sp_named_file *f, uint64_t bytes);
/* A process that has had the file mapped, or 0. */
uint32_t sp_naming_pid(struct sp_naming *n, uint32_t file);
/* Why something that might have given names has not, into the file's note. Keeps a note that is there. */
void sp_naming_note(struct sp_naming *n, uint32_t file, const char *what, int r);
void sp_naming_note_text(struct sp_naming *n, uint32_t file, const char *text);

/* First steps; and which one a question about this file has. */
int sp_naming_kernel(struct sp_naming *n, int r);
int sp_naming_jit_code(struct sp_naming *n, int r);
sp_naming_step_fn *sp_naming_first(const struct sp_naming *n, uint32_t file);

/* The step before work->ask, which has the file and its debug file to ask a worker about. */
int sp_naming_by_debug(struct sp_naming *n, int r);
/* Whether it was the debug file that could not be parsed: it is given up, and the file is to be asked without. */
bool sp_naming_debug_failed(struct sp_naming *n, int r);

/* Parts of a question: what they come to goes to the step that was put down before. */
int sp_naming_look_up(struct sp_naming *n);   /* table.c: names from the file's table. -ENOENT: it has none */
int sp_naming_file_find(struct sp_naming *n); /* by_path.c: a file at its path, if that is where it is to be from */
int sp_debug_file_choose(
    struct sp_naming *n); /* debug_file.c: of the file in work->fd, once, for what is known of it */
/* The same where what the file has itself is known already: into work->search. */
int sp_debug_file_search(struct sp_naming *n, const struct sp_elf_debug *own);
/* fetch.c: from debuginfod servers, if there are any and the time for all files is not over: into work->opened. */
int sp_debug_file_fetch(struct sp_naming *n);

void sp_debug_file_drop(struct sp_named_file *f);
struct sp_name_table sp_naming_table(int fd, const struct sp_name_table_head *h);
/* The session's file, or the one that was found at its path; the descriptor stays theirs. A negative errno: none. */
int sp_naming_file_fd(const struct sp_naming *n, uint32_t file);
bool sp_naming_file_key(const struct sp_naming *n, uint32_t file, struct sp_cache_key *ret_key);
void sp_naming_paths_done(struct sp_naming *n);
void sp_naming_kernel_drop(struct sp_naming *n);

#endif
