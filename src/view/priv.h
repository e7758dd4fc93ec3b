/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the views share: how a frame is called, and rows merged by what is shown of them.
 *
 * Nothing here is thread-bound or global; strings belong to the profile. Names are raw: who writes them encodes them.
 */
#ifndef SP_VIEW_PRIV_H
#define SP_VIEW_PRIV_H

#include "view/view.h"

#include <stddef.h>

struct sp_intern;
struct sp_totals;

/* The groups that the options ask for, in the order that they ask for (sort.c); sp_totals_done() is the caller's. */
int sp_view_totals(const struct sp_profile *p, const struct sp_view_options *o, struct sp_totals *ret_totals);

/* --- frames (frame.c) --- */
/* The file whose code a frame is: the module's own file for kernel frames that lie in a module. */
uint32_t sp_view_library(const struct sp_profile *p, uint32_t frame);
/* Writes what a library is called, for a terminal; anonymous memory with its process: "[anon:300]". */
void sp_view_put_library(const struct sp_profile *p, uint32_t file, FILE *out);
/*
 * " [libc.so.6]", but " [kernel]", not " [[kernel]]"; nothing for a file without a name. With an offset that is not 0:
 * " [libc.so.6+0x1234]".
 */
void sp_view_put_in_library(const struct sp_profile *p, uint32_t file, uint64_t offset, FILE *out);
/* Its path, or its name, as /proc/PID/maps shows it: with " (deleted)" if so. A new string; NULL = no memory. */
char *sp_view_path(const struct sp_profile *p, uint32_t file);
/* Writes the name alone, encoded (enum sp_encoding); a frame without a function is LIBRARY+0xOFFSET. */
void sp_view_put_name(const struct sp_profile *p, uint32_t frame, int encoding, FILE *out);
/* The address as readelf would print it (of a kernel frame and of anonymous memory: the address itself). */
uint64_t sp_view_address(const struct sp_profile *p, uint32_t frame);
/* How far it lies from the start of its function; false where nobody knows where that begins. */
bool sp_view_distance(const struct sp_profile *p, uint32_t frame, uint64_t *ret_distance);

/* --- rows merged by what is shown (rows.c) --- */
/* One half (user or kernel) of a shown row. */
enum sp_half_state {
	SP_HALF_NONE, /* there is no such stack, or it was not asked for: nothing is shown */
	SP_HALF_FRAMES,
	SP_HALF_MISSED, /* there was one, but not a single frame of it is known */
};
struct sp_half {
	enum sp_half_state state;
	bool cut;
	uint32_t reason;
	uint32_t n;
	const uint32_t *ids; /* leaf first; see sp_rows_frame() */
};
struct sp_shown_row {
	int64_t value, second; /* second: 0 without SP_ROWS_SECOND */
	uint32_t pid;          /* 0 if not asked for */
	uint32_t comm;         /* string */
	struct sp_half user, kernel;
};
struct sp_rows {
	struct sp_intern *keys;
	struct sp_shown_row *rows;
	size_t n;
};
enum {
	SP_ROWS_BY_PID = 1, /* equal stacks of two processes stay two rows */
	SP_ROWS_EXACT = 2,  /* frames are told apart by their place, not by their name alone */
	SP_ROWS_SECOND = 4, /* with o->has_second: the second values, too */
};
/*
 * The rows of p with a value (or a second one), as the options want them shown (-U, -K), those that look the same added
 * up, by rising (o->ascending) or falling value; ties by comm, pid and names. 0 or -ENOMEM. Give them back with
 * sp_rows_done().
 */
int sp_rows_merge(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags, struct sp_rows *ret);
void sp_rows_done(struct sp_rows *rows);
/* Whether id stands for a frame of the profile (then *ret_frame) or only for a name (then *ret_name, a string). */
bool sp_rows_frame(uint32_t id, uint32_t *ret_frame, uint32_t *ret_name);
/* Writes the name that the id stands for. */
void sp_rows_put_name(const struct sp_profile *p, uint32_t id, int encoding, FILE *out);

#endif
