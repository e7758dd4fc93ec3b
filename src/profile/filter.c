/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/filter.h"

#include "base/mem.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "profile/merge.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller's predicate, and the sums of what it kept and left out. */
struct counting_predicate {
	bool (*wants)(const struct sp_profile *p, const struct sp_row *row, void *arg);
	void *arg;
	struct sp_filter_result result;
};

static bool predicate_count(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	struct counting_predicate *c = arg;
	bool wanted = c->wants(p, row, c->arg);
	int64_t *sums = wanted ? c->result.kept : c->result.left_out;

	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++)
		sp_saturating_add(&sums[i], row->values[i]);
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
	struct counting_predicate counted = {.wants = wants, .arg = arg};
	struct sp_profile *filtered;
	int r = sp_profile_new(&filtered);

	if (r < 0)
		return r;
	r = sp_profile_merge_some(filtered, p, predicate_count, &counted);
	if (r < 0) {
		sp_profile_free(filtered);
		return r;
	}
	*ret_profile = filtered;
	*ret_result = counted.result;
	return 0;
}

/* A glob also matches itself literally: "[kernel]" is a name, not a set of letters. */
bool sp_glob_matches(const char *glob, const char *name)
{
	return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

bool sp_glob_matches_file(const char *glob, const char *name, const char *path)
{
	const char *slash = strrchr(path, '/');

	return sp_glob_matches(glob, name) || sp_glob_matches(glob, path) ||
	       (slash && sp_glob_matches(glob, slash + 1));
}

static bool file_matches(const struct sp_profile *p, uint32_t number, const char *glob)
{
	const struct sp_file *file = sp_profile_file(p, number);

	return number != 0 &&
	       sp_glob_matches_file(glob, sp_profile_string(p, file->name), sp_profile_string(p, file->path));
}

static bool func_matches(const struct sp_profile *p, uint32_t number, const char *glob)
{
	const struct sp_func *func = sp_profile_func(p, number);

	if (number == 0)
		return false;
	return sp_glob_matches(glob, sp_profile_string(p, func->name)) ||
	       sp_glob_matches(glob, sp_profile_string(p, func->linkage_name));
}

/* The glob may match any parent of the cgroup. */
bool sp_glob_matches_cgroup(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');
	char above[4096]; /* PATH_MAX: the kernel's paths are not longer */

	if (sp_glob_matches(glob, path) || (slash && slash[1] != '\0' && sp_glob_matches(glob, slash + 1)))
		return true;
	(void)snprintf(above, sizeof(above), "%s", path);
	for (char *end; (end = strrchr(above, '/')) && end != above;) {
		*end = '\0';
		if (sp_glob_matches(glob, above))
			return true;
	}
	return false;
}

bool sp_profile_process_matches(const struct sp_profile *p, uint32_t number, const char *glob)
{
	const struct sp_process *process = sp_profile_process(p, number);
	char pid[16];

	if (number == 0)
		return false;
	(void)snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
	return sp_glob_matches(glob, sp_profile_string(p, process->comm)) || sp_glob_matches(glob, pid) ||
	       file_matches(p, process->exe, glob);
}

static bool value_matches(const struct sp_profile *p, const struct sp_label *label, const char *glob)
{
	const char *word = sp_profile_string(p, label->word), *unit = sp_profile_string(p, label->unit);
	char number[32];
	SP_FREE char *both = NULL;

	if (*word != '\0')
		return sp_glob_matches(glob, word);
	(void)snprintf(number, sizeof(number), "%" PRId64, label->number);
	if (sp_glob_matches(glob, number) || *unit == '\0')
		return sp_glob_matches(glob, number);
	return asprintf(&both, "%s %s", number, unit) > 0 && sp_glob_matches(glob, both);
}

static bool label_matches(const struct sp_profile *p, uint32_t set, const char *glob)
{
	const char *equals = strchr(glob, '=');
	size_t n, len = equals ? (size_t)(equals - glob) : strlen(glob);
	const struct sp_label *labels = sp_profile_labels(p, set, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = sp_profile_string(p, labels[i].name);
		if (strncmp(name, glob, len) == 0 && name[len] == '\0' &&
		    (!equals || value_matches(p, &labels[i], equals + 1)))
			return true;
	}
	return false;
}

static bool key_matches(const struct sp_profile *p, enum sp_filter_by by, uint32_t number, const char *glob)
{
	const struct sp_key *key = sp_profile_key(p, number);
	const struct sp_process *process = sp_profile_process(p, key->process);
	bool any = by == SP_FILTER_ANY;

	if (by == SP_FILTER_LABEL)
		return label_matches(p, key->labels, glob);
	return ((any || by == SP_FILTER_PROCESS) && sp_profile_process_matches(p, key->process, glob)) ||
	       ((any || by == SP_FILTER_COMM) && sp_glob_matches(glob, sp_profile_string(p, key->comm))) ||
	       ((any || by == SP_FILTER_CGROUP) &&
		sp_glob_matches_cgroup(glob, sp_profile_string(p, process->cgroup_path)));
}

/* --- matches by number of frame and key: computed once, however many rows there are --- */
/* Adds the frames that match one more glob. */
static int frames_matching_add(const struct sp_profile *p, enum sp_filter_by by, const char *glob, bool *frames)
{
	uint32_t n_files = sp_profile_n_files(p), n_funcs = sp_profile_n_funcs(p);
	SP_FREE bool *files = calloc(n_files, sizeof(*files));
	SP_FREE bool *funcs = calloc(n_funcs, sizeof(*funcs));

	if (!files || !funcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_files && by != SP_FILTER_FUNCTION; i++)
		files[i] = file_matches(p, i, glob);
	for (uint32_t i = 0; i < n_funcs; i++)
		funcs[i] = files[sp_profile_func(p, i)->file] || (by != SP_FILTER_LIBRARY && func_matches(p, i, glob));
	for (uint32_t i = 0; i < sp_profile_n_frames(p); i++) {
		const struct sp_frame *frame = sp_profile_frame(p, i);
		frames[i] |= files[frame->file] || funcs[frame->func];
	}
	return 0;
}

bool *sp_profile_frames_matching(const struct sp_profile *p, enum sp_filter_by by, const char *glob)
{
	bool *frames = calloc(sp_profile_n_frames(p), sizeof(*frames));

	if (frames && frames_matching_add(p, by, glob, frames) < 0) {
		free(frames);
		return NULL;
	}
	return frames;
}

struct filter_marks {
	bool *frames, *keys; /* by number */
	bool exclude;
};

/* Who woke the thread does not choose its samples. */
static bool stack_matches(const struct sp_profile *p, uint32_t number, const bool *frames)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	for (uint32_t i = sp_profile_n_beside(p, &stack); i < stack.n_frames; i++)
		if (frames[stack.frames[i]])
			return true;
	return false;
}

static bool row_passes(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct filter_marks *m = arg;
	bool matches =
	    m->keys[row->key] || stack_matches(p, row->user, m->frames) || stack_matches(p, row->kernel, m->frames);

	return matches != m->exclude;
}

static int filter_marks_make(const struct sp_profile *p, const struct sp_glob_filter *f, struct filter_marks *m)
{
	bool by_frame = f->by == SP_FILTER_LIBRARY || f->by == SP_FILTER_FUNCTION;
	int r = 0;

	for (size_t g = 0; g < f->n_globs && r == 0; g++) {
		for (uint32_t i = 0; i < sp_profile_n_keys(p) && !by_frame; i++)
			m->keys[i] |= key_matches(p, f->by, i, f->globs[g]);
		if (by_frame || f->by == SP_FILTER_ANY)
			r = frames_matching_add(p, f->by, f->globs[g], m->frames);
	}
	return r;
}

int sp_profile_filter_by(const struct sp_profile *p, const struct sp_glob_filter *filter,
			 struct sp_profile **ret_profile, struct sp_filter_result *ret_result)
{
	SP_FREE bool *frames = calloc(sp_profile_n_frames(p), sizeof(*frames));
	SP_FREE bool *keys = calloc(sp_profile_n_keys(p), sizeof(*keys));
	struct filter_marks m = {.frames = frames, .keys = keys, .exclude = filter->exclude};

	if (!frames || !keys)
		return -ENOMEM;
	int r = filter_marks_make(p, filter, &m);
	return r < 0 ? r : sp_profile_filter(p, row_passes, &m, ret_profile, ret_result);
}
