/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.c: the run of `soprof profile`: capture -> profile -> symbol -> filter -> view, then the summary on stderr.
 *
 * Ctrl-C and SIGTERM end the sampling, not the command: what was sampled is named and printed.
 */
#include "profile/profile.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cmd/profile_args.h"
#include "cmd/profile_parts.h"
#include "proc/cgroup.h"
#include "proc/process.h"
#include "profile/merge.h"
#include "recipe/recipe.h"
#include "symbol/symbol.h"
#include "worker/worker.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void session_done(struct sp_profile_session *s)
{
	sp_child_done(&s->child);
	sp_workers_free(s->workers); /* before the session and the profile: what is unanswered is told to them */
	sp_capture_free(s->capture);
	sp_profile_free(s->profile);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	free(s->cpus);
	sp_bad_rows_done(s);
}

/* --- options -------------------------------------------------------------------------------------------------------
 */
static int cpus_choose(struct sp_profile_session *s, struct sp_capture_options *o)
{
	const struct sp_u32_list *asked = &s->args->cpus;
	int r;

	if (asked->n) {
		o->cpus = asked->values;
		o->n_cpus = asked->n;
		return 0;
	}
	r = sp_process_cpus_online(&s->cpus, &s->n_cpus);
	o->cpus = s->cpus;
	o->n_cpus = s->n_cpus;
	return r;
}

static void targets_choose(const struct sp_profile_args *a, struct sp_capture_options *o)
{
	const struct sp_u32_list *list = a->tids.n ? &a->tids : &a->pids;

	o->targets = list->values;
	o->n_targets = list->n;
	o->filter = a->tids.n ? SP_FILTER_TID : a->pids.n || a->command ? SP_FILTER_TGID : SP_FILTER_NONE;
	o->follow = a->command != NULL;
}

static int options_make(struct sp_profile_session *s, struct sp_capture_options *o)
{
	const struct sp_profile_args *a = s->args;
	int r = 0;

	*o = (struct sp_capture_options){
	    .recipe = &sp_recipe_cpu,
	    .user = !a->kernel_only,
	    .kernel = !a->user_only,
	    .idle = a->include_idle,
	    .slices = !strcmp(a->view->name, "pprof"), /* the one view that keeps them */
	    .unwind = a->unwind,
	    .max_memory_bytes = a->max_memory_bytes,
	    .stack_entries = (uint32_t)a->stack_storage,
	    .hash_entries = (uint32_t)a->hash_storage,
	    .event = a->event->name,
	    .frequency_hz = a->frequency_hz,
	    .period = a->period,
	};
	targets_choose(a, o);
	if (a->cgroup)
		r = sp_cgroup_id(a->cgroup, &o->cgroup, &o->cgroup_level);
	return r < 0 ? r : cpus_choose(s, o);
}

/* --- names -----------------------------------------------------------------------------------------------------------
 */
struct names_wait { /* where the answer of one request goes */
	struct sp_name *names;
	size_t n;
	int r;
	bool done;
};

static void names_came(void *arg, int r, struct sp_name *names, size_t n)
{
	struct names_wait *w = arg;

	w->done = true;
	w->r = r;
	if (r < 0)
		return;
	memcpy(w->names, names, SP_MIN(n, w->n) * sizeof(*names));
	free(names);
}

static int resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct sp_profile_session *s = arg;
	struct names_wait w = {.names = names, .n = n};
	int fd = sp_capture_file_fd(s->capture, file), r;

	if (sp_profile_file(s->profile, file)->kind == SP_FILE_VDSO)
		return sp_vdso_names(offsets, n, names);
	if (fd < 0)
		return sp_fail_said(-ENOENT, "the file could not be opened");
	r = sp_workers_names(s->workers, fd, offsets, n, names_came, &w);
	while (r >= 0 && !w.done)
		r = sp_workers_wait(s->workers, 60000);
	return r < 0 ? r : w.r;
}

/* --- the run -------------------------------------------------------------------------------------------------------
 */
static int signals_take(struct sp_profile_session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, &s->old_signals))
		return sp_fail(-errno, "block signals");
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? sp_fail(-errno, "make a signal descriptor") : 0;
}

/* Every file that was seen stays open: as many as the system lets us. The command gets back what it had. */
static void files_raise(struct sp_profile_session *s)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &s->old_files))
		return;
	most = s->old_files;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

static int session_begin(struct sp_profile_session *s)
{
	struct sp_workers_options w = {0};
	struct sp_capture_options o;
	int r;

	files_raise(s);
	r = sp_workers_new(&w, &s->workers);
	if (r >= 0)
		r = signals_take(s);
	if (r >= 0)
		r = sp_profile_new(&s->profile);
	if (r >= 0)
		r = options_make(s, &o);
	if (r >= 0)
		r = sp_capture_new(&o, s->profile, s->workers, &s->capture);
	return r;
}

static int child_begin(struct sp_profile_session *s)
{
	int r;

	if (!s->args->command)
		return 0;
	r = sp_child_start(&s->child, s);
	return r < 0 ? r : sp_capture_target_add(s->capture, (uint32_t)s->child.pid, SP_TARGET_AFTER_EXEC);
}

/* On a terminal a line on stderr counts the seconds. */
static int sample_for_the_time(struct sp_profile_session *s)
{
	uint64_t all = s->args->duration_s, done;
	int r = 0;

	if (!isatty(STDERR_FILENO))
		return sp_capture_run(s->capture, all * SP_NS_PER_S, s->signal_fd, s->child.pid_fd);
	for (done = 0; !r && (!all || done < all); done++) {
		fprintf(stderr, "\rsampling: %llu", (unsigned long long)done);
		if (all)
			fprintf(stderr, " of %llu", (unsigned long long)all);
		fprintf(stderr, " s ");
		r = sp_capture_run(s->capture, SP_NS_PER_S, s->signal_fd, s->child.pid_fd);
	}
	fprintf(stderr, "\r\033[K");
	return r;
}

static int session_sample(struct sp_profile_session *s)
{
	int r = child_begin(s);

	if (r >= 0)
		r = sp_capture_start(s->capture);
	if (r >= 0)
		r = sp_child_release(&s->child);
	if (r < 0)
		return r;
	sp_header_print(s);
	r = sample_for_the_time(s);
	return r < 0 ? r : sp_capture_finish(s->capture);
}

/* A library is its build id: copies of one file (containers, chroots) become one library from here on. */
static int copies_unite(struct sp_profile_session *s)
{
	struct sp_profile *one = NULL;
	int r = sp_profile_new(&one);

	if (r >= 0)
		r = sp_profile_merge(one, s->profile);
	if (r < 0) {
		sp_profile_free(one);
		return r;
	}
	sp_profile_free(s->profile);
	s->profile = one;
	return 0;
}

static int session_show(struct sp_profile_session *s)
{
	struct sp_resolver resolver = {.arg = s, .resolve = resolve};
	int r = sp_symbol_apply(s->profile, &resolver, NULL);

	if (r >= 0)
		r = sp_bad_rows_keep(s);
	if (r >= 0)
		r = copies_unite(s);
	if (r >= 0)
		r = sp_profile_narrow(s);
	if (r >= 0)
		r = sp_profile_print(s);
	return r < 0 ? r : sp_profile_summarise(s);
}

/* The kernel's and the privileges' refusals have an exit code of their own. */
static int exit_code_of(int r)
{
	return r == -EPERM || r == -EACCES || r == -EOPNOTSUPP || r == -ENOSYS ? SP_EXIT_REFUSED : SP_EXIT_FAILED;
}

int sp_cmd_profile_run(const struct sp_profile_args *a)
{
	struct sp_profile_session s = {
	    .args = a, .signal_fd = -1, .child = {.pid = -1, .pid_fd = -1, .gate = -1, .told = -1}};
	int code = 0, r = sp_privileges_check();

	if (r >= 0)
		r = session_begin(&s);
	if (r >= 0)
		r = session_sample(&s);
	if (r >= 0)
		r = session_show(&s);
	if (r < 0)
		code = sp_cmd_error(&sp_cmd_profile, r, exit_code_of(r));
	else if (a->command)
		code = sp_child_code(&s.child);
	session_done(&s);
	return code;
}
