/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: what the commands that read profiles share: inputs, filters, losses.
 *
 * Inputs are read one after the other and merged; "-" is standard input. A store's file is recognised by its content.
 * Progress is shown if stderr is a terminal. Losses are collected, and printed by the command at the end. Negative
 * errno with sp_error_text() that names the input and the position in it.
 */
#ifndef SP_CMD_REPORT_REPORT_H
#define SP_CMD_REPORT_REPORT_H

#include "cmd/calls/calls.h"
#include "cmd/options.h"
#include <stdint.h>

struct sp_profile;

enum { SP_REPORT_FILTERS = 7 };

struct sp_input_args { /* as options */
	bool keep_going;
	const char *object;                                                       /* path; NULL: is looked for */
	int format;                                                               /* number of the reader, or -1 */
	uint32_t n_slices;                                                        /* wanted of what a store kept */
	struct sp_words library, function, process, comm, cgroup, label, exclude; /* globs: any of them; none = all */
};

struct sp_input_summary {
	uint64_t n_samples, n_lost, n_labels_dropped; /* of all inputs */
	char first_loss[256];
	char nameless[256]; /* the first input whose object was not found; "" = none */
	struct {
		const char *option;           /* "--comm" */
		const struct sp_words *globs; /* of the arguments */
		int64_t left_out;             /* of value 0 */
	} filters[SP_REPORT_FILTERS];
	size_t n_filters;
	int64_t kept;            /* of value 0 */
	int unmatched;           /* of the first filter that let nothing through: -ENOENT; 0 = all did */
	char why_unmatched[256]; /* with the nearest name */
	struct sp_calls_summary calls;
	bool has_calls; /* of files of counted calls */
};

/* Names of the readers, for SP_OPT_CHOICE. */
const char *sp_input_format_choice(size_t i);
int sp_inputs_read(const struct sp_words *files, const struct sp_input_args *a, struct sp_profile **ret_profile,
		   struct sp_input_summary *summary);
void sp_input_args_done(struct sp_input_args *a);
/* Replaces *profile by what the filters let through. */
int sp_inputs_narrow(const struct sp_input_args *a, struct sp_profile **profile, struct sp_input_summary *summary);
/* 0; -ENOENT: a filter let nothing through, with its words. */
int sp_inputs_matched(const struct sp_input_summary *summary);
/* clang-format off */
/* The filters' options, for a command whose arguments hold a struct sp_input_args as `member`. */
#define SP_INPUT_FILTERS(args, member) \
	{SP_OPT_WORDS, 'l', "library", "GLOB", "samples with a frame in such a library", .offset = offsetof(args, member.library)}, \
	{SP_OPT_WORDS, 0, "function", "GLOB", "samples with such a function", .offset = offsetof(args, member.function)}, \
	{SP_OPT_WORDS, 0, "process", "GLOB", "samples of such processes (name, pid)", .offset = offsetof(args, member.process)}, \
	{SP_OPT_WORDS, 0, "comm", "GLOB", "samples of threads of such a name", .offset = offsetof(args, member.comm)}, \
	{SP_OPT_WORDS, 0, "cgroup", "GLOB", "samples of such a cgroup", .offset = offsetof(args, member.cgroup)}, \
	{SP_OPT_WORDS, 0, "label", "NAME=GLOB", "samples with such a pprof label", .offset = offsetof(args, member.label)}, \
	{SP_OPT_WORDS, 0, "exclude", "GLOB", "no samples with any of these", .offset = offsetof(args, member.exclude)}
/* clang-format on */

/* The number of the value of this name; NULL: of the default. -EINVAL, with the names that there are. */
int sp_inputs_value(const struct sp_profile *p, const char *name, uint32_t *ret_value);
/* What was lost and left out, on stderr; nothing if nothing was. */
void sp_inputs_tell(const struct sp_profile *p, const struct sp_input_summary *summary);

#endif
