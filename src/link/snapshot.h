/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h: builds a snapshot from a file, or from what a file has gained since another.
 *
 * Equal items have one number, in the order in which they were first added; strings are copied. Calls of equal arcs
 * are added; sums saturate at INT64_MAX. Each sp_calls_begin() needs an sp_calls_end(), with or without taking the
 * snapshot. Errors: -ENOMEM, -E2BIG (more than 2^32 - 2 of a kind). Not thread-safe.
 */
#ifndef SP_LINK_SNAPSHOT_H
#define SP_LINK_SNAPSHOT_H

#include "base/intern.h"
#include "link/file.h"

struct sp_calls_builder {
	struct sp_calls_snapshot made;
	struct sp_intern *strings, *libraries, *callees, *whos, *arcs, *times;
	size_t library_room, callee_room, who_room, arc_room, time_room;
	bool takes_away; /* subtracts calls of arcs, and times, instead of adding them; not below 0 */
};
int sp_calls_begin(struct sp_calls_builder *b);
/* Numbers, or negative errno. */
int64_t sp_calls_add_library(struct sp_calls_builder *b, const struct sp_calls_library *library);
int64_t sp_calls_add_callee(struct sp_calls_builder *b, const struct sp_calls_callee *callee);
int64_t sp_calls_add_who(struct sp_calls_builder *b, const struct sp_calls_who *who);
int64_t sp_calls_add_arc(struct sp_calls_builder *b, const struct sp_calls_arc *arc);
int64_t sp_calls_add_time(struct sp_calls_builder *b, const struct sp_calls_time *time);
/* Copies bytes without NUL as a string into the builder. */
int sp_calls_add_string(struct sp_calls_builder *b, const char *bytes, size_t len, const char **ret_string);
void sp_calls_end(struct sp_calls_builder *b, struct sp_calls_snapshot *ret_snapshot); /* NULL: discard */

#endif
