/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg/svg_tree.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- libraries --- */
static void set_library(const struct sp_svg_tree *t, const struct sp_tree_library *from, struct sp_svg_library *ret)
{
	const struct sp_file *file = sp_profile_file(t->p, from->file);
	*ret = (struct sp_svg_library){.name = from->file ? sp_library_name(t->p, from->file) : "",
				       .is_kernel = file->kind == SP_FILE_KERNEL,
				       .self = from->self,
				       .total = from->total,
				       .old_self = from->second_self,
				       .old_total = from->second_total};
	sp_hex(file->build_id, SP_MIN(file->build_id_len, sizeof(ret->build_id) / 2), ret->build_id);
}

static int set_libraries(struct sp_svg_tree *t)
{
	t->libraries = calloc(t->tree.n_libraries, sizeof(*t->libraries));
	if (!t->libraries)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->tree.n_libraries; i++)
		set_library(t, &t->tree.libraries[i], &t->libraries[i]);
	return 0;
}

/* --- the tree --- */
/* Refuses saturated sums: widths that do not add up cannot be drawn. */
static int check_values(struct sp_svg_tree *t, uint32_t value, bool counts_negative)
{
	int64_t sum = 0;
	if (value >= sp_profile_n_value_types(t->p))
		return sp_fail(-EINVAL, "value %u of a profile that has %u", value, sp_profile_n_value_types(t->p));
	for (uint32_t i = 0; i < sp_profile_n_rows(t->p); i++) {
		int64_t it = sp_profile_row(t->p, i)->values[value];
		t->n_negative += counts_negative && it < 0;
		if (it > 0 && __builtin_add_overflow(sum, it, &sum))
			return -EOVERFLOW;
	}
	return 0;
}

static int grow(struct sp_svg_tree *t, const struct sp_view_options *o, double min_drawn)
{
	struct sp_tree_options options = {.value = o->value,
					  .has_second = o->has_second,
					  .second = o->second,
					  .direction = t->callers ? SP_TREE_CALLERS : SP_TREE_CALLEES,
					  .granularity = o->granularity,
					  .fold_recursion = o->fold_recursion,
					  .comms = true,
					  .marks = true,
					  .user_only = o->user_only,
					  .kernel_only = o->kernel_only,
					  .by_name = true,
					  .by_path = true,
					  .drawn = true,
					  .min_drawn = min_drawn,
					  .focus_run = o->focus_is_library};
	SP_FREE bool *focus = NULL;
	if (o->focus) {
		focus = sp_profile_frames_matching(t->p, o->focus_is_library ? SP_FILTER_LIBRARY : SP_FILTER_FUNCTION,
						   o->focus);
		if (!focus)
			return -ENOMEM;
	}
	options.focus = focus;
	return sp_tree_new(t->p, &options, &t->tree);
}

static int svg_tree_make(struct sp_svg_tree *t, const struct sp_view_options *o, double min_drawn)
{
	int r = check_values(t, o->value, true);
	if (r >= 0 && o->has_second)
		r = check_values(t, o->second, false);
	r = r < 0 ? r : grow(t, o, min_drawn);
	return r < 0 ? r : set_libraries(t);
}

int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, double min_drawn,
		    struct sp_svg_tree **ret_tree)
{
	struct sp_svg_tree *t = calloc(1, sizeof(*t));
	if (!t)
		return sp_fail(-ENOMEM, "merge the stacks");
	*t = (struct sp_svg_tree){.p = p, .is_diff = o->has_second, .callers = o->callers && !o->callees};
	int r = svg_tree_make(t, o, min_drawn);
	if (r < 0) {
		sp_svg_tree_free(t);
		return sp_fail(r, "merge the stacks");
	}
	*ret_tree = t;
	return 0;
}

void sp_svg_tree_free(struct sp_svg_tree *t)
{
	if (!t)
		return;
	sp_tree_done(&t->tree);
	free(t->libraries);
	free(t);
}

uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t)
{
	return t->tree.n_libraries;
}

static const struct sp_tree_label *label_of(const struct sp_svg_tree *t, uint32_t node)
{
	return &t->tree.labels[t->tree.nodes[node].label];
}

uint32_t sp_svg_tree_library(const struct sp_svg_tree *t, uint32_t node)
{
	return t->tree.library_of[t->tree.nodes[node].label];
}

enum sp_svg_kind sp_svg_tree_kind(const struct sp_svg_tree *t, uint32_t node)
{
	const struct sp_tree_label *label = label_of(t, node);
	if (label->kind == SP_TREE_CUT || label->kind == SP_TREE_NO_STACK ||
	    !strcmp(sp_svg_tree_name(t, node), SP_SHORTENED))
		return SP_SVG_NOTE;
	if (label->kind != SP_TREE_FRAME && label->kind != SP_TREE_RUN)
		return SP_SVG_PLAIN;
	return label->flags & SP_FRAMEF_KERNEL    ? SP_SVG_KERNEL
	       : label->flags & SP_FRAMEF_GUESSED ? SP_SVG_GUESSED
						  : SP_SVG_USER;
}

const char *sp_svg_tree_name(const struct sp_svg_tree *t, uint32_t node)
{
	const struct sp_tree_label *label = label_of(t, node);
	if (label->kind == SP_TREE_ALL)
		return "all";
	if (label->kind == SP_TREE_CUT)
		return "[truncated]";
	if (label->kind == SP_TREE_NO_STACK)
		return "[no user stack]";
	if (label->kind == SP_TREE_FRAME)
		return label->func ? sp_profile_drawn_name(t->p, label->func) : "[unknown]";
	const char *name = sp_tree_name(t->p, &t->tree, node);
	return name[0] ? name : "[unknown]";
}
