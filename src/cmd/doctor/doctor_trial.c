/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_trial.c: runs recipes for a moment.
 *
 * Of cpu, the programs are loaded and attached on every CPU, a child of ours burns CPU time, and its stacks are
 * examined. The others are attached, all in one session if they work. Nothing is written, and nothing stays attached.
 */
#include "base/error.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cmd/doctor/doctor.h"
#include "cmd/profile/profile_try.h"
#include "profile/profile.h"
#include "recipe/recipe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIAL_HZ = 999, STEP_MS = 20, BURN_MS = 60, GIVE_UP_MS = 4000 };

struct trial {
	const struct sp_recipe *recipe;
	enum sp_backend_kind backend;
	bool user_mode_only;
	struct sp_trial session;
	pid_t child;
	uint32_t target; /* the child; the session keeps a pointer to it */
	int64_t n_samples, n_complete;
};

static volatile uint64_t burnt;

_Noreturn static void burn(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		burnt++;
}

static int child_start(struct trial *t)
{
	pid_t parent = getpid();

	fflush(NULL);
	t->child = fork();
	if (t->child == 0)
		burn(parent);
	t->target = (uint32_t)t->child;
	return t->child < 0 ? sp_fail(-errno, "start a process to sample") : 0;
}

static uint64_t child_ns(const struct trial *t)
{
	clockid_t clock;

	return clock_getcpuclockid(t->child, &clock) ? UINT64_MAX : sp_time_ns(clock);
}

static int trial_open(struct trial *t)
{
	return sp_trial_open(&t->session, (struct sp_capture_options){.recipes = {t->recipe},
								      .backend = t->backend,
								      .user_mode_only = t->user_mode_only,
								      .user = true,
								      .kernel = true,
								      .frequency_hz = TRIAL_HZ,
								      .filter = SP_TARGETS_TGID,
								      .targets = &t->target,
								      .n_targets = 1});
}

/* Until the child has had so much of a CPU, however busy the machine is. */
static int trial_sample(struct trial *t)
{
	uint64_t began_ns, give_up_ns;
	int r = sp_capture_start(t->session.capture);

	began_ns = child_ns(t);
	give_up_ns = sp_time_ns(CLOCK_MONOTONIC) + GIVE_UP_MS * 1000000ULL;
	while (r >= 0 && child_ns(t) - began_ns < BURN_MS * 1000000ULL && sp_time_ns(CLOCK_MONOTONIC) < give_up_ns)
		r = sp_capture_run(t->session.capture, STEP_MS * 1000000ULL, -1, -1);
	return r < 0 ? r : sp_capture_finish(t->session.capture);
}

static void trial_count(struct trial *t)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(t->session.profile); i++) {
		const struct sp_row *row = sp_profile_row(t->session.profile, i);
		struct sp_stack stack = sp_profile_stack(t->session.profile, row->user);

		t->n_samples += row->values[0];
		t->n_complete += row->user && stack.stack_class == SP_CLASS_COMPLETE ? row->values[0] : 0;
	}
}

static void trial_done(struct trial *t)
{
	if (t->child > 0) {
		kill(t->child, SIGKILL);
		waitpid(t->child, NULL, 0);
	}
	sp_trial_done(&t->session);
}

static int trial_run(struct trial *t)
{
	int r = child_start(t);

	if (r >= 0)
		r = trial_open(t);
	if (r >= 0)
		r = trial_sample(t);
	if (r >= 0)
		trial_count(t);
	return r;
}

/* libbpf's words for a refusal are many, and guesses. */
static void refused(struct sp_doctor *d, const char *key, const char *what, const struct trial *t, int r)
{
	bool by_bpf = t->backend == SP_BACKEND_BPF;
	const char *why = by_bpf && d->no_bpf ? "BPF programs are refused" : sp_error_text(r);

	sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s", why);
	if (by_bpf && d->no_bpf)
		sp_doctor_cure(d, "that of BPF programs");
	else if (strstr(why, "lockdown"))
		sp_doctor_cure(d, "boot with lockdown=integrity");
	else if (r == -EPERM || r == -EACCES)
		sp_doctor_cure(d, "%s", sp_doctor_perf_cure(d, by_bpf ? SP_DOCTOR_PERF_ALL : SP_DOCTOR_PERF_OWN_USER));
	else if (r == -EOPNOTSUPP)
		sp_doctor_cure(d, "a kernel that was tested: Linux 6.1 to 6.18 with BTF");
	sp_error_clear();
}

static void tell_whole(struct sp_doctor *d, const char *key, const char *what, const struct trial *t)
{
	bool whole = t->n_complete * 10 >= t->n_samples * 9;

	sp_doctor_add(d, key, what, whole ? SP_DOCTOR_YES : SP_DOCTOR_PARTLY,
		      "tried%s: %lld of %lld stacks of our own process are complete",
		      t->user_mode_only ? ", user mode only" : "", (long long)t->n_complete, (long long)t->n_samples);
	if (t->backend == SP_BACKEND_PERF) {
		d->can_own |= whole;
	} else {
		d->can_sample = true;
		d->can_unwind |= whole;
	}
	if (!whole)
		sp_doctor_cure(d, "that of files of all processes; which files they are: soprof profile -v");
}

static void recipe_try(struct sp_doctor *d, const char *key, const char *what, struct trial *t)
{
	int r = trial_run(t);

	if (r < 0) {
		refused(d, key, what, t, r);
	} else if (t->n_samples) {
		tell_whole(d, key, what, t);
	} else {
		sp_doctor_add(d, key, what, SP_DOCTOR_PARTLY, "it began, but no sample of our own process came");
		sp_doctor_cure(d, "in a container: its host's pid namespace (docker run --pid=host)");
	}
	trial_done(t);
}

/* --- the others --- */
/* Without BPF perf_event_open serves, for what is a perf event. */
static void other_refused(struct sp_doctor *d, size_t i, const char *key, const char *what, int r)
{
	struct trial by_bpf = {.backend = SP_BACKEND_BPF};

	if (!sp_recipe_has(sp_recipe_at(i), SP_AT_RAW) && d->can_own) {
		sp_doctor_add(d, key, what, SP_DOCTOR_PARTLY, "of own programs, without BPF, as -e cpu");
		sp_doctor_cure(d, "that of the recipe cpu");
		sp_error_clear();
		return;
	}
	refused(d, key, what, &by_bpf, r);
}

/* They share the kernel half with cpu, whose stacks have been looked at: it is enough that they are attached. */
static void others_try(struct sp_doctor *d)
{
	static char keys[SP_MAX_RECIPES][32], whats[SP_MAX_RECIPES][32]; /* a check keeps pointers to them */
	struct sp_recipe_trial trials[SP_MAX_RECIPES] = {0};

	if (!d->no_bpf)
		sp_recipe_trials(trials);
	for (size_t i = 0; i < SP_MAX_RECIPES && sp_recipe_at(i); i++) {
		int r = d->no_bpf ? -EPERM : trials[i].result;

		if (sp_recipe_at(i) == &sp_recipe_cpu)
			continue;
		snprintf(keys[i], sizeof(keys[i]), "recipe_%s", sp_recipe_at(i)->name);
		snprintf(whats[i], sizeof(whats[i]), "profile -e %s", sp_recipe_at(i)->name);
		if (trials[i].why)
			sp_fail_said(r, "%s", trials[i].why);
		if (r)
			other_refused(d, i, keys[i], whats[i], r);
		else
			sp_doctor_add(d, keys[i], whats[i], SP_DOCTOR_YES, "tried: it could be attached");
	}
	sp_recipe_trials_done(trials);
}

void sp_doctor_recipes(struct sp_doctor *d)
{
	struct trial all = {.recipe = &sp_recipe_cpu, .backend = SP_BACKEND_BPF, .child = -1};
	struct trial own = {
	    .recipe = &sp_recipe_cpu, .backend = SP_BACKEND_PERF, .user_mode_only = !d->has_own_kernel, .child = -1};

	recipe_try(d, "recipe_cpu", "profile (recipe cpu)", &all);
	recipe_try(d, "recipe_cpu_own", "profile of own programs", &own);
	others_try(d);
}
