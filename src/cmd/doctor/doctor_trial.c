/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_trial.c: runs a recipe for a moment.
 *
 * Its programs are loaded and attached on every CPU, a child of ours burns CPU time, and its stacks are examined.
 * Nothing is written, and nothing stays attached.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cmd/doctor/doctor.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "recipe/recipe.h"
#include "worker/worker.h"

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
	struct sp_workers *workers;
	struct sp_profile *profile;
	struct sp_capture *capture;
	uint32_t *cpus;
	size_t n_cpus;
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
	struct sp_workers_options one = {.n_parsers = 1};
	struct sp_capture_options o = {.recipes = {t->recipe},
				       .backend = t->backend,
				       .user_mode_only = t->user_mode_only,
				       .user = true,
				       .kernel = true,
				       .frequency_hz = TRIAL_HZ,
				       .filter = SP_TARGETS_TGID,
				       .targets = &t->target,
				       .n_targets = 1,
				       .cache = ""};
	int r = sp_workers_new(&one, &t->workers);

	if (r >= 0)
		r = sp_profile_new(&t->profile);
	if (r >= 0)
		r = sp_process_cpus_online(&t->cpus, &t->n_cpus);
	o.cpus = t->cpus;
	o.n_cpus = t->n_cpus;
	return r < 0 ? r : sp_capture_new(&o, t->profile, t->workers, &t->capture);
}

/* Until the child has had so much of a CPU, however busy the machine is. */
static int trial_sample(struct trial *t)
{
	uint64_t began_ns, give_up_ns;
	int r = sp_capture_start(t->capture);

	began_ns = child_ns(t);
	give_up_ns = sp_time_ns(CLOCK_MONOTONIC) + GIVE_UP_MS * 1000000ULL;
	while (r >= 0 && child_ns(t) - began_ns < BURN_MS * 1000000ULL && sp_time_ns(CLOCK_MONOTONIC) < give_up_ns)
		r = sp_capture_run(t->capture, STEP_MS * 1000000ULL, -1, -1);
	return r < 0 ? r : sp_capture_finish(t->capture);
}

static void trial_count(struct trial *t)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(t->profile); i++) {
		const struct sp_row *row = sp_profile_row(t->profile, i);
		struct sp_stack stack = sp_profile_stack(t->profile, row->user);

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
	sp_workers_free(t->workers);
	sp_capture_free(t->capture);
	sp_profile_free(t->profile);
	free(t->cpus);
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

void sp_doctor_recipes(struct sp_doctor *d)
{
	struct trial all = {.recipe = &sp_recipe_cpu, .backend = SP_BACKEND_BPF, .child = -1};
	struct trial own = {
	    .recipe = &sp_recipe_cpu, .backend = SP_BACKEND_PERF, .user_mode_only = !d->has_own_kernel, .child = -1};

	recipe_try(d, "recipe_cpu", "profile (recipe cpu)", &all);
	recipe_try(d, "recipe_cpu_own", "profile of own programs", &own);
}
