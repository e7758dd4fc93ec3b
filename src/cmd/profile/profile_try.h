/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_try.h: whether recipes work here, by loading and attaching them for a moment.
 *
 * As `soprof profile` does by BPF, but nothing is sampled: our own process alone is wanted, and no file is looked for.
 * Nothing stays attached. 0, or the negative errno of what was refused, with sp_error_text(). Main thread only.
 */
#ifndef SP_CMD_PROFILE_PROFILE_TRY_H
#define SP_CMD_PROFILE_PROFILE_TRY_H

#include "recipe/recipe.h"

struct sp_capture_options;

/* A short session. Start with zeros; free with sp_trial_done(), also after a failure. */
struct sp_trial {
	struct sp_workers *workers;
	struct sp_profile *profile;
	struct sp_capture *capture;
	uint32_t *cpus;
	size_t n_cpus;
};
/* Opens it with one parser and no cache, on all CPUs: o is without these. It is not started. */
int sp_trial_open(struct sp_trial *t, struct sp_capture_options o);
void sp_trial_done(struct sp_trial *t);

/* What became of each recipe of the table, sp_recipe_at(i). */
struct sp_recipe_trial {
	int result; /* 0, or a negative errno */
	char *why;  /* NULL: it works, or memory is short */
};
/* Each alone only where they do not all work together. Free the words by sp_recipe_trials_done(). */
void sp_recipe_trials(struct sp_recipe_trial ret_trials[SP_MAX_RECIPES]);
void sp_recipe_trials_done(struct sp_recipe_trial trials[SP_MAX_RECIPES]);

#endif
