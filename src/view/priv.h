/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: shared by the views: names of frames, and rows merged by what is shown of them.
 *
 * No state; strings belong to the profile. Names are raw unless an encoding is given: the writer encodes them.
 * Errors: 0 or -ENOMEM.
 */
#ifndef SP_VIEW_PRIV_H
#define SP_VIEW_PRIV_H

#include "view/view.h"

#include <stddef.h>

struct sp_intern;
struct sp_totals;

/* The totals for o->by, sorted by o->sort (sort.c). The caller calls sp_totals_done(). */
int sp_view_totals(const struct sp_profile *p, const struct sp_view_options *o, struct sp_totals *ret_totals);

/* --- columns of a terminal (cut.c) --- */
/* A character takes one column, however many bytes it has. */
size_t sp_view_columns(const char *text);
/* What is left for a name behind so many columns: some in any case. 0: as much as it takes, since there is no width. */
size_t sp_view_room(unsigned width, size_t before);
/* Cuts what is longer than the room, if there is one: the end of a name, the root's end of a stack. text is encoded. */
void sp_view_put_cut(const char *text, size_t room, bool is_stack, FILE *out);
/* The same of a name whose end tells as much as its beginning, such as LIBRARY+0xOFFSET. */
void sp_view_put_middle(const char *text, size_t room, FILE *out);

/* --- frames (frame.c) --- */
/* The file of a frame's function: for kernel frames possibly a module's. */
uint32_t sp_view_library(const struct sp_profile *p, uint32_t frame);
/* Writes a library's name, encoded for a terminal; anonymous memory with its process: "[anon:300]". */
void sp_view_put_library(const struct sp_profile *p, uint32_t file, FILE *out);
/*
 * Writes " [libc.so.6]", with an offset other than 0 " [libc.so.6+0x1234]"; " [kernel]", not " [[kernel]]"; nothing for
 * a file without a name.
 */
void sp_view_put_in_library(const struct sp_profile *p, uint32_t file, uint64_t offset, FILE *out);
/* What has no name of its own is LIBRARY+0xOFFSET already. */
bool sp_view_is_place(const struct sp_profile *p, const char *name, uint32_t file);
/* A file's path, or else its name, as in /proc/PID/maps, with " (deleted)". A new string; NULL: out of memory. */
char *sp_view_path(const struct sp_profile *p, uint32_t file);
/* Writes a frame's name, encoded (enum sp_encoding); a frame without a function is LIBRARY+0xOFFSET. */
void sp_view_put_name(const struct sp_profile *p, uint32_t frame, int encoding, FILE *out);
/* The virtual address in the file, as in readelf; in the kernel and in anonymous memory the address itself. */
uint64_t sp_view_address(const struct sp_profile *p, uint32_t frame);
/* The offset of a frame in its function; false: the function's start is not known. */
bool sp_view_distance(const struct sp_profile *p, uint32_t frame, uint64_t *ret_distance);

/* --- rows merged by what is shown (shown.c) --- */
/* One half (user or kernel) of a shown row. */
enum sp_half_state {
	SP_HALF_NONE, /* no such stack, or left out by an option */
	SP_HALF_FRAMES,
	SP_HALF_MISSED, /* there was a stack, but not one frame is known */
};
struct sp_half {
	enum sp_half_state state;
	bool cut;
	uint32_t reason;
	uint32_t n;
	const uint32_t *ids; /* leaf first; see sp_shown_rows_frame() */
};
struct sp_shown_row {
	int64_t value, second; /* second: 0 without SP_SHOWN_SECOND */
	uint32_t slice, pid;   /* 0 if not asked for */
	uint32_t comm;         /* string */
	struct sp_half user, kernel;
};
/* As many of the units that are asked for. */
static inline int64_t sp_view_divided(const struct sp_view_options *o, int64_t value)
{
	return o->divisor ? value / o->divisor : value;
}
struct sp_shown_rows {
	struct sp_intern *keys;
	struct sp_shown_row *rows;
	size_t n;
};
enum {
	SP_SHOWN_BY_PID = 1,   /* equal stacks of two processes stay two rows */
	SP_SHOWN_EXACT = 2,    /* frames are distinct by address, not only by name */
	SP_SHOWN_SECOND = 4,   /* with o->has_second: second values, too */
	SP_SHOWN_BY_SLICE = 8, /* equal stacks of two slices of time stay two rows, too */
};
/*
 * Merges the rows of p that have a value (or a second one) and are shown alike, with the options applied (-U, -K).
 * Sorted by ascending (o->ascending) or descending value, then by comm, pid and names. 0 or -ENOMEM.
 */
int sp_shown_rows_merge(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags,
			struct sp_shown_rows *ret);
void sp_shown_rows_done(struct sp_shown_rows *rows);
/* True: the id is a frame of the profile, *ret_frame; false: a name, *ret_name (a string). */
bool sp_shown_rows_frame(uint32_t id, uint32_t *ret_frame, uint32_t *ret_name);
/* Writes the name of an id. */
void sp_shown_rows_put_name(const struct sp_profile *p, uint32_t id, int encoding, FILE *out);

#endif
