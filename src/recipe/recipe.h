/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe.h: the recipes, each NAME.bpf.c (kernel half), NAME.c (user half), its name in src/recipe/meson.build, and its
 * row in all[] of sp_recipe_find() (recipe.c).
 *
 * A recipe is constant; what belongs to one session is in its struct sp_recipe_object (capture/recipe_ops.h), which the
 * session owns. Errors are negative errnos with sp_error_text(); a recipe prints nothing.
 */
#ifndef SP_RECIPE_RECIPE_H
#define SP_RECIPE_RECIPE_H

#include "capture/recipe_ops.h"

extern const struct sp_recipe sp_recipe_cpu;

/* NULL = unknown. */
const struct sp_recipe *sp_recipe_find(const char *name);

/* 0, or -EINVAL with a message that lists the events that there are. NULL is the default. */
int sp_recipe_event_check(const char *event);

#endif
