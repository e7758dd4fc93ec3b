/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_stacks.h: the rows of a profile as sorted paths of entities, for the data of the HTML page.
 *
 * A path goes from the root to the leaf: the thread's name, a marker if the user stack was cut or missed, user
 * frames, kernel frames, by the entities of html_tables.h. Entities are numbered by name, paths sorted by these
 * numbers, and equal paths added up: a prefix tree in preorder. Where the recording tells of slices of time, paths are
 * equal in one slice only, and come in the order of their slices.
 * Owns all its memory; strings are copied. Sums saturate. Errors: 0 or -ENOMEM. Only reads the profile.
 */
#ifndef SP_VIEW_HTML_HTML_STACKS_H
#define SP_VIEW_HTML_HTML_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "view/html/html_tables.h"

struct sp_view_options;

struct sp_html_path {
	size_t first;      /* in words */
	uint32_t n, slice; /* from 1; 0: not known */
	int64_t *values;   /* those of the profile, and behind them the number of rows */
};

struct sp_html_stacks {
	struct sp_html_tables t;
	uint32_t *order;     /* entities by name: their numbers in t; all others are places in this order */
	uint32_t *entity_of; /* frame -> entity; UINT32_MAX = in no stack */
	uint32_t *words;     /* entities, root first */
	struct sp_html_path *paths;
	int64_t *values;                         /* of all paths */
	uint32_t n_entities, n_values, n_slices; /* n_slices 0: without */
	size_t n_paths;
};

int sp_html_stacks_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_html_stacks **ret_stacks);
void sp_html_stacks_free(struct sp_html_stacks *s);

#endif
