/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracepoint.h: tracepoints, as the user names them: SYSTEM:EVENT, as in /sys/kernel/tracing/events; or raw:EVENT, also
 * one of those that tracefs does not show.
 *
 * Programs are attached to the raw tracepoint of that name. Single system calls have no raw tracepoints: their events
 * are those of all calls (sys_enter, sys_exit), filtered by the number of the call.
 * Errors: -EINVAL with sp_error_text() for a malformed name, or a tracepoint that this kernel does not have, as far as
 * tracefs can be read. No state.
 */
#ifndef SP_RECIPE_TRACEPOINT_H
#define SP_RECIPE_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct sp_recipe_point;

enum { SP_TRACEPOINT_HIT_NS = 3200 }; /* as hit_ns of struct sp_event */

/* The directory in which tracefs lists the tracepoints; NULL: none can be read, and errno says why not. */
const char *sp_tracepoints_root(void);

/* The point refers to `name`, which must outlive it. */
int sp_tracepoint_point(const char *name, struct sp_recipe_point *ret_point);

/*
 * Gives the names of all tracepoints that may be asked for, sorted: those of tracefs without what is none (ftrace's
 * own entries, probes that somebody has set). -EACCES, -ENOENT ...: tracefs cannot be read.
 */
int sp_tracepoints_each(void (*each)(void *arg, const char *name), void *arg);
/* The one whose name behind its system is the nearest to this; exactly: is this. False: there is none, or tracefs is
 * shut. */
bool sp_tracepoints_nearest(const char *event, bool exactly, char *ret_name, size_t size);

/* The name of a system call of 64-bit programs; NULL: the C library knew none of this number. */
const char *sp_call_name(unsigned long long number);

#endif
