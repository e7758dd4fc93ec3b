/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h: a profile in, bytes out. Each view is one file src/view/FOLDER/NAME.c with one `const struct sp_view
 * sp_view_NAME`, and its name stands in `view_names` in src/view/meson.build, from which the table is generated.
 *
 * A view never changes the profile, never prints elsewhere, and encodes every name (base/encode.h). It writes to a
 * stdio stream; the caller checks the stream's error flag. Functions return 0 or a negative errno. Reentrant.
 */
#ifndef SP_VIEW_VIEW_H
#define SP_VIEW_VIEW_H

#include "profile/totals.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;

/* Names of enum sp_total_by for options. */
extern const char *const sp_view_groupings[SP_N_TOTAL_BY]; /* "library", "function" ... */

/* The order of groups: descending; names ascending. */
enum sp_sort { SP_SORT_SELF, SP_SORT_TOTAL, SP_SORT_SAMPLES, SP_SORT_NAME, SP_N_SORTS };
extern const char *const sp_view_sorts[SP_N_SORTS]; /* "self", "total" ... */

struct sp_diff;
struct sp_totals;
struct sp_view_options {
	const char *header;          /* text: the line(s) before the stacks, without the last newline; NULL = none */
	const char *title;           /* svg */
	const char *subtitle;        /* svg; NULL = none */
	uint32_t value;              /* index of the value shown where a view shows one */
	bool all_values;             /* table: a column for each value (costs.h) */
	bool has_second;             /* svg, folded, html: beside the value an older one, to compare with */
	uint32_t second;             /* its index; the value itself is the new one */
	const char *value_name;      /* svg, html: name of the value that the joined profile calls "new"; or NULL */
	const struct sp_diff *diff;  /* html, svg: the diff whose `joined` this is, before filters; NULL = none */
	bool absolute;               /* svg: differences of values, not of shares */
	bool icicle;                 /* svg: the root at the top */
	bool user_only, kernel_only; /* sampled with -U, -K: no delimiters, no placeholders for the other half */
	uint32_t divisor;            /* text, folded: values are shown as so many, rounded down; 0 = each */
	bool delimiter;              /* text, folded: -d */
	bool annotate;               /* text, folded: -a: kernel frames end in _[k] */
	bool verbose;                /* text: -v: name+0xOFFSET [library] */
	bool addresses;              /* text: -A: the frame's offset in hex before the name */
	bool ascending;              /* text: rows by ascending count (the command's default) */
	enum sp_total_by by;         /* table, csv, json */
	enum sp_sort sort;           /* table, csv, json; of all values: by their shares added up */
	uint32_t limit;              /* table, csv, json: rows shown, 0 = all; the number left out is shown */
	uint32_t lines; /* counts: lines shown, of a terminal, in place of limit; 0 = as many as there are */
	/* table, csv, json: sums more exact than the profile's, with its numbers and grouped by `by`; NULL = none */
	const struct sp_totals *totals;
	bool callers, callees;                /* tree, svg: leaf to root, root to leaf (the default); tree: both */
	const char *focus;                    /* tree, svg: around frames of these functions (a glob); NULL = all */
	bool focus_is_library;                /* the glob is of libraries */
	enum sp_tree_granularity granularity; /* tree, svg */
	bool fold_recursion;                  /* tree, svg */
	double min_share;                     /* tree: nodes with a smaller share (0 to 1) are joined */
	bool external; /* gprof, gmon, pairs: all callers outside the counted libraries are one */
	bool colour;   /* escape sequences for a terminal */
	unsigned
	    width; /* table with all_values, or by matrix: columns of the terminal, to which names are cut; 0 = none */
};

struct sp_view {
	const char *name;   /* --format NAME */
	const char *suffix; /* -o FILE: ".svg", ".pb.gz" */
	const char *mime;
	const char *summary; /* one line of help */
	bool binary;         /* refuses a terminal */
	bool grouped;        /* heeds `by` and `limit` */
	bool calls;          /* needs counted calls: -ENODATA for other profiles */
	bool shows_all;      /* holds all values; its reader picks one */
	bool packages;       /* shows the libraries' packages, whatever it groups by: the caller looks them up */
	bool recording;      /* keeps labels, packages and cgroups: may be read back on another machine */
	bool slices;         /* keeps or shows which slice of time (profile/key.h) rows are of */
	int (*write)(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
	/* The suffix of a second file that the first one needs. */
	const char *beside; /* NULL: there is none */
	int (*write_beside)(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
};

extern const struct sp_view *const sp_views[];           /* NULL at the end; generated */
const struct sp_view *sp_view_by_name(const char *name); /* NULL = unknown */
const struct sp_view *sp_view_by_path(const char *path); /* by the longest suffix; NULL = unknown */

#endif
