/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "view/view.h"

/* --- libraries ---------------------------------------------------------------------------------------------------- */
static const char *name_of_file(const struct sp_profile *p, const struct sp_file *file)
{
	const char *name = sp_profile_string(p, file->name), *path = sp_profile_string(p, file->path);
	if (!name[0] && strrchr(path, '/'))
		name = strrchr(path, '/') + 1;
	return name[0] ? name : "[unknown]";
}

/* Equal names and build ids are one library whatever the path; without a build id, the path decides. */
static int64_t add_library(struct sp_svg_tree *t, const struct sp_file *file)
{
	SP_FREE char *key = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&key, &len);
	if (!f)
		return -ENOMEM;
	fprintf(f, "%c%s%c", file->kind == SP_FILE_KERNEL ? 'k' : 'u', name_of_file(t->p, file), 0);
	if (file->build_id_len)
		fwrite(file->build_id, 1, SP_MIN(file->build_id_len, SP_BUILD_ID_MAX), f);
	else
		fprintf(f, "%c%s", 0, sp_profile_string(t->p, file->path));
	if (fclose(f))
		return -ENOMEM;
	int64_t n = sp_intern_add(t->library_keys, key, len);
	int r = n < 0 ? (int)n : sp_grow(&t->libraries, &t->libraries_capacity, (size_t)n + 1, sizeof(*t->libraries));
	if (r < 0)
		return r;
	struct sp_svg_library *l = &t->libraries[n];
	l->name = name_of_file(t->p, file);
	l->is_kernel = file->kind == SP_FILE_KERNEL;
	for (size_t i = 0; i < SP_MIN(file->build_id_len, sizeof(l->build_id) / 2); i++)
		snprintf(l->build_id + 2 * i, 3, "%02x", file->build_id[i]);
	return n;
}

/* The kernel's functions know in which module they lie. */
static const struct sp_file *file_of(const struct sp_svg_tree *t, const struct sp_tree_label *label)
{
	uint32_t file = label->library;
	if (label->func && (!file || sp_profile_file(t->p, file)->kind == SP_FILE_KERNEL))
		file = sp_profile_func(t->p, label->func)->file;
	return file ? sp_profile_file(t->p, file) : NULL;
}

static int find_libraries(struct sp_svg_tree *t)
{
	int r = sp_intern_new(&t->library_keys);
	r = r < 0 ? r : sp_grow(&t->libraries, &t->libraries_capacity, 1, sizeof(*t->libraries));
	t->library_of = calloc(t->tree.n_labels, sizeof(*t->library_of));
	if (r < 0 || !t->library_of)
		return -ENOMEM;
	t->libraries[0].name = "";
	int64_t n = sp_intern_add(t->library_keys, "", 0); /* number 0: no library */
	for (uint32_t i = 0; i < t->tree.n_labels && n >= 0; i++) {
		const struct sp_file *file = file_of(t, &t->tree.labels[i]);
		n = file ? add_library(t, file) : 0;
		t->library_of[i] = n < 0 ? 0 : (uint32_t)n;
	}
	return n < 0 ? (int)n : 0;
}

/* The leaf is where self is, and in a graph of callers next to the root. No sum can overflow: the root's is larger. */
static void count_node(struct sp_svg_tree *t, uint32_t number, bool is_nested)
{
	const struct sp_tree_node *node = &t->tree.nodes[number];
	struct sp_svg_library *l = &t->libraries[sp_svg_tree_library(t, number)];
	if (!is_nested) {
		l->total += node->total;
		l->old_total += node->second_total;
	}
	if (!t->callers) {
		l->self += node->self;
		l->old_self += node->second_self;
	} else if (node->depth == 1) {
		l->self += node->total;
		l->old_self += node->second_total;
	}
}

static int count_libraries(struct sp_svg_tree *t)
{
	SP_FREE uint32_t *below = calloc(sp_svg_tree_n_libraries(t), sizeof(*below)); /* on the path */
	uint32_t node = 0;
	if (!below)
		return -ENOMEM;
	for (;;) {
		count_node(t, node, below[sp_svg_tree_library(t, node)]++ > 0);
		if (t->tree.nodes[node].first) {
			node = t->tree.nodes[node].first;
			continue;
		}
		for (; node && !t->tree.nodes[node].next; node = t->tree.nodes[node].parent)
			below[sp_svg_tree_library(t, node)]--;
		if (!node)
			return 0;
		below[sp_svg_tree_library(t, node)]--;
		node = t->tree.nodes[node].next;
	}
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */
/* Widths that do not add up could not be drawn, so saturated sums are none. */
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

static int grow(struct sp_svg_tree *t, const struct sp_view_options *o)
{
	struct sp_tree_options options = {.value = o->value,
					  .has_second = o->has_second,
					  .second = o->second,
					  .direction = t->callers ? SP_TREE_CALLERS : SP_TREE_CALLEES,
					  .fold = (enum sp_tree_fold)o->fold,
					  .fold_recursion = o->fold_recursion,
					  .comms = true,
					  .marks = true,
					  .user_only = o->user_only,
					  .kernel_only = o->kernel_only,
					  .by_name = true,
					  .by_path = true,
					  .drawn = true,
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

static int fill(struct sp_svg_tree *t, const struct sp_view_options *o)
{
	int r = check_values(t, o->value, true);
	if (r >= 0 && o->has_second)
		r = check_values(t, o->second, false);
	r = r < 0 ? r : grow(t, o);
	r = r < 0 ? r : find_libraries(t);
	return r < 0 ? r : count_libraries(t);
}

int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_svg_tree **ret_tree)
{
	struct sp_svg_tree *t = calloc(1, sizeof(*t));
	if (!t)
		return sp_fail(-ENOMEM, "merge the stacks");
	*t = (struct sp_svg_tree){.p = p, .is_diff = o->has_second, .callers = o->callers && !o->callees};
	int r = fill(t, o);
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
	sp_intern_free(t->library_keys);
	free(t->libraries);
	free(t->library_of);
	free(t);
}

uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t)
{
	return sp_intern_count(t->library_keys);
}

static const struct sp_tree_label *label_of(const struct sp_svg_tree *t, uint32_t node)
{
	return &t->tree.labels[t->tree.nodes[node].label];
}

uint32_t sp_svg_tree_library(const struct sp_svg_tree *t, uint32_t node)
{
	return t->library_of[t->tree.nodes[node].label];
}

enum sp_svg_kind sp_svg_tree_kind(const struct sp_svg_tree *t, uint32_t node)
{
	const struct sp_tree_label *label = label_of(t, node);
	if (label->kind == SP_TREE_CUT || label->kind == SP_TREE_NO_STACK)
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
	const char *name = label->kind == SP_TREE_FRAME && !label->func ? "" : sp_tree_name(t->p, &t->tree, node);
	return name[0] ? name : "[unknown]";
}
