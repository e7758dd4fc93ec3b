/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parts of the layer naming, for each other.
 *
 * naming.c answers the questions, kernel.c those about the kernel; table.c finds or makes a file's table of names;
 * debug_file.c and fetch.c look for its debug file; jit.h is about memory without a file. What is known of a file
 * belongs to the struct sp_naming, by the file's number in the profile. Everything waits for the workers' answers. 0 or
 * a negative errno. One thread.
 */
#ifndef SP_NAMING_PRIV_H
#define SP_NAMING_PRIV_H

#include "naming/naming.h"
#include "symbol/name_table.h"
#include <stdbool.h>

struct sp_cache_key;
struct sp_open_result;

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
	uint64_t n_met;    /* samples without names that were told of it */
	uint64_t asked_ns; /* when it was asked last for some of its functions; 0 = never */
	unsigned n_asked;  /* how often */
};

/* What is known of a file; NULL: out of memory. Until the next call. */
struct sp_named_file *sp_named_file(struct sp_naming *n, uint32_t file);
void sp_named_file_done(struct sp_named_file *f);
/* Whether a parser may be asked now; -EAGAIN is said if not. worth: one of these. */
enum { SP_NAMING_TABLE = 1, SP_NAMING_QUESTION = 4 }; /* what a sample is worth: some names take less than all */
bool sp_naming_may_parse(const struct sp_naming *n, const struct sp_named_file *f, unsigned worth);

/* table.c: names from the file's table, which is found or made if need be. -ENOENT: it has none. */
int sp_naming_look_up(struct sp_naming *n, uint32_t file, int fd, const uint64_t *offsets, size_t n_offsets,
		      struct sp_name *names);

/*
 * A table that a worker makes: sp_naming_table_came() is the callback, and sp_naming_making_wait() waits for it, where
 * asking said `asked`. sp_naming_table() is the table in fd that it told of.
 */
struct sp_naming_making {
	struct sp_name_table_head head;
	int r;
	bool done;
};
void sp_naming_table_came(void *making, int r, const struct sp_name_table_head *head);
int sp_naming_making_wait(struct sp_naming *n, int asked, struct sp_naming_making *m);
struct sp_name_table sp_naming_table(int fd, const struct sp_name_table_head *h);

/* A file that was looked for at its path. */
struct sp_named_path {
	bool looked;
	int fd; /* or why there is none */
	uint32_t uid, mode;
	uint64_t size;
};
/* by_path.c: the session's, or those at the files' paths; the descriptor stays theirs. A negative errno: there is none.
 */
int sp_naming_file_fd(struct sp_naming *n, uint32_t file);
bool sp_naming_file_key(struct sp_naming *n, uint32_t file, struct sp_cache_key *ret_key);
void sp_naming_paths_done(struct sp_naming *n);

/* kernel.c */
void sp_naming_kernel_drop(struct sp_naming *n);

/* debug_file.c: the same as sp_debug_file_find(), where what the file has itself is known; and where it was found. */
int sp_debug_file_search(struct sp_naming *n, uint32_t file, const struct sp_elf_debug *own, bool *ret_trusted);
int sp_debug_file_own(struct sp_naming *n, int fd, struct sp_elf_debug *ret_own);
/* Into f, once. */
void sp_debug_file_choose(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd);
void sp_debug_file_drop(struct sp_named_file *f);

/* A process that has had the file mapped, or 0. */
uint32_t sp_naming_pid(struct sp_naming *n, uint32_t file);
/* Why something that might have given names has not, into the file's note. Keeps a note that is there. */
void sp_naming_note(struct sp_naming *n, uint32_t file, const char *what, int r);
void sp_naming_note_text(struct sp_naming *n, uint32_t file, const char *text);
/* Where the answer of one request for names goes, by way of sp_naming_came(). */
struct sp_naming_wait {
	struct sp_naming *naming;
	uint32_t file;
	struct sp_name *names;
	size_t n;
	int r;
	bool done;
};
void sp_naming_came(void *wait, int r, struct sp_name *names, size_t n, const char *warning);
/* jit.c: names of memory without a file. -ENOENT: its process tells nothing of it. */
int sp_naming_jit_code(struct sp_naming *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		       struct sp_name *names);
/* Waits for the answer, where asking said `asked`: its result, or why there is none. */
int sp_naming_answer(struct sp_naming_wait *w, int asked);
/* Waits until *done. */
int sp_naming_wait(struct sp_naming *n, const bool *done);
/*
 * A file that was asked for: sp_naming_opened() is the callback, and sp_naming_fd() waits for it, where asking said
 * `asked`. The descriptor, the caller's, or a negative errno.
 */
struct sp_naming_open {
	int r, fd;
	uint32_t uid, mode; /* whose it is */
	uint64_t size;
	bool done;
};
void sp_naming_opened(void *open, struct sp_open_result *result);
int sp_naming_fd(struct sp_naming *n, int asked, struct sp_naming_open *open);

#endif
