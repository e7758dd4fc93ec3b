/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.h: what people want to see, by name: `opens`, `biolatency`. A row is what they could type as well: an event or a
 * pair, and what is wanted of it.
 *
 * Rows are constant, and by theme in the files rows_*.c; to add one is to add a line there. A row works where its
 * events and their fields exist. No state; errors as in spec.h.
 */
#ifndef SP_TRACE_ROWS_H
#define SP_TRACE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_trace_row_kind {
	const char *name;
	const char *also;    /* the names that bcc's tools have, with spaces between; NULL: none */
	const char *summary; /* in the list, of 44 columns at most */
	const char *event;   /* as in spec.h */
	/* What is shown where the user does not say; at most one of `print` and `by`: */
	const char *print;
	const char *by, *hist, *sum;
	uint64_t min_ns;
};

/* By name or another one's; NULL: none. */
const struct sp_trace_row_kind *sp_trace_row_find(const char *name, size_t n);
/* NULL after the last. */
const struct sp_trace_row_kind *sp_trace_row_at(size_t i);
/* -EINVAL, with the nearest name. */
int sp_trace_row_unknown(const char *name);

/* The themes; each ends with an empty row. */
extern const struct sp_trace_row_kind sp_trace_rows_process[], sp_trace_rows_file[], sp_trace_rows_block[],
    sp_trace_rows_net[], sp_trace_rows_kernel[];

#endif
