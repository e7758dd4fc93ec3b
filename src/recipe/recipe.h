/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recipe.h: the recipes by name. Each is NAME.bpf.c, NAME.c and its name in src/recipe/meson.build.
 */
#ifndef SP_RECIPE_RECIPE_H
#define SP_RECIPE_RECIPE_H

#include "capture/recipe.h"

extern const struct sp_recipe sp_recipe_cpu;

/* 0, or -EINVAL with a message that lists the events that there are. NULL is the default. */
int sp_recipe_event_check(const char *event);

#endif
