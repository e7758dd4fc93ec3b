/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "profile/merge.h"

/* The caller's question, with its answers counted. */
struct counted {
	bool (*wants)(const struct sp_profile *p, const struct sp_row *row, void *arg);
	void *arg;
	struct sp_filter_result result;
};

static bool count_and_pass(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	struct counted *c = arg;
	bool wanted = c->wants(p, row, c->arg);
	int64_t *sums = wanted ? c->result.kept : c->result.left_out;

	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++)
		if (__builtin_add_overflow(sums[i], row->values[i], &sums[i]))
			sums[i] = row->values[i] > 0 ? INT64_MAX : INT64_MIN;
	if (wanted)
		c->result.n_kept++;
	else
		c->result.n_left_out++;
	return wanted;
}

int sp_profile_filter(const struct sp_profile *p,
		      bool (*wants)(const struct sp_profile *p, const struct sp_row *row, void *arg), void *arg,
		      struct sp_profile **ret_profile, struct sp_filter_result *ret_result)
{
	struct counted counted = {.wants = wants, .arg = arg};
	struct sp_profile *filtered;
	int r = sp_profile_new(&filtered);

	if (r < 0)
		return r;
	r = sp_profile_merge_some(filtered, p, count_and_pass, &counted);
	if (r < 0) {
		sp_profile_free(filtered);
		return r;
	}
	*ret_profile = filtered;
	*ret_result = counted.result;
	return 0;
}

/* A name is a glob that means itself, too: "[kernel]" is not a set of letters. */
static bool means(const char *glob, const char *name)
{
	return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

static bool file_matches(const struct sp_profile *p, uint32_t number, const char *glob)
{
	const struct sp_file *file = sp_profile_file(p, number);
	const char *path = sp_profile_string(p, file->path), *slash = strrchr(path, '/');

	if (number == 0)
		return false;
	return means(glob, sp_profile_string(p, file->name)) || means(glob, path) ||
	       (slash != NULL && means(glob, slash + 1));
}

/* Which frames lie in a file that matches; NULL when memory is short. */
static bool *matching_frames(const struct sp_profile *p, const char *glob)
{
	uint32_t n_files = sp_profile_n_files(p), n_frames = sp_profile_n_frames(p);
	SP_FREE bool *files = calloc(n_files, sizeof(*files));
	bool *frames = calloc(n_frames, sizeof(*frames));

	if (files == NULL || frames == NULL) {
		free(frames);
		return NULL;
	}
	for (uint32_t i = 0; i < n_files; i++)
		files[i] = file_matches(p, i, glob);
	for (uint32_t i = 0; i < n_frames; i++) {
		const struct sp_frame *frame = sp_profile_frame(p, i);
		frames[i] = files[frame->file] || files[sp_profile_func(p, frame->func)->file];
	}
	return frames;
}

static bool stack_matches(const struct sp_profile *p, uint32_t number, const bool *frames)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	for (uint32_t i = 0; i < stack.n_frames; i++)
		if (frames[stack.frames[i]])
			return true;
	return false;
}

static bool row_has_frame(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	return stack_matches(p, row->user, arg) || stack_matches(p, row->kernel, arg);
}

int sp_profile_filter_library(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			      struct sp_filter_result *ret_result)
{
	SP_FREE bool *frames = matching_frames(p, glob);

	if (frames == NULL)
		return -ENOMEM;
	return sp_profile_filter(p, row_has_frame, frames, ret_profile, ret_result);
}

static bool row_has_key(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	(void)p;
	return ((const bool *)arg)[row->key];
}

int sp_profile_filter_comm(const struct sp_profile *p, const char *glob, struct sp_profile **ret_profile,
			   struct sp_filter_result *ret_result)
{
	uint32_t n = sp_profile_n_keys(p);
	SP_FREE bool *keys = calloc(n, sizeof(*keys));

	if (keys == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = means(glob, sp_profile_string(p, sp_profile_key(p, i)->comm));
	return sp_profile_filter(p, row_has_key, keys, ret_profile, ret_result);
}
