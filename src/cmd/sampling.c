/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/sampling.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "cmd/cmd.h"
#include "cmd/grid.h"
#include "cmd/guard_tell.h"
#include "proc/process.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "worker/broker.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

int sp_pids_check(const struct sp_u32_list *pids)
{
	for (size_t i = 0; i < pids->n; i++)
		if (kill((pid_t)pids->values[i], 0) && errno == ESRCH)
			return sp_fail_said(-ESRCH, "-p: there is no process %u", pids->values[i]);
	return 0;
}

int sp_signals_take(int more, sigset_t *ret_old, int *ret_fd)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (more)
		sigaddset(&set, more);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, ret_old))
		return sp_fail(-errno, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return sp_fail(-errno, "make a signal descriptor");
	*ret_fd = fd;
	return 0;
}

enum { LEAST_FILES = 64, WANTED_FILES = 4096 };
static struct rlimit files_at_start;

/* Every file that was seen stays open: as many as the system lets us. */
int sp_files_raise(void)
{
	struct rlimit most;

	if (!files_at_start.rlim_max && getrlimit(RLIMIT_NOFILE, &files_at_start))
		return sp_fail(-errno, "ask for the limit of open files");
	most.rlim_cur = most.rlim_max = SP_MAX(files_at_start.rlim_max, (rlim_t)WANTED_FILES);
	if (!setrlimit(RLIMIT_NOFILE, &most)) /* root may have more than he was given */
		return 0;
	most.rlim_cur = most.rlim_max = files_at_start.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
	if (most.rlim_cur < LEAST_FILES)
		return sp_fail_said(-EMFILE, "the limit of open files is %llu (ulimit -Hn); soprof needs %d",
				    (unsigned long long)most.rlim_cur, LEAST_FILES);
	return 0;
}

void sp_files_back(void)
{
	if (files_at_start.rlim_max)
		setrlimit(RLIMIT_NOFILE, &files_at_start);
}

int sp_sampling_begin(struct sp_sampling *s)
{
	struct sp_workers_options w = {0};
	int r = sp_files_raise();

	if (r >= 0 && sp_privileges())
		r = sp_broker_new(&s->broker);
	if (r < 0)
		return r;
	w.broker = s->broker;
	r = sp_workers_new(&w, &s->workers);
	if (r >= 0)
		r = sp_signals_take(0, &s->old_signals, &s->signal_fd);
	return r < 0 ? r : sp_profile_new(&s->profile);
}

int sp_sampling_drop_privileges(struct sp_sampling *s)
{
	if (!s->broker)
		return 0;
	s->kallsyms = fopen("/proc/kallsyms", "re");
	return sp_privileges_drop(s->broker);
}

int sp_sampling_open(struct sp_sampling *s, struct sp_capture_options *o)
{
	int r = 0;

	o->broker = s->broker;
	if (!o->n_cpus) {
		r = sp_process_cpus_online(&s->cpus, &s->n_cpus);
		o->cpus = s->cpus;
		o->n_cpus = s->n_cpus;
		o->all_cpus = true;
	}
	return r < 0 ? r : sp_capture_new(o, s->profile, s->workers, &s->capture);
}

int sp_sampling_again(struct sp_sampling *s)
{
	sp_profile_free(sp_take_ptr(s->profile));
	return sp_profile_new(&s->profile);
}

/* "sampling: 3 of 10 s; faults: one of 64 (--max-overhead)", as far as there is room for it in a line. */
static void progress_put(const struct sp_sampling *s, uint64_t done, uint64_t seconds, unsigned width)
{
	char line[256], guard[128] = "";
	int n = snprintf(line, sizeof(line), "sampling: %llu", (unsigned long long)done);

	if (seconds)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " of %llu", (unsigned long long)seconds);
	n += snprintf(line + n, sizeof(line) - (size_t)n, " s");
	if (s->recipes)
		sp_guard_now(s->capture, s->recipes, guard, sizeof(guard));
	if (*guard && (!width || n + strlen("; ") + strlen(guard) < width))
		snprintf(line + n, sizeof(line) - (size_t)n, "; %s", guard);
	fputs("\r\033[K", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, line);
	fputc(' ', stderr);
}

int sp_sampling_run(struct sp_sampling *s, uint64_t seconds, int child_fd)
{
	unsigned width = sp_terminal_width(stderr, NULL);
	uint64_t done;
	int r = 0;

	if (!sp_terminal_has_escapes(stderr))
		return sp_capture_run(s->capture, seconds * SP_NS_PER_S, s->signal_fd, child_fd);
	for (done = 0; !r && (!seconds || done < seconds); done++) {
		progress_put(s, done, seconds, width);
		r = sp_capture_run(s->capture, SP_NS_PER_S, s->signal_fd, child_fd);
	}
	fprintf(stderr, "\r\033[K");
	return r;
}

int sp_sampling_unite(struct sp_sampling *s)
{
	struct sp_profile *one = NULL;
	int r = sp_profile_new(&one);

	if (r >= 0)
		r = sp_profile_merge(one, s->profile);
	if (r < 0) {
		sp_profile_free(one);
		return r;
	}
	sp_capture_let_go(s->capture);
	sp_profile_free(s->profile);
	s->profile = one;
	return 0;
}

int sp_sampling_signals_back(struct sp_sampling *s)
{
	struct signalfd_siginfo taken;

	while (read(s->signal_fd, &taken, sizeof(taken)) > 0)
		;
	return sigprocmask(SIG_SETMASK, &s->old_signals, NULL) ? sp_fail(-errno, "unblock signals") : 0;
}

void sp_sampling_done(struct sp_sampling *s)
{
	sp_workers_free(s->workers); /* before the broker, the session and the profile: pending callbacks use these */
	sp_capture_free(s->capture);
	sp_profile_free(s->profile);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	if (s->kallsyms)
		fclose(s->kallsyms);
	sp_broker_free(s->broker);
	free(s->cpus);
}

int sp_sampling_exit_code(int r)
{
	return r == -EPERM || r == -EACCES || r == -EOPNOTSUPP || r == -ENOSYS ? SP_EXIT_REFUSED : SP_EXIT_FAILED;
}
