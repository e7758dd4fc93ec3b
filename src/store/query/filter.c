/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/filter.h"
#include "base/mem.h"
#include "profile/filter.h"

static bool is_users(const struct sp_profile *p, const struct sp_row *row, void *uid)
{
	return sp_profile_process(p, sp_profile_key(p, row->key)->process)->uid == *(const uint32_t *)uid;
}

static void replace(struct sp_profile **p, struct sp_profile *kept)
{
	if (!kept)
		return;
	sp_profile_free(*p);
	*p = kept;
}

int sp_store_filter(const struct sp_store_query *q, struct sp_profile **p)
{
	const struct {
		enum sp_filter_by by;
		const char *glob;
	} filters[] = {{SP_FILTER_LIBRARY, q->library},
		       {SP_FILTER_FUNCTION, q->function},
		       {SP_FILTER_PROCESS, q->process},
		       {SP_FILTER_CGROUP, q->cgroup}};
	uint32_t uid = q->uid;
	struct sp_profile *kept = NULL;
	struct sp_filter_result result;
	int r = q->all_users ? 0 : sp_profile_filter(*p, is_users, &uid, &kept, &result);

	replace(p, kept);
	for (size_t i = 0; r >= 0 && i < SP_COUNT(filters); i++) {
		struct sp_glob_filter f = {.by = filters[i].by, .globs = &filters[i].glob, .n_globs = 1};

		kept = NULL;
		if (filters[i].glob)
			r = sp_profile_filter_by(*p, &f, &kept, &result);
		replace(p, kept);
	}
	return r;
}
