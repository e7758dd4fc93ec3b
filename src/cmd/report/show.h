/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show.h: shows a profile as the options ask; shared by `soprof report` and `soprof query`.
 *
 * Before options are parsed the arguments are SP_SHOW_DEFAULTS. sp_show_view() chooses the view before any input is
 * read, so mistakes are reported at once; sp_show() writes it. 0 or a negative errno; -EINVAL: the user's mistake.
 */
#ifndef SP_CMD_REPORT_SHOW_H
#define SP_CMD_REPORT_SHOW_H

#include "cmd/options.h"
#include "cmd/output.h"

struct sp_broker;
struct sp_profile;
struct sp_totals;

struct sp_show_args {
	const char *output, *value;
	const char *callers, *callees, *around; /* globs */
	bool csv, json, tree, inverted, icicle, verbose, fold_recursion, user_only, kernel_only, external;
	int by, sort, view, fold;
	uint64_t limit, min_percent;
	bool on_stderr; /* in place of standard output, where there is no file */
	/* The output, where it was made before the privileges were dropped (sp_output_prepare); NULL: not yet. */
	FILE *prepared;
	struct sp_broker *broker;
};
#define SP_SHOW_DEFAULTS                                                                                               \
	{                                                                                                              \
		.by = -1, .sort = -1, .view = -1, .fold = -1, .limit = UINT64_MAX, .min_percent = 1                    \
	}

/* Bits of `excludes`. */
enum { SP_SHOW_FORMAT = 1, SP_SHOW_TREE = 2, SP_SHOW_HALF = 4, SP_SHOW_SCRIPT = 8 };

const char *sp_show_sort_choice(size_t i);
const char *sp_show_fold_choice(size_t i);

/* clang-format off */
/* The options, for a command whose arguments hold a struct sp_show_args as `member`. */
#define SP_SHOW_WHAT(args, member) \
	{SP_OPT_CHOICE, 0, "by", "WHAT", "a table by", .offset = offsetof(args, member.by), .choice = sp_grouping_choice, .excludes = SP_SHOW_TREE}, \
	{SP_OPT_CHOICE, 0, "sort", "KEY", "the order of the table", .offset = offsetof(args, member.sort), .choice = sp_show_sort_choice}, \
	{SP_OPT_NUMBER, 'n', "limit", "N", "rows shown (50; 0 = all)", .offset = offsetof(args, member.limit), .min = 0, .max = UINT32_MAX}, \
	{SP_OPT_STRING, 0, "value", "NAME", "the value to show, by its name in the profile", .offset = offsetof(args, member.value)}, \
	{SP_OPT_FLAG, 0, "tree", NULL, "a call tree from the root", .offset = offsetof(args, member.tree), .excludes = SP_SHOW_TREE | SP_SHOW_SCRIPT}, \
	{SP_OPT_FLAG, 0, "inverted", NULL, "the same from the leaves up", .offset = offsetof(args, member.inverted), .excludes = SP_SHOW_TREE | SP_SHOW_SCRIPT}, \
	{SP_OPT_STRING, 0, "callers", "GLOB", "who calls this function or library", .offset = offsetof(args, member.callers), .excludes = SP_SHOW_TREE | SP_SHOW_SCRIPT}, \
	{SP_OPT_STRING, 0, "callees", "GLOB", "what it calls", .offset = offsetof(args, member.callees), .excludes = SP_SHOW_TREE | SP_SHOW_SCRIPT}, \
	{SP_OPT_STRING, 0, "around", "GLOB", "both", .offset = offsetof(args, member.around), .excludes = SP_SHOW_TREE | SP_SHOW_SCRIPT}, \
	{SP_OPT_FLAG, 0, "icicle", NULL, "svg: the root at the top", .offset = offsetof(args, member.icicle)}, \
	{SP_OPT_CHOICE, 0, "fold", "HOW", "trees, svg: one node for", .offset = offsetof(args, member.fold), .choice = sp_show_fold_choice}, \
	{SP_OPT_FLAG, 0, "fold-recursion", NULL, "trees, svg: a repeated function is one node", .offset = offsetof(args, member.fold_recursion)}, \
	{SP_OPT_NUMBER, 0, "min-percent", "N", "trees: smaller nodes are added up (1)", .offset = offsetof(args, member.min_percent), .min = 0, .max = 100}
#define SP_SHOW_HOW(args, member) \
	{SP_OPT_FLAG, 'U', "user-stacks-only", NULL, "without kernel frames", .offset = offsetof(args, member.user_only), .excludes = SP_SHOW_HALF}, \
	{SP_OPT_FLAG, 'K', "kernel-stacks-only", NULL, "without user frames", .offset = offsetof(args, member.kernel_only), .excludes = SP_SHOW_HALF}, \
	{SP_OPT_FLAG, 0, "csv", NULL, "the table as CSV", .offset = offsetof(args, member.csv), .excludes = SP_SHOW_FORMAT | SP_SHOW_SCRIPT}, \
	{SP_OPT_FLAG, 0, "json", NULL, "the table as JSON", .offset = offsetof(args, member.json), .excludes = SP_SHOW_FORMAT | SP_SHOW_SCRIPT}, \
	{SP_OPT_CHOICE, 0, "format", "NAME", "the view", .offset = offsetof(args, member.view), .choice = sp_view_choice, .excludes = SP_SHOW_FORMAT}, \
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE, in the view of its suffix", .offset = offsetof(args, member.output)}, \
	{SP_OPT_FLAG, 'v', "verbose", NULL, "whole build ids; offsets and lines in text", .offset = offsetof(args, member.verbose)}
/* clang-format on */

int sp_show_view(const struct sp_show_args *a, const struct sp_view **ret_view);
/* totals: exact ones of what a table groups by, in place of the profile's own; NULL = those. */
int sp_show(const struct sp_show_args *a, const struct sp_view *view, struct sp_profile *p,
	    const struct sp_totals *totals, const char *title);

#endif
