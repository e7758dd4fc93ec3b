/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h: the arguments of marks (USDT): the fields that expressions name, and what a front is told of each place.
 *
 * A name may stand for many places, also in several files, whose arguments are elsewhere and may be of other sizes. A
 * field is what all of them have; a place that lacks an argument that is wanted costs its file, with the reason. All
 * belongs to the probe, whose files have been looked through. Errors have sp_error_text(); -EBADMSG: of what a file
 * says.
 * Private to src/recipe, but for the list, which is in probe.h.
 */
#ifndef SP_RECIPE_MARKS_H
#define SP_RECIPE_MARKS_H

#include "recipe/probe_priv.h"

struct sp_recipe_point;

/* Which arguments the point's ops read. */
void sp_recipe_marks_wanted(struct sp_recipe_point *point);
/* Numbers the places of all files. A file with an argument that is wanted and cannot be read loses its own. */
int sp_recipe_marks_number_all(struct sp_recipe_probe *probe);
/*
 * Numbers the places of a file by where their arguments are, and tells the front of new ones, if it is there already.
 * -E2BIG: no room, or more than its user's share.
 */
int sp_recipe_marks_number(struct sp_recipe_probe *probe, size_t file);

#endif
