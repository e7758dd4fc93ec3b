/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/profile/profile_try.h"
#include "base/error.h"
#include "capture/capture.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRY_HZ = 49 };

int sp_trial_open(struct sp_trial *t, struct sp_capture_options o)
{
	struct sp_workers_options one = {.n_parsers = 1};
	int r = sp_workers_new(&one, &t->workers);

	if (r >= 0)
		r = sp_profile_new(&t->profile);
	if (r >= 0)
		r = sp_process_cpus_online(&t->cpus, &t->n_cpus);
	o.cpus = t->cpus;
	o.n_cpus = t->n_cpus;
	o.cache = "";
	return r < 0 ? r : sp_capture_new(&o, t->profile, t->workers, &t->capture);
}

void sp_trial_done(struct sp_trial *t)
{
	sp_workers_free(t->workers);
	sp_capture_free(t->capture);
	sp_profile_free(t->profile);
	free(t->cpus);
}

/* All in one session, which takes no longer than each of them. NULL after the last; at most SP_MAX_RECIPES. */
static int recipes_try(const struct sp_recipe *const *recipes)
{
	const uint32_t self = (uint32_t)getpid();
	struct sp_capture_options o = {.backend = SP_BACKEND_BPF,
				       .user = true,
				       .kernel = true,
				       .frequency_hz = TRY_HZ,
				       .filter = SP_TARGETS_TGID,
				       .targets = &self,
				       .n_targets = 1,
				       .no_seek = true};
	struct sp_trial t = {0};
	int r;

	for (size_t i = 0; i < SP_MAX_RECIPES && recipes[i]; i++)
		o.recipes[i] = recipes[i];
	r = sp_trial_open(&t, o);
	if (r >= 0)
		r = sp_capture_start(t.capture);
	sp_trial_done(&t);
	return r < 0 ? r : 0;
}

void sp_recipe_trials(struct sp_recipe_trial ret_trials[SP_MAX_RECIPES])
{
	const struct sp_recipe *all[SP_MAX_RECIPES + 1] = {0};

	memset(ret_trials, 0, SP_MAX_RECIPES * sizeof(*ret_trials));
	for (size_t i = 0; i < SP_MAX_RECIPES && sp_recipe_at(i); i++)
		all[i] = sp_recipe_at(i);
	if (!recipes_try(all))
		return;
	for (size_t i = 0; all[i]; i++) {
		sp_error_clear();
		ret_trials[i].result = recipes_try((const struct sp_recipe *[]){all[i], NULL});
		if (ret_trials[i].result)
			ret_trials[i].why = strdup(sp_error_text(ret_trials[i].result));
	}
	sp_error_clear();
}

void sp_recipe_trials_done(struct sp_recipe_trial trials[SP_MAX_RECIPES])
{
	for (size_t i = 0; i < SP_MAX_RECIPES; i++)
		free(trials[i].why);
}
