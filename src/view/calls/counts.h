/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts.h: counted calls by function, for scripts: what the views csv and json show by function of a profile that has
 * the value "calls", if that is the value that is asked for. Private to the views.
 *
 * All functions and callers unless o->limit says how many functions; what is left out is told in the JSON. 0 or a
 * negative errno. No state.
 */
#ifndef SP_VIEW_CALLS_COUNTS_H
#define SP_VIEW_CALLS_COUNTS_H

#include <stdbool.h>
#include <stdio.h>

struct sp_profile;
struct sp_view_options;

/* Whether it is these that o asks for. */
bool sp_counts_wanted(const struct sp_profile *p, const struct sp_view_options *o);
int sp_counts_put_json(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);
int sp_counts_put_csv(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);

#endif
