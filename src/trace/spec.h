/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h: one event of `soprof trace`, and what is wanted of it, as expressions over its fields, made into the points
 * and the configurations of its programs: EVENT[FILTER]; a pair, which is timed, A[FILTER]{KEPT}..B[FILTER] on KEY;
 * syscall:NAME[FILTER]; or a preset (presets.h), which is one of these with a name.
 *
 * What is wanted is either rows (keys, sums, a histogram) or records with columns. Expressions are as in recipe/expr.h;
 * a column may also be ustr(X) or kstr(X): the text at the address X, in the process's or the kernel's memory, or, with
 * (X, N), N bytes there. A pair is about the thread at its first point, or at a point with & in front of it. A spec
 * owns its names and its probe. Errors: negative errnos with sp_error_text(); -EINVAL with sp_error_where() for a
 * mistake in what was typed. No state.
 */
#ifndef SP_TRACE_SPEC_H
#define SP_TRACE_SPEC_H

#include "capture/recipe_ops.h"
#include "trace/trace_wire.h"

struct sp_trace_later;
struct sp_types;

/* How the values of a column are shown. */
enum sp_trace_as {
	SP_TRACE_AS_NUMBER,
	SP_TRACE_AS_UNSIGNED,
	SP_TRACE_AS_SIGNED, /* though its type is unsigned: all bits set stand for none, and are -1 */
	SP_TRACE_AS_ADDRESS,
	SP_TRACE_AS_COMM,
	SP_TRACE_AS_TEXT,
	SP_TRACE_AS_RESULT, /* of a system call: below 0 it is an error */
	SP_TRACE_AS_PLACE,  /* likewise, of one that gives an address, as mmap(2) */
	SP_TRACE_AS_CALL,   /* number of a system call */
	SP_TRACE_AS_DEVICE,
	SP_TRACE_AS_SIGNAL,
	SP_TRACE_AS_OPEN_FLAGS, /* all bits set: not known */
	SP_TRACE_AS_TIME,       /* how long something took, in nanoseconds */
	SP_TRACE_AS_ARGUMENTS,  /* of a system call: six numbers; what it was is the column `call` */
	SP_TRACE_AS_BLOCK_OP,   /* of a request to a disk */
	SP_TRACE_AS_TCP_STATE,
	SP_TRACE_AS_INTERNET, /* an address, as the network has it: a number of IPv4, or the bytes of a text */
	SP_TRACE_AS_PORT,     /* likewise */
	SP_TRACE_AS_SOFTIRQ,
	SP_TRACE_AS_STATUS, /* as wait(2) has it */
};

enum { SP_TRACE_COLUMNS = SP_N_OP_REGS + 2, SP_TRACE_FIRSTS = 4 };

struct sp_trace_column {
	char *name; /* as it was typed; ours */
	enum sp_trace_as as;
	const char *unit;   /* of what is summed or drawn: "bytes" or "count" */
	unsigned at, bytes; /* where it is in a key or record; bytes: of a text */
	bool is_counted;    /* a text, whose length is in its last byte: it may have NULs */
	bool is_internet;   /* such a text: the bytes of an address, 4 of IPv4 or 16 */
	unsigned call_at;   /* of a result: where the call's number is; 0: it is not there */
};

struct sp_trace_asked { /* expressions with commas between, as the user typed them; NULL: none */
	const char *by, *sum, *hist, *print;
	const char *comm;             /* the only threads that are wanted; a beginning with * at the end */
	uint64_t min_ns;              /* of what lasts, what takes at least so long; 0 = all */
	bool tells;                   /* records, and no rows */
	struct sp_trace_later *later; /* watches what is mapped, from before files are looked for; NULL: nobody does */
};

struct sp_trace_point { /* of a pair, beside the second point: first ones, and what forgets them */
	char *name;
	struct sp_recipe_point point;
	struct sp_trace_config config;
};

struct sp_trace_spec {
	char *event, *name; /* as it was typed; the event whose fields it has */
	char *shown;        /* in lines: the name, or of a pair what was typed, without the filter */
	struct sp_recipe_point point;
	struct sp_trace_config config;
	struct sp_trace_column columns[SP_TRACE_COLUMNS], hist, sums[SP_TRACE_SUMS];
	size_t n_columns, key_bytes;
	struct sp_trace_point before[SP_TRACE_FIRSTS + 1];
	size_t n_before; /* 0: it is no pair */
	char *left_out;  /* fields for which records have no room, where none were chosen; NULL: none */
};

int sp_trace_spec_make(const char *event, const struct sp_trace_asked *asked, struct sp_types *types,
		       struct sp_trace_spec *ret_spec);
void sp_trace_spec_done(struct sp_trace_spec *spec);

/* What a field of this name means in an event; SP_TRACE_AS_NUMBER: nothing else is known. */
enum sp_trace_as sp_trace_meaning(const char *event, const char *name, size_t n);

/* The length of the first expression in a list with commas between. */
size_t sp_trace_list_length(const char *list);

#endif
