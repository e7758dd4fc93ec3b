/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec.h: one event of `soprof trace`: EVENT or EVENT[FILTER], and what is wanted of it, as expressions over its
 * fields, made into the point and the configuration of its program.
 *
 * What is wanted is either rows (keys, sums, a histogram) or records with columns. Expressions are as in recipe/expr.h;
 * a column may also be ustr(X) or kstr(X): the text at the address X, in the process's or the kernel's memory. A spec
 * owns its names and its probe. Errors: negative errnos with sp_error_text(); -EINVAL with sp_error_where() for a
 * mistake in what was typed. No state.
 */
#ifndef SP_TRACE_SPEC_H
#define SP_TRACE_SPEC_H

#include "capture/recipe_ops.h"
#include "trace/trace_wire.h"

struct sp_types;

/* How the values of a column are shown. */
enum sp_trace_as {
	SP_TRACE_AS_NUMBER,
	SP_TRACE_AS_UNSIGNED,
	SP_TRACE_AS_ADDRESS,
	SP_TRACE_AS_COMM,
	SP_TRACE_AS_TEXT,
	SP_TRACE_AS_RESULT, /* of a system call: below 0 it is an error */
	SP_TRACE_AS_CALL,   /* number of a system call */
	SP_TRACE_AS_DEVICE,
	SP_TRACE_AS_SIGNAL,
	SP_TRACE_AS_OPEN_FLAGS,
};

enum { SP_TRACE_COLUMNS = SP_N_OP_REGS + 1 };

struct sp_trace_column {
	char *name; /* as it was typed; ours */
	enum sp_trace_as as;
	const char *unit;   /* of what is summed or drawn: "bytes" or "count" */
	unsigned at, bytes; /* where it is in a key or record; bytes: of a text */
};

struct sp_trace_asked { /* expressions with commas between, as the user typed them; NULL: none */
	const char *by, *sum, *hist, *print;
	const char *comm; /* the only threads that are wanted; a beginning with * at the end */
	bool tells;       /* records, and no rows */
};

struct sp_trace_spec {
	char *event, *name; /* with and without the filter */
	struct sp_recipe_point point;
	struct sp_trace_config config;
	struct sp_trace_column columns[SP_TRACE_COLUMNS], hist, sums[SP_TRACE_SUMS];
	size_t n_columns, key_bytes;
	char *left_out; /* fields for which records have no room, where none were chosen; NULL: none */
};

int sp_trace_spec_make(const char *event, const struct sp_trace_asked *asked, struct sp_types *types,
		       struct sp_trace_spec *ret_spec);
void sp_trace_spec_done(struct sp_trace_spec *spec);

/* What a field of this name means in an event; SP_TRACE_AS_NUMBER: nothing else is known. */
enum sp_trace_as sp_trace_meaning(const char *event, const char *name, size_t n);

/* The length of the first expression in a list with commas between. */
size_t sp_trace_list_length(const char *list);

#endif
