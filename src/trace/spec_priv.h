/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spec_priv.h: what the files that make a spec share: spec.c reads what was typed, pair.c makes the first points of a
 * pair, columns.c compiles what is wanted.
 *
 * A struct sp_trace_making is one point on its way: its expressions, the fields that they name, and the ops so far. It
 * lives while the spec is made; expressions refer to texts that must, too. Errors as in spec.h.
 */
#ifndef SP_TRACE_SPEC_PRIV_H
#define SP_TRACE_SPEC_PRIV_H

#include "recipe/expr.h"
#include "recipe/narrow.h"
#include "trace/spec.h"

enum { SP_TRACE_WANTED = SP_TRACE_COLUMNS + SP_TRACE_SUMS + SP_TRACE_TEXTS + 10, SP_TRACE_MATCHES = 2 };

/* What an expression is for, in the order in which their numbers are left in registers. */
enum sp_trace_use {
	SP_TRACE_USE_FILTER, /* whether it is the point */
	SP_TRACE_USE_MATCH,  /* what both points of a pair have in common */
	SP_TRACE_USE_WHOSE,  /* process, thread and the address of its name, of the thread whose event a pair is */
	SP_TRACE_USE_KEPT,   /* of the first point of a pair */
	SP_TRACE_USE_WHICH,  /* whether the event is wanted; of a pair: once both points have been there */
	SP_TRACE_USE_COMM,
	SP_TRACE_USE_COLUMN,
	SP_TRACE_USE_HIST,
	SP_TRACE_USE_SUM,
	SP_TRACE_USE_LENGTH, /* of a column that is text, which refers to it */
};

enum sp_trace_text_kind { SP_TRACE_NO_TEXT, SP_TRACE_USER_TEXT, SP_TRACE_KERNEL_TEXT };

struct sp_trace_preset;

struct sp_trace_wanted {
	enum sp_trace_use use;
	enum sp_trace_text_kind text; /* it is the address of one */
	size_t at, n;                 /* what it is called, or what was typed, in expr.text */
	bool is_named;
	bool is_arguments;                    /* those of the system call, all of them */
	const struct sp_trace_wanted *length; /* of a text; NULL: it ends with a NUL */
	struct sp_expr expr;
};

/* A point as it was typed. */
struct sp_trace_typed {
	char *event; /* POINT[FILTER]{KEPT} */
	char *match; /* what stands behind `on`; NULL: nothing */
	char *whose; /* what stands behind `of`, likewise */
	bool claims; /* it has & in front: the pair is about the thread that is there */
};

struct sp_trace_making {
	struct sp_trace_spec *spec;
	const struct sp_trace_asked *asked;
	struct sp_narrowing narrowing;
	char comm[64], least[48], *whose; /* expressions of our own */
	struct sp_trace_typed first[SP_TRACE_FIRSTS], last;
	size_t n_first;                       /* 0: it is no pair */
	const char *call;                     /* `syscall:NAME`: the name */
	const struct sp_trace_preset *preset; /* NULL: it is none */
	bool claims;                          /* a point of the pair does */
	struct sp_field kept[SP_N_KEPT];      /* of the first points */
	size_t n_kept;
	char *kept_text; /* the making of a first point: what is in the braces */
	const char *which;
	size_t n_which; /* the filter of a preset, or of `syscall:` */
	struct sp_trace_wanted *wanted[SP_TRACE_WANTED];
	size_t n_wanted;
	struct sp_op_list list;
	unsigned n_registers, n_whose;
	struct sp_fields fields;
	bool has_fields;
	size_t n_own; /* of them; those behind are the pair's */
};

/* --- spec.c --- */
int sp_trace_wanted_add(struct sp_trace_making *m, enum sp_trace_use use, const char *text, size_t from, size_t to);
int sp_trace_list_add(struct sp_trace_making *m, enum sp_trace_use use, const char *list, size_t max);
int sp_trace_comm_add(struct sp_trace_making *m);
/* Makes the point of the text's event; *ret_name is the caller's. */
int sp_trace_point_name(const char *event, struct sp_narrowing *ret_narrowing, char **ret_name,
			struct sp_recipe_point *ret_point);
/* The fields that the expressions name, whose names are not resolved yet. What is mapped is watched from here on, if
 * the point is in a file. */
int sp_trace_fields_find(struct sp_trace_making *m, const char *name, const struct sp_recipe_point *point,
			 struct sp_types *types);
int sp_trace_names_resolve(struct sp_trace_making *m, const char *name);
void sp_trace_point_finish(const struct sp_trace_making *m, struct sp_recipe_point *point);
/* Looks for the places of a function or mark. */
int sp_trace_places_find(struct sp_recipe_point *point);
void sp_trace_making_done(struct sp_trace_making *m);

/* --- pair.c --- */
/* Cuts "A | B on KEY..C on KEY" into its points; without ".." there is only the last. */
int sp_trace_pair_cut(const char *text, struct sp_trace_making *m);
/* What the second point of a pair may name beside its own fields. */
int sp_trace_pair_fields(struct sp_trace_making *m, struct sp_types *types);
/* The first points, and what forgets them. Before the fields of the second. */
int sp_trace_pair_firsts(struct sp_trace_making *m, struct sp_types *types);
bool sp_trace_pair_is_dur(const struct sp_field *f);
bool sp_trace_pair_is_thread(const struct sp_field *f); /* what a line says anyway */

/* --- columns.c --- */
int sp_trace_columns_make(struct sp_trace_making *m);

#endif
