/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/leaves.h"

#include "base/mem.h"
#include "profile/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct leaves {
	const char *label;
	uint32_t file;   /* in the new profile; 0 = not made yet */
	uint32_t *frame; /* by the label's text in the old one; 0 = not made yet */
	size_t n_frame;
};

static const struct sp_label *leaf_label(const struct sp_profile *p, const struct sp_row *row, const char *name)
{
	size_t n;
	const struct sp_label *labels = sp_profile_labels(p, sp_profile_key(p, row->key)->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (labels[i].word != 0 && strcmp(sp_profile_string(p, labels[i].name), name) == 0)
			return &labels[i];
	return NULL;
}

/* By which files of this kind differ: other labels, other files, and none of those that readers make. */
static uint64_t leaves_tag(const char *label)
{
	uint64_t hash = 14695981039346656037ULL; /* FNV-1a */

	while (*label)
		hash = (hash ^ (uint8_t)*label++) * 1099511628211ULL;
	return hash | 1ULL << 63;
}

static int leaves_file_make(struct sp_profile *into, struct leaves *l)
{
	struct sp_file file = {.kind = SP_FILE_WORDS, .tag = leaves_tag(l->label)};
	SP_FREE char *text = NULL;
	int64_t number;

	if (l->file)
		return 0;
	if (asprintf(&text, "[%s]", l->label) < 0)
		return -ENOMEM;
	number = sp_profile_add_string(into, text);
	file.name = (uint32_t)SP_MAX(number, 0);
	if (number >= 0)
		number = sp_profile_add_file(into, &file);
	l->file = (uint32_t)SP_MAX(number, 0);
	return (int)SP_MIN(number, 0);
}

static int64_t leaf_make(struct sp_profile *into, const char *text, struct leaves *l)
{
	int r = leaves_file_make(into, l);
	int64_t name = r < 0 ? r : sp_profile_add_string(into, text);
	struct sp_func func = {.name = (uint32_t)SP_MAX(name, 0), .file = l->file};
	int64_t number = name < 0 ? name : sp_profile_add_func(into, &func);
	struct sp_frame frame = {.file = l->file, .func = (uint32_t)SP_MAX(number, 0)};

	return number < 0 ? number : sp_profile_add_frame_variant(into, &frame, false);
}

static int64_t leaves_take(struct sp_profile *into, const struct sp_profile *from, const struct sp_row *row, void *arg)
{
	struct leaves *l = arg;
	const struct sp_label *label = leaf_label(from, row, l->label);
	int64_t number;

	if (!label)
		return 0;
	if (sp_grow(&l->frame, &l->n_frame, (size_t)label->word + 1, sizeof(*l->frame)) < 0)
		return -ENOMEM;
	if (l->frame[label->word])
		return l->frame[label->word];
	number = leaf_make(into, sp_profile_string(from, label->word), l);
	l->frame[label->word] = (uint32_t)SP_MAX(number, 0);
	return number;
}

int sp_profile_leaves(const struct sp_profile *p, const char *label, bool on_user, struct sp_profile **ret_profile)
{
	struct leaves l = {.label = label};
	struct sp_profile *into = NULL;
	int r = sp_profile_new(&into);

	if (r >= 0)
		r = sp_profile_merge_leaves(into, p,
					    &(struct sp_leaves){.leaf = leaves_take, .arg = &l, .on_user = on_user});
	free(l.frame);
	if (r < 0)
		sp_profile_free(into);
	else
		*ret_profile = into;
	return r;
}
