/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series.h: tables of CPU time by labels, with a limit.
 *
 * A series keeps its labels and only grows, until it is dropped; a counter that comes back begins at 0, as Prometheus
 * allows. Each has an owner: the user of whose process it was when it came. A budget of lines limits all tables that
 * share it.
 * Beyond it a key is refused: its time goes to the table's `other`, and it is counted once, as far as SP_SERIES_REFUSED
 * hashes of refused keys can tell. A key is any bytes, and is not what the labels show. `other` has the sum of the
 * inclusive times of the refused keys, which may count a stack several times. -ENOMEM. One thread.
 */
#ifndef SP_AGENT_EXPORT_SERIES_H
#define SP_AGENT_EXPORT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_intern;

enum { SP_SERIES_REFUSED = 65536 };

struct sp_series_time {
	uint64_t self_ns, total_ns;
};
struct sp_series_span { /* a window, by the wall clock */
	uint64_t from_ns, to_ns;
};
struct sp_series {
	const char *labels; /* between the braces; the table's */
	struct sp_series_time all, last;
	struct sp_series_span span; /* of `last` */
	uint32_t owner;             /* uid */
	uint32_t n_lines;
};
struct sp_series_budget {
	size_t n, max; /* lines */
};
struct sp_series_table {
	struct sp_series_budget *budget;
	struct sp_intern *keys, *refused;
	struct sp_series *series; /* by number of the key */
	size_t capacity;
	struct sp_series other;
};

int sp_series_init(struct sp_series_table *t, struct sp_series_budget *b, const char *other_labels);
void sp_series_done(struct sp_series_table *t);
size_t sp_series_count(const struct sp_series_table *t);
uint64_t sp_series_refused(const struct sp_series_table *t);

/* -ENOENT: there is none. */
int64_t sp_series_find(const struct sp_series_table *t, const void *key, size_t len);
/*
 * Makes a series of n_lines lines; copies labels. -EDQUOT: the budget is used up; the caller calls sp_series_refuse().
 */
int64_t sp_series_make(struct sp_series_table *t, const void *key, size_t len, const char *labels, uint32_t owner,
		       uint32_t n_lines);
/* Removes those for which drop() is true; the others get new numbers. -ENOMEM: all are there as before. */
int sp_series_drop(struct sp_series_table *t, bool (*drop)(const void *arg, const struct sp_series *s),
		   const void *arg);
void sp_series_refuse(struct sp_series_table *t, const void *key, size_t len);
int sp_series_label(struct sp_series *s, const char *labels); /* replaces the labels */
void sp_series_grow(struct sp_series *s, const struct sp_series_time *time, const struct sp_series_span *span);

#endif
