/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard_tell.h: what the guard (capture/guard.h) has done, in words: a line on stderr when it happens, and a paragraph
 * of the summary, or a line of `top`'s head. Used by profile, its aliases and top.
 * What is printed goes to stderr as it is: it has no words but ours and the names of recipes. Main thread only.
 */
#ifndef SP_CMD_GUARD_TELL_H
#define SP_CMD_GUARD_TELL_H

#include <stdbool.h>
#include <stddef.h>

struct sp_capture;
struct sp_recipe;
struct sp_guard_step;

struct sp_guard_told {
	bool is_quiet; /* a screen is in the way: nothing is printed */
};

/* As struct sp_capture_options has it; arg is a struct sp_guard_told. */
void sp_guard_tell(void *arg, const struct sp_recipe *recipe, const struct sp_guard_step *step);
/* Of a session, and its recipes. NULL: nothing was done (or no memory). The caller's. */
char *sp_guard_words(const struct sp_capture *c, const struct sp_recipe *const *recipes);
/* What holds now, in a few words; "" = nothing. */
void sp_guard_now(const struct sp_capture *c, const struct sp_recipe *const *recipes, char *ret_text, size_t size);

#endif
