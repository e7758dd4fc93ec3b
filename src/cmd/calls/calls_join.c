/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls_join.c: one profile of counted calls and of samples. */
#include "cmd/calls/calls.h"
#include "cmd/sampling.h"
#include "profile/merge.h"
#include "profile/profile.h"

int sp_calls_join(struct sp_sampling *s, bool is_sampled, struct sp_profile *calls)
{
	struct sp_profile *all = NULL;
	int r = sp_profile_new(&all);

	if (r >= 0)
		r = sp_profile_add_value_type(all, "calls", "count");
	for (uint32_t i = 1; r >= 0 && i < sp_profile_n_value_types(calls); i++) {
		const struct sp_value_type *t = sp_profile_value_type(calls, i);

		r = sp_profile_add_value_type(all, sp_profile_string(calls, t->name),
					      sp_profile_string(calls, t->unit));
	}
	for (uint32_t i = 0; is_sampled && r >= 0 && i < sp_profile_n_value_types(s->profile); i++) {
		const struct sp_value_type *t = sp_profile_value_type(s->profile, i);

		r = sp_profile_add_value_type(all, sp_profile_string(s->profile, t->name),
					      sp_profile_string(s->profile, t->unit));
	}
	if (r >= 0 && is_sampled) /* first: what it is told beside its rows is the whole's */
		r = sp_profile_merge(all, s->profile);
	if (r >= 0)
		r = sp_profile_merge(all, calls);
	if (r < 0) {
		sp_profile_free(all);
		return r;
	}
	sp_profile_info(all)->default_type = sp_profile_value_type(all, 0)->name;
	sp_profile_free(s->profile);
	s->profile = all;
	return 0;
}
