/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/rows.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include <errno.h>
#include <string.h>

static const struct sp_trace_row_kind *const themes[] = {sp_trace_rows_process, sp_trace_rows_file, sp_trace_rows_block,
							 sp_trace_rows_net, sp_trace_rows_kernel};

const struct sp_trace_row_kind *sp_trace_row_at(size_t i)
{
	for (size_t k = 0; k < SP_COUNT(themes); k++)
		for (const struct sp_trace_row_kind *row = themes[k]; row->name; row++)
			if (!i--)
				return row;
	return NULL;
}

/* Whether the words have this one. */
static bool has_word(const char *words, const char *name, size_t n)
{
	while (words && *words) {
		size_t length = strcspn(words, " ");

		if (length == n && !strncmp(words, name, n))
			return true;
		words += length + strspn(words + length, " ");
	}
	return false;
}

const struct sp_trace_row_kind *sp_trace_row_find(const char *name, size_t n)
{
	const struct sp_trace_row_kind *row;

	for (size_t i = 0; (row = sp_trace_row_at(i)); i++)
		if (has_word(row->name, name, n) || has_word(row->also, name, n))
			return row;
	return NULL;
}

int sp_trace_row_unknown(const char *name)
{
	const struct sp_trace_row_kind *row;
	struct sp_suggest near = {.word = name};

	for (size_t i = 0; (row = sp_trace_row_at(i)); i++)
		sp_suggest_offer(&near, row->name);
	if (near.best)
		return sp_fail_said(-EINVAL, "'%s' is no event that can be traced; did you mean %s?", name, near.best);
	return sp_fail_said(-EINVAL,
			    "'%s' is no event that can be traced: there are rows, which soprof trace --list shows, "
			    "tracepoints, SYSTEM:EVENT, and functions, LIBRARY:FUNCTION",
			    name);
}
