/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracepoint.h: tracepoints, as the user names them: SYSTEM:EVENT, as in /sys/kernel/tracing/events.
 *
 * Programs are attached to the raw tracepoint of that name. The events of single system calls have none of their own:
 * they are those of all calls (sys_enter, sys_exit), narrowed by the number of the call.
 * Errors: -EINVAL with sp_error_text() for what is no such name, or a tracepoint that this kernel has not, as far as
 * tracefs can be read. No state.
 */
#ifndef SP_RECIPE_TRACEPOINT_H
#define SP_RECIPE_TRACEPOINT_H

struct sp_recipe_point;

/* The point keeps `name`. */
int sp_tracepoint_point(const char *name, struct sp_recipe_point *ret_point);

#endif
