/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_rows.h: what was counted in all processes, as rows and tables.
 *
 * A row is a function, or library, and who called it; it keeps what it was at the reading before, so that a table can
 * show what is new. Callers are places in files (sites) until workers have named them. All is the caller's, who frees
 * it with the functions named _done, after the workers. 0 or a negative errno.
 */
#ifndef SP_CMD_CALLS_MACHINE_ROWS_H
#define SP_CMD_CALLS_MACHINE_ROWS_H

#include "cmd/calls/machine.h"

/* --- machine_callers.c: the code that called --- */
struct sp_machine_site {
	uint64_t offset;
	uint32_t file;   /* its number; 0: not known */
	uint32_t caller; /* its number, once it is named */
};
struct sp_machine_file {
	int fd;                /* -1: it could not be opened */
	char *name;            /* its soname, else what the kernel calls it */
	char build_id[65];     /* hex, "" = none */
	bool is_asked, is_new; /* names were asked for; a site has none yet */
};
struct sp_machine_callers {
	struct sp_workers *workers;
	bool tells_builds; /* callers in two builds of a library are two */
	struct sp_intern *file_keys, *site_keys, *texts;
	struct sp_machine_file *files;
	struct sp_machine_site *sites;
	size_t files_capacity, sites_capacity;
	uint64_t n_unopened;
};
int sp_machine_callers_new(struct sp_machine_callers *c, struct sp_workers *w);
void sp_machine_callers_done(struct sp_machine_callers *c);
/* As sp_counting_files() calls it: arg is the callers. */
void sp_machine_callers_file(void *arg, const struct sp_probed_file *file);
int64_t sp_machine_site(struct sp_machine_callers *c, const struct sp_probed_place *place);
/* Names all sites that have none; waits for workers. */
int sp_machine_callers_name(struct sp_machine_callers *c);
/* A caller's name, and its library's; behind the latter's end that one's build id, if builds are told apart. */
void sp_machine_caller(const struct sp_machine_callers *c, uint32_t number, const char **ret_name,
		       const char **ret_library);

/* --- machine_rows.c --- */
struct sp_machine_guard;
struct sp_machine_sum {
	uint64_t n_calls;
	struct sp_probed_times times;
};
struct sp_machine_row {
	uint32_t function;                       /* UINT32_MAX: a row by library, whose name is that of `of` */
	uint32_t of;                             /* a function of its library */
	uint32_t who, pid;                       /* who: of `whos`; 0 = nobody is told apart */
	struct sp_machine_sum all, before, read; /* read: as it was at the last reading, all of it */
	struct sp_machine_sum over;              /* of processes that have ended, which is no longer in the kernel */
	/* Of the periods that windows have stood for: sums of calls, their squares, and calls times seconds. */
	double estimated, squares, products;
};
struct sp_machine_rows {
	enum sp_machine_by by;
	const struct sp_machine_targets *targets;
	struct sp_machine_callers *callers;
	uint32_t max_over; /* while there are fewer rows than this, those of ended processes make room; 0 = never */
	struct sp_intern *keys, *whos; /* whos: texts */
	struct sp_machine_row *rows;
	size_t rows_capacity;
	uint32_t n_windows;              /* that were read, each for a period */
	double seconds, seconds_squares; /* of the periods: sums */
	double window_share;             /* of their time that windows were open */
	uint64_t n_unplaced;             /* calls whose function, told by its place, is not known */
};
int sp_machine_rows_new(struct sp_machine_rows *r);
void sp_machine_rows_done(struct sp_machine_rows *r);
struct sp_machine_period {
	double seconds;
	double times; /* a call in its window stands for so many */
};
/* Reads what was counted since the last reading. period: it was counted in a window; NULL: it is all. */
int sp_machine_rows_read(struct sp_machine_rows *r, struct sp_counting *counting,
			 const struct sp_machine_period *period);
/* What is new is so from here on. */
void sp_machine_rows_mark(struct sp_machine_rows *r);
/* Where calls of a row lie at 95 %. False: they are exact. *ret_high INFINITY: one window tells nothing. */
bool sp_machine_interval(const struct sp_machine_rows *r, const struct sp_machine_row *row, double *ret_low,
			 double *ret_high);
uint32_t sp_machine_n_rows(const struct sp_machine_rows *r);
/* By falling calls since `before`, or of all: indices of rows that have any. Free it. */
int sp_machine_rows_sort(const struct sp_machine_rows *r, bool since, uint32_t **ret_order, size_t *ret_n);
/* What is new since `before`; of the times' extremes all that is known. */
struct sp_machine_sum sp_machine_since(const struct sp_machine_row *row);

/* --- machine_show.c, machine_export.c --- */
struct sp_machine_shown {
	const struct sp_machine_args *args;
	const struct sp_machine_rows *rows;
	const struct sp_counting *counting;
	double seconds;
	const struct sp_machine_guard *guard;
	bool since;      /* a part of the time */
	bool no_cookies; /* functions are told by places */
	bool has_head;   /* csv: with a line of names */
};
int sp_machine_show(const struct sp_machine_shown *s, FILE *out);
int sp_machine_put_csv(const struct sp_machine_shown *s, FILE *out);
int sp_machine_put_json(const struct sp_machine_shown *s, FILE *out);
/* Quantile of the times in ns, interpolated within its power of two. */
double sp_machine_quantile(const struct sp_machine_sum *sum, double share);
uint64_t sp_machine_least_ns(const struct sp_machine_sum *sum);
/* Who a row is of: "" where nobody is told apart. user: a buffer; *ret_library: that of a caller, else "". */
const char *sp_machine_who(const struct sp_machine_rows *r, const struct sp_machine_row *row, char *user, size_t size,
			   const char **ret_library);
/* Calls that have begun and not returned. */
uint64_t sp_machine_unreturned(const struct sp_machine_shown *s);
/* What the counted and the lost add up to, on standard error. */
void sp_machine_tell(const struct sp_machine_shown *s);
/* "soprof: 1 call was lost", "soprof: 7 calls were lost"; nothing of 0. */
void sp_machine_tell_count(uint64_t n, const char *one, const char *many, const char *what);

#endif
