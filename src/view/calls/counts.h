/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts.h: counted calls by function, for the views csv and json, when a profile's value "calls" is asked for.
 * Private to the views.
 *
 * All functions and callers, unless o->limit sets a number of functions; the JSON has the number left out.
 * 0 or a negative errno. No state.
 */
#ifndef SP_VIEW_CALLS_COUNTS_H
#define SP_VIEW_CALLS_COUNTS_H

#include <stdbool.h>
#include <stdio.h>

struct sp_profile;
struct sp_view_options;

/* Whether o asks for counted calls. */
bool sp_counts_wanted(const struct sp_profile *p, const struct sp_view_options *o);
int sp_counts_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
int sp_counts_put_csv(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);

#endif
