/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/unmatched.h"

#include "base/error.h"
#include "base/suggest.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

static void libraries_offer(const struct sp_profile *p, struct sp_suggest *near)
{
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		sp_suggest_offer(near, sp_profile_string(p, sp_profile_file(p, i)->name));
}

static void functions_offer(const struct sp_profile *p, struct sp_suggest *near)
{
	for (uint32_t i = 1; i < sp_profile_n_funcs(p); i++)
		sp_suggest_offer(near, sp_profile_string(p, sp_profile_func(p, i)->name));
}

static void processes_offer(const struct sp_profile *p, struct sp_suggest *near)
{
	for (uint32_t i = 1; i < sp_profile_n_processes(p); i++)
		sp_suggest_offer(near, sp_profile_string(p, sp_profile_process(p, i)->comm));
}

static void threads_offer(const struct sp_profile *p, struct sp_suggest *near)
{
	for (uint32_t i = 1; i < sp_profile_n_keys(p); i++)
		sp_suggest_offer(near, sp_profile_string(p, sp_profile_key(p, i)->comm));
	processes_offer(p, near);
}

int sp_unmatched(const struct sp_profile *p, const char *option, const struct sp_glob_filter *filter)
{
	static const struct {
		const char *what;
		void (*offer)(const struct sp_profile *p, struct sp_suggest *near);
	} names[] = {
	    [SP_FILTER_LIBRARY] = {"library", libraries_offer},
	    [SP_FILTER_FUNCTION] = {"function", functions_offer},
	    [SP_FILTER_PROCESS] = {"process", processes_offer},
	    [SP_FILTER_COMM] = {"thread", threads_offer},
	    [SP_FILTER_CGROUP] = {"cgroup", NULL},
	    [SP_FILTER_ANY] = {"name", NULL},
	    [SP_FILTER_LABEL] = {"label", NULL},
	};
	struct sp_suggest near = {.word = filter->globs[0]};

	if (names[filter->by].offer)
		names[filter->by].offer(p, &near);
	if (near.best && !strcmp(near.best, near.word))
		return sp_fail_said(-ENOENT, "%s: the %s '%s' is known, but in none of the samples that are chosen",
				    option, names[filter->by].what, near.word);
	return sp_fail_said(-ENOENT, "%s: no sample is of a %s '%s'%s%s%s", option, names[filter->by].what, near.word,
			    near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
}

int sp_narrow_matched(struct sp_profile **p, const char *option, const struct sp_glob_filter *filter,
		      int64_t *ret_left_out)
{
	struct sp_filter_result result;
	struct sp_profile *kept = NULL;
	int r = sp_profile_filter_by(*p, filter, &kept, &result);

	if (r < 0)
		return r;
	if (!result.n_kept && result.n_left_out) {
		sp_profile_free(kept);
		return sp_unmatched(*p, option, filter);
	}
	sp_profile_free(*p);
	*p = kept;
	if (ret_left_out)
		*ret_left_out = result.left_out[0];
	return 0;
}
