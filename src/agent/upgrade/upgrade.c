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
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run of the package manager is one job. */
#define JOB_NS (600 * SP_NS_PER_S)
#define MIN_SPAN_NS (600 * SP_NS_PER_S)

enum { POLL_MS = 200 };

/*
 * Each finds what the others do not. Of 32 made programs, four times: shares of 15 points more in programs with 30
 * samples a window are found after a minute (1 of 4) or ten (3 of 4); 5 points after an hour (1 of 4) or six (4 of 4);
 * a few samples a minute, a program that runs hourly, or 2 points only after a day. Where the load has a daily course,
 * large changes are found within an hour to six, and hardly by comparing days. Without a change none found any.
 */
static const uint64_t compare_after_s[SP_UPGRADE_COMPARISONS] = {60, 600, 3600, 6 * 3600, 24 * 3600};

int sp_upgrades_init(struct sp_upgrades *u)
{
	*u = (struct sp_upgrades){.pipe = {-1, -1}, .self = -1};
	u->line = malloc(SP_LINE_MAX);
	if (!u->line)
		return -ENOMEM;
	u->self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	/* The process may block on the pipe, we may not. */
	if (u->self < 0 || pipe2(u->pipe, O_CLOEXEC) < 0 || fcntl(u->pipe[0], F_SETFL, O_NONBLOCK) < 0)
		return sp_fail(-errno, "make a pipe");
	return sp_intern_new(&u->names);
}

static void kill_child(struct sp_upgrades *u)
{
	if (!u->pid)
		return;
	kill(u->pid, SIGKILL); /* not waited for yet, so the pid is not reused */
	waitpid(u->pid, NULL, 0);
	u->pid = 0;
}

void sp_upgrades_done(struct sp_upgrades *u)
{
	if (!u->line)
		return; /* not initialized */
	kill_child(u);
	sp_intern_free(sp_take_ptr(u->names));
	free(sp_take_ptr(u->pairs));
	free(sp_take_ptr(u->line));
	sp_cleanup_close(&u->pipe[0]);
	sp_cleanup_close(&u->pipe[1]);
	sp_cleanup_close(&u->self);
}

/* --- jobs --- */
static void remove_job(struct sp_upgrades *u, size_t i)
{
	u->n_jobs--;
	memmove(&u->jobs[i], &u->jobs[i + 1], (u->n_jobs - i) * sizeof(*u->jobs));
}

/* The oldest of who has most: one user's builds without end cost no other's comparisons. */
static size_t job_to_drop(const struct sp_upgrades *u)
{
	size_t best = 0, most = 0;

	for (size_t i = 0; i < u->n_jobs; i++) {
		size_t n = 0;
		for (size_t k = 0; k < u->n_jobs; k++)
			n += u->jobs[k].uid == u->jobs[i].uid;
		best = n > most ? i : best;
		most = SP_MAX(most, n);
	}
	return best;
}

static void add_job(struct sp_upgrades *u, uint64_t from_ns, uint64_t to_ns, uint32_t uid)
{
	if (u->n_jobs == SP_UPGRADE_JOBS) {
		remove_job(u, job_to_drop(u));
		u->n_given_up++;
		sp_log(SP_LOG_NOTICE,
		       "upgrades: more than %d wait to be compared: the oldest of the user who has most is left out "
		       "(%" PRIu64 " so far)",
		       SP_UPGRADE_JOBS, u->n_given_up);
	}
	u->jobs[u->n_jobs++] = (struct sp_upgrade_job){.from_ns = from_ns, .to_ns = to_ns, .uid = uid};
}

void sp_upgrades_start(struct sp_upgrades *u, uint64_t last_ns, uint64_t now_ns)
{
	if (last_ns && last_ns <= now_ns)
		add_job(u, last_ns, now_ns, SP_UPGRADE_SEVERAL);
}

int sp_upgrades_check_window(struct sp_upgrades *u, const struct sp_profile *p, uint64_t wall_ns)
{
	struct sp_upgrade_job *last = u->n_jobs ? &u->jobs[u->n_jobs - 1] : NULL;
	int n = sp_upgrades_update(u, p);

	if (n <= 0)
		return n;
	/*
	 * The window may have both builds, and so may the one before, since build ids are known late. Neither side has
	 * them.
	 */
	if (last && wall_ns >= last->from_ns && wall_ns - last->from_ns < JOB_NS && last->n_comparisons < 2) {
		last->to_ns = SP_MAX(last->to_ns, wall_ns + SP_AGENT_WINDOW_NS);
		last->n_comparisons = 0;
		last->uid = last->uid == u->uid ? last->uid : SP_UPGRADE_SEVERAL;
	} else {
		add_job(u, wall_ns - SP_MIN(wall_ns, SP_AGENT_WINDOW_NS), wall_ns + SP_AGENT_WINDOW_NS, u->uid);
	}
	return n;
}

/* --- the process --- */
struct child_input {
	const struct sp_agent_config *config;
	const struct sp_upgrade_job *job;
};

static int write_child_input(void *arg, FILE *out)
{
	const struct child_input *in = arg;
	const struct sp_agent_config *c = in->config;
	const struct sp_upgrade_job *job = in->job;
	uint64_t after = compare_after_s[job->n_comparisons] * SP_NS_PER_S;
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

static int start_child(struct sp_upgrades *u, const struct sp_agent_config *c, const struct sp_upgrade_job *job)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-upgrades", write_child_input, &(struct child_input){c, job}, &input);

	if (r >= 0)
		r = sp_server_spawn(input, u->pipe[1], u->self, &u->pid);
	if (r < 0) {
		u->pid = 0;
		return sp_fail(r, "compare upgrades");
	}
	u->n_line = 0;
	u->pid_deadline_ns = sp_time_ns(CLOCK_MONOTONIC) + c->query_timeout_ns + SP_NS_PER_S;
	return 0;
}

static void start_due_job(struct sp_upgrades *u, const struct sp_agent_config *c, uint64_t wall_ns)
{
	size_t i;

	for (i = 0; i < u->n_jobs && !u->pid; i++) {
		struct sp_upgrade_job *job = &u->jobs[i];

		if (wall_ns < job->to_ns + compare_after_s[job->n_comparisons] * SP_NS_PER_S)
			continue;
		if (start_child(u, c, job) < 0) {
			sp_log(SP_LOG_WARNING, "%s", sp_error_text(-EIO));
			sp_error_clear();
		}
		if (++job->n_comparisons == SP_UPGRADE_COMPARISONS)
			remove_job(u, i);
		return;
	}
}

/* --- results --- */
static int handle_line(struct sp_event_queue *events, char *text)
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

static void end_line(struct sp_upgrades *u, struct sp_event_queue *events)
{
	u->line[u->n_line] = '\0';
	u->n_line = 0;
	if (handle_line(events, u->line) < 0) {
		sp_log(SP_LOG_WARNING, "upgrades: %s", sp_error_text(-EBADMSG));
		sp_error_clear();
	}
}

static void read_output(struct sp_upgrades *u, struct sp_event_queue *events)
{
	char buffer[4096];
	ssize_t n, i;

	while ((n = read(u->pipe[0], buffer, sizeof(buffer))) > 0)
		for (i = 0; i < n; i++) {
			if (buffer[i] == '\n')
				end_line(u, events);
			else if (u->n_line < SP_LINE_MAX - 1)
				u->line[u->n_line++] = buffer[i];
		}
}

static void check_child(struct sp_upgrades *u)
{
	struct rusage used = {0};
	int status;

	if (wait4(u->pid, &status, WNOHANG, &used) == u->pid) {
		u->pid = 0;
		u->cpu_ns += sp_rusage_ns(&used);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			sp_log(SP_LOG_WARNING, "upgrades: the process that compares them failed");
	} else if (sp_time_ns(CLOCK_MONOTONIC) > u->pid_deadline_ns) {
		kill_child(u);
		sp_log(SP_LOG_WARNING, "upgrades: the process that compares them took too long");
	}
}

void sp_upgrades_run(struct sp_upgrades *u, const struct sp_agent_config *c, struct sp_event_queue *events,
		     uint64_t wall_ns)
{
	if (u->pid) {
		check_child(u); /* before reading, so that the output is complete then */
		read_output(u, events);
	}
	if (!u->pid)
		start_due_job(u, c, wall_ns);
}

int sp_upgrades_timeout_ms(const struct sp_upgrades *u)
{
	return u->pid ? POLL_MS : -1;
}
