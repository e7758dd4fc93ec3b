/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_page.h: the rows that `soprof top` shows of a profile.
 *
 * A page is a table (profile/totals.h) or a tree (profile/tree.h), limited to what was opened, sorted, and filtered by
 * a glob or a part of the name in any case. Shares are of the whole profile. What was opened is remembered by name
 * (sp_top_page_what()), since each refresh has a new profile. The page borrows profile and state, which must not
 * change. 0 or a negative errno. Not thread-safe.
 */
#ifndef SP_CMD_TOP_TOP_PAGE_H
#define SP_CMD_TOP_TOP_PAGE_H

#include "cmd/top/top_keys.h"
#include "profile/tree.h"

struct sp_top_row {
	struct sp_total total; /* of a table */
	uint32_t node, depth;  /* of a tree */
	bool is_branch;        /* else it only goes on where the row above was */
};

struct sp_top_page {
	const struct sp_profile *p;  /* that the rows are of */
	struct sp_profile *narrowed; /* the page's own: p; or NULL */
	struct sp_totals totals;
	struct sp_tree tree;
	struct sp_top_row *rows;
	size_t n_rows;
	bool is_tree;
	enum sp_total_by by;
	int64_t value;    /* of everything: what shares are shares of */
	uint32_t n_value; /* the value that rows are of */
	bool is_time;     /* it is in ns: CPU time, or of waits; else a count */
};

int sp_top_page_make(const struct sp_top_state *s, const struct sp_profile *p, struct sp_top_page *ret_page);
void sp_top_page_done(struct sp_top_page *page);

/* The words that a row of a table is known by. false: it is not a thing that could be opened. */
bool sp_top_page_what(const struct sp_top_page *page, size_t row, char ret_what[SP_TOP_WORD]);
/* What a person calls it, raw: "deflate [libz.so.1]". NULL: out of memory; free it. */
char *sp_top_page_name(const struct sp_top_page *page, size_t row);
/* The number of the row with these words; false: it is not there. */
bool sp_top_page_find(const struct sp_top_page *page, const char *what, size_t *ret_row);
bool sp_top_filter_matches(const char *filter, const char *name);

#endif
