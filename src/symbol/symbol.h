/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: symbolizes a profile: adds functions to the frames that were sampled, and only to those.
 *
 * A namer asks and its caller answers: one question a file with all its sampled offsets (and sometimes a second one),
 * because foreign files are parsed in a worker (worker/worker.h). The answer may come at any time later, and the
 * profile may grow until then. It may be a failure, which costs that file's names only and is written in its note. A
 * function without a name is called LIBRARY+0xSTART by its range, or by the gap between functions, with START as the
 * virtual address that readelf prints; where the file could not be read, or no segment of it holds the frame,
 * LIBRARY+0xOFFSET of the frame itself in the file; anonymous memory is named by the answer, or, where that is -ENOENT,
 * [anon]+0xADDRESS; frames without a file are [unknown]; of the kernel, [kernel]. Functions of the kernel's modules
 * have the module as their file ("[ext4]", BPF programs "[bpf]"). Frames that have a function keep it. After the last
 * answer every frame that the profile had at the beginning has a function, except those put off (-EAGAIN). 0 or a
 * negative errno; one thread.
 */
#ifndef SP_SYMBOL_SYMBOL_H
#define SP_SYMBOL_SYMBOL_H

#include "symbol/names.h"
#include <stdio.h>

struct sp_profile;

struct sp_name_question {
	uint32_t file;
	const uint64_t *offsets; /* sorted, each once; in the kernel: addresses */
	size_t n;
	struct sp_name *names; /* where the answer goes: n of them, zeroed; the namer frees them */
};

/*
 * For a profile that grows and is named again and again. Looks only at frames that are new since the last time, and
 * asks only for those in no known function (struct sp_name's from, to). The cost follows the number of new frames.
 * Zeroed at first; for another profile, call done and begin anew. Memory: 24 bytes for each known function, 4 for each
 * frame that waits, and 1 for each file. Frames that wait are left alone for 1 round after one in which few of them
 * got a name, then for 2, and for SP_NAMER_MAX_REST at most: there may be very many, of files that are too large.
 */
enum { SP_NAMER_MAX_REST = 4 };
struct sp_known;
struct sp_namer_round;
struct sp_namer {
	struct sp_profile *profile;
	struct sp_known *known;
	struct sp_namer_round *round; /* NULL: nothing is being named */
	uint32_t n_frames;            /* looked at so far */
	uint32_t *later;              /* frames that are put off, by file */
	size_t n_later, later_capacity;
	uint8_t *is_later; /* by file: whether there are such frames in it */
	size_t n_is_later;
	uint32_t n_later_files;
	unsigned n_rests, rest; /* rounds to come in which they are left alone; how many it were the last time */
	bool shortens_names;    /* functions' names above SP_NAME_SHORT bytes are cut to these, and marked */
};
int sp_namer_begin(struct sp_namer *n, struct sp_profile *p);
/* 1: a question, to be answered before the next call; 0: all is named. */
int sp_namer_next(struct sp_namer *n, struct sp_name_question *ret_question);
/*
 * 0: the names are there; a negative errno with sp_error_text(): why not. -EAGAIN: not now; the frames stay without a
 * function, and are asked for again in the next round, or, where that was in vain, in a later one.
 */
int sp_namer_answer(struct sp_namer *n, int answer);
void sp_namer_done(struct sp_namer *n);

/*
 * /proc/kallsyms; NULL: none. What a service manager has opened as standard input is taken, and /dev/null put in its
 * place.
 */
FILE *sp_kallsyms_open(void);

/*
 * Answers a question about the kernel by one pass over its symbols; a name may be followed by a tab and its module.
 * kallsyms: at its beginning, opened by somebody who may see addresses; NULL = /proc/kallsyms. It stays the caller's,
 * as do names found before a failure.
 */
int sp_symbol_kernel(FILE *kallsyms, const uint64_t *addresses, size_t n, struct sp_name *names);
/*
 * The same name, from what the kernel calls the address: "NAME+0xOFFSET/0xSIZE [MODULE]". 1: that does not tell; ask
 * sp_symbol_kernel().
 */
int sp_symbol_kernel_text(uint64_t address, const char *text, struct sp_name *ret_name);

#endif
