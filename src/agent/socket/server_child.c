/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_child.c: starts and ends the processes that answer requests: this program, executed again.
 *
 * They are executed, not forked: the agent's memory may hold other users' rows, and SQLite forbids to use connections
 * after fork(2). Their input is a memory file, with the current window as pprof, which is written and read anyway.
 */
#include "agent/agent.h"
#include "agent/exec/program.h"
#include "agent/log.h"
#include "agent/socket/server_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "view/view.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CURRENT_SPAN_S = 60 }; /* older ranges cannot contain the current window */

/* --- the current window --- */
static int write_current(struct sp_server *s, const char *source, const struct sp_profile *p,
			 const struct sp_store_window *w)
{
	const struct sp_view *view = sp_view_by_name("pprof");
	struct sp_view_options o = {.value = sp_profile_default_value(p)};
	FILE *out = open_memstream(&s->current, &s->current_bytes);
	int r;

	if (!out)
		return -ENOMEM;
	sp_line_put(out, "current", source);
	sp_line_put_number(out, "wall", w->wall_ns);
	sp_line_put_number(out, "duration", w->duration_ns);
	sp_line_put_number(out, "lost", w->n_lost);
	fputc('\n', out);
	r = view ? view->write(p, &o, out) : -ENOSYS;
	return fclose(out) ? -ENOMEM : r;
}

bool sp_server_current_is_fresh(const struct sp_server *s, const struct sp_client *c)
{
	return s->current_ns && sp_time_ns(CLOCK_MONOTONIC) - s->current_ns < SP_NS_PER_S &&
	       !strcmp(s->current_source, c->source);
}

static void drop_current(struct sp_server *s)
{
	free(sp_take_ptr(s->current));
	s->current_bytes = 0;
}

static void take_current(struct sp_server *s, int r, const struct sp_profile *p, const struct sp_store_window *w)
{
	if (r >= 0)
		r = write_current(s, s->current_source, p, w);
	s->is_current_asked = false;
	s->current_ns = sp_time_ns(CLOCK_MONOTONIC);
	if (r < 0)
		drop_current(s);
	/* EAGAIN: the owner is busy with the window before */
	if (r < 0 && r != -ENOENT && r != -EAGAIN)
		sp_log(SP_LOG_WARNING, "the window that is not stored yet cannot be shown: %s", sp_error_text(r));
	sp_error_clear();
}

static void current_came(void *server, int r, const struct sp_profile *p, const struct sp_store_window *w)
{
	take_current(server, r, p, w);
	sp_server_queries_start(server);
}

void sp_server_current_ask(struct sp_server *s, const char *source)
{
	const struct sp_agent_asked asked = {.came = current_came, .arg = s};
	int r;

	drop_current(s);
	snprintf(s->current_source, sizeof(s->current_source), "%s", source);
	s->is_current_asked = true;
	r = s->owner.current(s->owner.arg, s->current_source, &asked);
	if (r < 0)
		take_current(s, r, NULL, NULL);
}

void sp_server_set_current(const struct sp_server *s, const struct sp_request *q, struct sp_client *c)
{
	const char *source = q->query.source ? q->query.source : "cpu";

	c->wants_current = (q->what == SP_ASK_QUERY || q->what == SP_ASK_TOTALS) && !q->query.n_slices &&
			   q->query.resolution <= SP_RES_10S && strlen(source) < sizeof(c->source) &&
			   q->query.to_ns + CURRENT_SPAN_S * SP_NS_PER_S >= sp_time_ns(CLOCK_REALTIME);
	c->wants_current = s->owner.current && (c->wants_current || (q->what == SP_ASK_API && q->wants_current));
	snprintf(c->source, sizeof(c->source), "%s", c->wants_current ? source : "");
}

/* --- the input --- */
struct child_input {
	struct sp_server *server;
	const struct sp_client *client;
};

static int write_child_input(void *arg, FILE *out)
{
	const struct child_input *q = arg;
	struct sp_server *s = q->server;
	const struct sp_client *c = q->client;

	if (s->owner.place)
		fputs(s->owner.place, out);
	else
		sp_line_put(out, "store", s->store);
	if (!c->sees_all)
		sp_line_put_number(out, "uid", c->uid);
	sp_line_put_number(out, "timeout", s->query_timeout_ns);
	sp_line_put_number(out, "memory", s->query_memory_bytes);
	fprintf(out, "\n%s\n", c->text);
	if (c->wants_current && s->current && !strcmp(s->current_source, c->source))
		fwrite(s->current, 1, s->current_bytes, out);
	return 0;
}

/* --- the process --- */
int sp_server_spawn(int input, int output, int self, pid_t *ret_pid)
{
	char path[64], *argv[] = {"soprof", SP_ANSWER_ARGUMENT, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t a;
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self);
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&a);
	if (!r) {
		r = sp_program_attributes(&a) || posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) ||
			    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
			? ENOMEM
			: posix_spawn(ret_pid, path, &actions, &a, argv, environ);
		posix_spawnattr_destroy(&a);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int sp_server_child_start(struct sp_server *s, struct sp_client *c)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-answer", write_child_input, &(struct child_input){s, c}, &input);

	if (r < 0)
		return r;
	r = sp_server_spawn(input, c->fd, s->self, &c->pid);
	if (r < 0)
		return sp_fail(r, "start a process");
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	r = -errno;
	kill(c->pid, SIGKILL); /* not waited for yet, so the pid is not reused */
	waitpid(c->pid, NULL, 0);
	return sp_fail(r, "open a pidfd");
}

void sp_server_take_share(struct sp_server *s, uid_t uid, uint64_t cpu_ns)
{
	sp_share_take(&s->shares, uid, sp_time_ns(CLOCK_MONOTONIC), (int64_t)cpu_ns);
	sp_share_take(&s->all_shares, SP_SHARE_ALL_USERS, sp_time_ns(CLOCK_MONOTONIC), (int64_t)cpu_ns);
}

/* False: it runs still. Its CPU time is the agent's, and an ordinary user's share, or a client's. */
static bool reap(struct sp_server *s, const struct sp_unreaped *u, int *ret_status)
{
	struct rusage usage = {0};
	pid_t pid = wait4(u->pid, ret_status, WNOHANG, &usage);
	uint64_t cpu_ns = sp_rusage_ns(&usage);

	if (pid == 0)
		return false;
	if (pid == u->pid && s->owner.used)
		s->owner.used(s->owner.arg, cpu_ns);
	if (pid == u->pid && u->is_counted && u->is_own)
		sp_share_take(&s->client_shares, u->who, sp_time_ns(CLOCK_MONOTONIC), (int64_t)cpu_ns);
	else if (pid == u->pid && u->is_counted)
		sp_server_take_share(s, (uid_t)u->who, cpu_ns);
	return true;
}

bool sp_server_child_end(struct sp_server *s, struct sp_client *c)
{
	struct sp_unreaped u = {.pid = c->pid,
				.is_counted = c->done ? s->owner.limits_clients && c->client : !c->sees_all,
				.is_own = c->done != NULL,
				.who = c->done ? c->client : c->uid};
	int status = -1;
	bool is_reaped;

	syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
	is_reaped = reap(s, &u, &status);
	if (!is_reaped && s->n_unreaped < SP_SERVER_UNREAPED)
		s->unreaped[s->n_unreaped++] = u;
	close(c->pidfd);
	return is_reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void sp_server_reap(struct sp_server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_unreaped; i++) {
		int status;
		if (!reap(s, &s->unreaped[i], &status))
			s->unreaped[n++] = s->unreaped[i];
	}
	s->n_unreaped = n;
}
