/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.h: the parts of `soprof trace`: events counted by a key (rows, histograms), or told one by one (lines).
 *
 * trace.c runs it; trace_bcc.c reads the options of bcc's tools; trace_cell.c makes text of a value; trace_rows.c has
 * the rows of an interval, trace_show.c prints them; trace_lines.c prints records. The session is trace/tracing.h's,
 * beside one of sampling where lines have stacks (trace_stacks.c); but for --by caller: that is a session of
 * `soprof profile`. Everything belongs to struct
 * sp_trace_run, one for the process. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CMD_TRACE_TRACE_H
#define SP_CMD_TRACE_TRACE_H

#include "cmd/options.h"
#include "trace/tracing.h"
#include <stdio.h>

/* --- trace_bcc.c --- */
/* A command line of one of bcc's tools, and soprof's of the same meaning. Of any other it is the same one. */
struct sp_trace_bcc {
	int argc;
	char **argv; /* what is meant; it lives until sp_trace_bcc_done() */
	const char *tool, *numbers[2], *seconds;
	size_t n_numbers, n_made;
	char **words, **made, *filter, *print, *columns, *event;
};
int sp_trace_bcc_read(int argc, char **argv, struct sp_trace_bcc *ret_bcc);
void sp_trace_bcc_done(struct sp_trace_bcc *b);
/* A line of the options that the tool of this name has here; none: it has none, or is none. */
void sp_trace_bcc_options_print(const char *tool, size_t n);

struct sp_trace_args {
	struct sp_words operands; /* EVENT..., SECONDS */
	const char *by, *sum, *hist, *print, *comm, *cgroup, *output;
	struct sp_u32_list pids;
	const char *list; /* GLOB; "": all; NULL: nothing is listed */
	uint64_t min_ns;
	uint64_t seconds, interval_s, top, max_rows; /* 0 = none; of top: all */
	bool count, csv, json, verbose, caller, stack;
	char **command;
	struct sp_trace_bcc bcc;
	char *expanded[SP_TRACE_POINTS]; /* operands that were made of a row's */
	size_t n_expanded;
};

struct sp_trace_stacks;
struct sp_trace_run {
	const struct sp_trace_args *args;
	struct sp_trace_spec specs[SP_TRACE_POINTS];
	size_t n_specs;
	struct sp_tracing *tracing;
	struct sp_trace_stacks *stacks; /* NULL: none are asked for */
	FILE *out;
	struct sp_trace_rows *rows;
	uint64_t n_events;    /* shown so far, or counted */
	uint64_t realtime_ns; /* what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC */
	bool has_head, head_is_brief;
	unsigned width; /* of the terminal to which lines go; 0: it is none */
	bool is_brief;  /* there is little room for lines: names of fields are in the head alone */
};

/* Whether events are told one by one; else they are counted. */
static inline bool sp_trace_tells(const struct sp_trace_args *a)
{
	return !a->by && !a->sum && !a->hist && !a->count;
}

/* --- trace_cell.c --- */
enum { SP_TRACE_CELL = 4 * SP_TRACE_TEXT };
/* What a person reads; any bytes, not encoded yet. base: the key or record. */
void sp_trace_cell(const struct sp_trace_column *column, const void *base, char ret_text[SP_TRACE_CELL]);
bool sp_trace_is_number(const struct sp_trace_column *column); /* and not a name for one */
bool sp_trace_is_text(const struct sp_trace_column *column);
struct sp_json;
/* A member of the object that is open, by the column's name. */
void sp_trace_cell_json(struct sp_json *j, const struct sp_trace_column *column, const void *base);

/* --- trace_rows.c --- */
struct sp_trace_row {
	sp_u64 key[SP_TRACE_KEY_WORDS];
	struct sp_trace_value value;
};
struct sp_trace_rows {
	struct sp_trace_row *now, *before; /* of all so far, by key; as they were at the last turn */
	size_t n_now, now_capacity, n_before;
	struct sp_trace_row *shown; /* what is new since then, as it is shown */
	size_t n_shown;
};
/* Reads the rows, and makes those of the interval: without buckets falling by what is summed, or counted. */
int sp_trace_rows_turn(struct sp_trace_run *run);
void sp_trace_rows_free(struct sp_trace_rows *rows);

/* --- trace_show.c --- */
int sp_trace_rows_show(struct sp_trace_run *run);

/* --- trace_caller.c --- */
struct sp_cmd;
struct sp_profile;
bool sp_trace_is_by_caller(const struct sp_trace_args *a);
bool sp_trace_is_c_library(const struct sp_profile *p, uint32_t file);
/* All of it. Returns the exit code. */
int sp_trace_caller(const struct sp_cmd *cmd, const struct sp_trace_args *a);

/* --- trace_stacks.c --- */
/*
 * A session of sampling that walks the stacks of told events: opened, and started before the events are attached. Its
 * workers, signals and privileges are the caller's, who ends it after the events. beside: loads the events' programs,
 * in a thread, while the session loads its own.
 */
struct sp_sampling;
int sp_trace_stacks_new(struct sp_trace_run *run, struct sp_sampling *sampling,
			void (*beside)(void *arg, const struct sp_recipe_object *object), void *beside_arg);
void sp_trace_stacks_free(struct sp_trace_stacks *s);
/* Takes in what was walked up to now. is_last: the sampling ends. */
int sp_trace_stacks_turn(struct sp_trace_stacks *s, bool is_last);
/* Whether the record's stack is there, or will not come; else 1. It is the one that is shown next. */
int sp_trace_stacks_find(struct sp_trace_stacks *s, const struct sp_trace_record *record);
/* " caller=..." and the lines of the stack, or members of the object that is open, as the options say. */
void sp_trace_stacks_caller(const struct sp_trace_stacks *s, bool is_call, FILE *out);
void sp_trace_stacks_lines(const struct sp_trace_stacks *s, unsigned width, FILE *out); /* width: 0 = no limit */
void sp_trace_stacks_json(const struct sp_trace_stacks *s, bool is_call, struct sp_json *j);
void sp_trace_stacks_tell(const struct sp_trace_stacks *s); /* what is not whole, on standard error */

/* --- trace_list.c --- */
/* The presets, or those whose names match, and whether each works here. Returns the exit code. */
int sp_trace_list_print(const struct sp_cmd *cmd, const char *glob, bool with_fields);

/* --- trace_lines.c --- */
int sp_trace_lines_take(struct sp_trace_run *run, bool all);

/* "HH:MM:SS" of a CLOCK_REALTIME. */
void sp_trace_clock(uint64_t ns, char ret_text[16]);

extern const struct sp_option sp_trace_options[];
int sp_trace_args_parse(int argc, char **argv, struct sp_trace_args *a);
void sp_trace_args_done(struct sp_trace_args *a);

#endif
