/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard_tell.h: what the guard (capture/guard.h) has done, in words: a line of the summary for each event, and what
 * holds now, for the line of progress and `top`'s head. Used by profile, its aliases and top.
 *
 * Steps are not told one by one, since a program of a second has some. The words hold nothing from outside but names of
 * recipes. Only reads the session; main thread only.
 */
#ifndef SP_CMD_GUARD_TELL_H
#define SP_CMD_GUARD_TELL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sp_capture;
struct sp_guard_event;
struct sp_recipe;

/* Of one event that there were steps for; times are of CLOCK_MONOTONIC. */
void sp_guard_event_put(const struct sp_guard_event *e, const char *name, uint64_t began_ns, uint64_t now_ns,
			FILE *words);
/* Of a session, and its recipes: lines with a newline between. NULL: nothing was done (or no memory). The caller's. */
char *sp_guard_words(const struct sp_capture *c, const struct sp_recipe *const *recipes);
/* What holds now, in a few words; "" = nothing. */
void sp_guard_now(const struct sp_capture *c, const struct sp_recipe *const *recipes, char *ret_text, size_t size);

#endif
