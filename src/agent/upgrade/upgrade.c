/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/upgrade/upgrade.h"
#include "agent/agent.h"
#include "agent/config.h"
#include "agent/daemon/window_queue.h"
#include "agent/exec/program.h"
#include "agent/log.h"
#include "agent/request.h"
#include "agent/socket/server_priv.h"
#include "agent/upgrade/upgrade_priv.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One job is what is upgraded within: a run of the package manager. */
#define TOGETHER_NS (600 * SP_NS_PER_S)
#define MIN_SPAN_NS (600 * SP_NS_PER_S)

enum { POLL_MS = 200 };

static const uint64_t look_after_s[SP_UPGRADE_LOOKS] = {60, 600, 3600, 6 * 3600, 24 * 3600};

int sp_upgrades_init(struct sp_upgrades *u)
{
	*u = (struct sp_upgrades){.pipe = {-1, -1}, .self = -1};
	u->line = malloc(SP_LINE_MAX);
	if (!u->line)
		return -ENOMEM;
	u->self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	/* The process may wait for us, not we for it. */
	if (u->self < 0 || pipe2(u->pipe, O_CLOEXEC) < 0 || fcntl(u->pipe[0], F_SETFL, O_NONBLOCK) < 0)
		return sp_fail(-errno, "make a pipe");
	return sp_intern_new(&u->names);
}

static void child_end(struct sp_upgrades *u)
{
	if (!u->pid)
		return;
	kill(u->pid, SIGKILL); /* not waited for yet: the number is its own */
	waitpid(u->pid, NULL, 0);
	u->pid = 0;
}

void sp_upgrades_done(struct sp_upgrades *u)
{
	if (!u->line)
		return; /* never begun */
	child_end(u);
	sp_intern_free(sp_take_ptr(u->names));
	free(sp_take_ptr(u->pairs));
	free(sp_take_ptr(u->line));
	sp_cleanup_close(&u->pipe[0]);
	sp_cleanup_close(&u->pipe[1]);
	sp_cleanup_close(&u->self);
}

/* --- jobs --- */
static void job_remove(struct sp_upgrades *u, size_t i)
{
	u->n_jobs--;
	memmove(&u->jobs[i], &u->jobs[i + 1], (u->n_jobs - i) * sizeof(*u->jobs));
}

static void job_add(struct sp_upgrades *u, uint64_t from_ns, uint64_t to_ns)
{
	if (u->n_jobs == SP_UPGRADE_JOBS) {
		job_remove(u, 0);
		u->n_given_up++;
	}
	u->jobs[u->n_jobs++] = (struct sp_upgrade_job){.from_ns = from_ns, .to_ns = to_ns};
}

void sp_upgrades_begin(struct sp_upgrades *u, uint64_t last_ns, uint64_t now_ns)
{
	if (last_ns && last_ns <= now_ns)
		job_add(u, last_ns, now_ns);
}

int sp_upgrades_look(struct sp_upgrades *u, const struct sp_profile *p, uint64_t wall_ns)
{
	struct sp_upgrade_job *last = u->n_jobs ? &u->jobs[u->n_jobs - 1] : NULL;
	int n = sp_upgrades_see(u, p);

	if (n <= 0)
		return n;
	u->n_noticed += (uint64_t)n;
	/* The window holds both, and the one before may: build ids are known a little later. Neither side has them. */
	if (last && wall_ns >= last->from_ns && wall_ns - last->from_ns < TOGETHER_NS && last->n_looks < 2) {
		last->to_ns = SP_MAX(last->to_ns, wall_ns + SP_AGENT_WINDOW_NS);
		last->n_looks = 0;
	} else {
		job_add(u, wall_ns - SP_MIN(wall_ns, SP_AGENT_WINDOW_NS), wall_ns + SP_AGENT_WINDOW_NS);
	}
	return n;
}

/* --- the process --- */
struct question {
	const struct sp_agent_config *config;
	const struct sp_upgrade_job *job;
};

static int question_write(void *arg, FILE *out)
{
	const struct question *question = arg;
	const struct sp_agent_config *c = question->config;
	const struct sp_upgrade_job *job = question->job;
	uint64_t after = look_after_s[job->n_looks] * SP_NS_PER_S;
	struct sp_request q = {.what = SP_ASK_UPGRADES,
			       .query = {.from_ns = job->from_ns, .to_ns = job->to_ns, .all_users = true},
			       .span_ns = SP_MAX(after, MIN_SPAN_NS)};

	sp_line_put(out, "store", c->store);
	sp_line_put_number(out, "timeout", c->query_timeout_ns);
	sp_line_put_number(out, "memory", c->query_memory_bytes);
	fputc('\n', out);
	sp_request_write(&q, out);
	return 0;
}

static int child_start(struct sp_upgrades *u, const struct sp_agent_config *c, const struct sp_upgrade_job *job)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-upgrades", question_write, &(struct question){c, job}, &input);

	if (r >= 0)
		r = sp_server_spawn(input, u->pipe[1], u->self, &u->pid);
	if (r < 0) {
		u->pid = 0;
		return sp_fail(r, "look at upgrades");
	}
	u->n_line = 0;
	u->pid_deadline_ns = sp_time_ns(CLOCK_MONOTONIC) + c->query_timeout_ns + SP_NS_PER_S;
	return 0;
}

static void jobs_turn(struct sp_upgrades *u, const struct sp_agent_config *c, uint64_t wall_ns)
{
	size_t i;

	for (i = 0; i < u->n_jobs && !u->pid; i++) {
		struct sp_upgrade_job *job = &u->jobs[i];

		if (wall_ns < job->to_ns + look_after_s[job->n_looks] * SP_NS_PER_S)
			continue;
		if (child_start(u, c, job) < 0) {
			sp_log(SP_LOG_WARNING, "%s", sp_error_text(-EIO));
			sp_error_clear();
		}
		if (++job->n_looks == SP_UPGRADE_LOOKS)
			job_remove(u, i);
		return;
	}
}

/* --- what it found --- */
static int line_take(struct sp_event_queue *events, char *text)
{
	struct sp_store_event e = {0};
	struct sp_line l;
	int r = sp_line_parse(text, !strncmp(text, "ok", 2) || !strncmp(text, "error", 5), &l);

	if (r < 0 || !strcmp(l.first, "ok"))
		return r;
	if (!strcmp(l.first, "error")) {
		const char *why = sp_line_word(&l, "text");
		return sp_fail_said(-EIO, "%s", why ? why : "failed");
	}
	e.kind = sp_line_word(&l, "kind");
	e.subject = sp_line_word(&l, "subject");
	e.text = sp_line_word(&l, "text");
	e.data = sp_line_word(&l, "data");
	r = sp_line_number(&l, "from", &e.from_ns);
	if (r >= 0)
		r = sp_line_number(&l, "to", &e.to_ns);
	if (r < 0 || !e.kind || !e.subject || !e.text || !e.data)
		return r < 0 ? r : -EBADMSG;
	sp_log(SP_LOG_DEBUG, "%s: %s", e.kind, e.text);
	sp_event_queue_add(events, &e);
	return 0;
}

static void line_end(struct sp_upgrades *u, struct sp_event_queue *events)
{
	u->line[u->n_line] = '\0';
	u->n_line = 0;
	if (line_take(events, u->line) < 0) {
		sp_log(SP_LOG_WARNING, "upgrades: %s", sp_error_text(-EBADMSG));
		sp_error_clear();
	}
}

static void output_take(struct sp_upgrades *u, struct sp_event_queue *events)
{
	char some[4096];
	ssize_t n, i;

	while ((n = read(u->pipe[0], some, sizeof(some))) > 0)
		for (i = 0; i < n; i++) {
			if (some[i] == '\n')
				line_end(u, events);
			else if (u->n_line < SP_LINE_MAX - 1)
				u->line[u->n_line++] = some[i];
		}
}

static void child_look(struct sp_upgrades *u)
{
	int status;

	if (waitpid(u->pid, &status, WNOHANG) == u->pid) {
		u->pid = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			sp_log(SP_LOG_WARNING, "upgrades: the process that compares them failed");
	} else if (sp_time_ns(CLOCK_MONOTONIC) > u->pid_deadline_ns) {
		child_end(u);
		sp_log(SP_LOG_WARNING, "upgrades: the process that compares them took too long");
	}
}

void sp_upgrades_turn(struct sp_upgrades *u, const struct sp_agent_config *c, struct sp_event_queue *events,
		      uint64_t wall_ns)
{
	if (u->pid) {
		child_look(u); /* first: what it wrote before its end is there then */
		output_take(u, events);
	}
	if (!u->pid)
		jobs_turn(u, c, wall_ns);
}

int sp_upgrades_timeout_ms(const struct sp_upgrades *u)
{
	return u->pid ? POLL_MS : -1;
}
