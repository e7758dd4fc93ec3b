/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_list.c: the rows of `soprof trace`: what each tells, and whether this kernel has its events. */
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/trace/trace.h"
#include "recipe/types.h"
#include "trace/rows.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static bool is_asked_for(const char *glob, const struct sp_trace_row_kind *row)
{
	return !*glob || !fnmatch(glob, row->name, 0) || sp_trace_row_find(glob, strlen(glob)) == row;
}

/* Whether its events and fields are here: NULL, or why not. It is made as it would be, and not loaded. */
static const char *row_why_not(const struct sp_trace_row_kind *row, struct sp_types *types)
{
	const struct sp_trace_asked asked = {
	    .by = row->by, .sum = row->sum, .hist = row->hist, .print = row->print, .tells = !row->by && !row->hist};
	struct sp_trace_spec spec;
	int r = sp_trace_spec_make(row->name, &asked, types, &spec);

	if (r < 0)
		return sp_error_text(r);
	sp_trace_spec_done(&spec);
	return NULL;
}

static void fields_print(const char *label, const char *expressions)
{
	if (expressions)
		printf("    %s %s\n", label, expressions);
}

static void row_print(const struct sp_trace_row_kind *row, bool with_fields, struct sp_types *types)
{
	const char *why_not = row_why_not(row, types);

	printf("%-12s %-4s %s%s%s%s\n", row->name, why_not ? "no" : "yes", row->summary, row->also ? " (" : "",
	       row->also ? row->also : "", row->also ? ")" : "");
	if (why_not)
		printf("    not here: %s\n", why_not);
	sp_error_clear();
	if (!with_fields)
		return;
	printf("    %s\n", row->event);
	fields_print("--print", row->print);
	fields_print("--by", row->by);
	fields_print("--sum", row->sum);
	fields_print("--hist", row->hist);
}

int sp_trace_list_print(const char *glob, bool with_fields)
{
	const struct sp_trace_row_kind *row;
	struct sp_types types = {0};
	size_t n = 0;

	for (size_t i = 0; (row = sp_trace_row_at(i)); i++)
		if (is_asked_for(glob, row) && ++n)
			row_print(row, with_fields, &types);
	sp_types_done(&types);
	if (!n)
		fprintf(stderr, "soprof trace: no row matches '%s'; soprof profile --list shows tracepoints\n", glob);
	return n ? SP_EXIT_OK : SP_EXIT_USAGE;
}
