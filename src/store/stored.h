/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stored.h: the rows of several intervals as they are stored, by numbers of a dictionary (format/dict_items.h).
 *
 * For a reader that names things by what they are, and sends them on: it needs no profile, which would have all names
 * and stacks a second time. Rows come in the order of time, window by window; a node is where a stack's path to the
 * root begins. What is given is valid until the call returns, a dictionary until one of another number comes. The
 * reader stops it with a negative errno. Not thread-safe.
 */
#ifndef SP_STORE_STORED_H
#define SP_STORE_STORED_H

#include "store/format/dict_items.h"
#include "store/intervals.h"

struct sp_stored_type {
	char *name, *unit;
};
/* A window, before its rows. */
struct sp_stored_window {
	const struct sp_dict *dict;
	uint64_t dict_number; /* from 1; of each reading */
	uint32_t interval;    /* from 0 */
	uint32_t n_ends;      /* of the dictionary: different nodes that have rows */
	bool by_group;        /* `who` is a group; else a key */
};
struct sp_stored_row {
	uint32_t who, node, end;       /* end: a number for the node, below n_ends */
	int64_t values[SP_MAX_VALUES]; /* by type */
};
struct sp_stored_reader {
	/* Before windows, of which there may be none that has rows. */
	int (*types)(void *arg, const struct sp_stored_type *types, uint32_t n_types);
	int (*window)(void *arg, const struct sp_stored_window *w);
	int (*row)(void *arg, const struct sp_stored_row *row);
	void *arg;
	uint64_t max_rows; /* of so many intervals at once, but of one in any case; 0 = of all */
};
/*
 * As sp_store_intervals(), of all rows whole: q is as sp_store_query_of_all() makes it. ret_intervals is filled before
 * the first row; whether windows are damaged is known after the last only. *ret_n: of so many intervals rows were read,
 * as many as max_rows allows; the others are as those without windows, to be asked for again.
 */
int sp_stored_intervals(struct sp_store *s, const struct sp_store_query *q, uint64_t length_ns,
			const struct sp_stored_reader *reader, struct sp_store_interval *ret_intervals, size_t *ret_n,
			struct sp_store_answer *ret_answer);

#endif
