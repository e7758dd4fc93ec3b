/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.c: `soprof agent`: the sampling loop, the socket, signals and the service manager, in one process in the
 * foreground.
 *
 * SIGTERM and SIGINT end the current window and then the agent; a second one has no further effect. SIGHUP reads
 * options and file again; if anything is wrong with them, nothing changes.
 */
#include "cmd/agent/agent.h"
#include "agent/agent.h"
#include "agent/alert/alerting.h"
#include "agent/daemon/notify.h"
#include "agent/daemon/user.h"
#include "agent/export/metrics.h"
#include "agent/export/remote_write.h"
#include "agent/export/senders.h"
#include "agent/log.h"
#include "agent/request.h"
#include "agent/socket/ask.h"
#include "agent/socket/server.h"
#include "agent/web/page.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/agent/agent_options.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/sampling.h"
#include "http/web_config.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { STATUS_EVERY_S = 60 };

struct run {
	int argc;
	char **argv;                /* as they were given: parsed anew at each reload */
	struct sp_agent_args *args; /* ours; the agent reads its configuration in there */
	struct sp_agent *agent;
	struct sp_metrics *metrics;
	struct sp_metrics_own own;
	struct sp_remotes *remotes;
	struct sp_senders *senders;
	struct sp_server *server;         /* NULL: socket: none, listen: none */
	struct sp_page *page;             /* NULL: listen: none */
	int sockets[SP_AGENT_MAX_LISTEN]; /* that the service manager made for it */
	size_t n_sockets;
	int peers; /* of sock_diag(7), by the service manager; -1 = none */
	struct sp_alerting *alerting;
	struct sp_notify notify;
	uint64_t reported_ns; /* the service manager, how we are */
	int signals;
};

/* --- reload --- */
/* What stays as it is until a restart: the new configuration gets the old one's value. */
static int keep_old(struct sp_agent_config *c, const char *name, const char **new, const char *old)
{
	if (!strcmp(*new, old))
		return 0;
	sp_log(SP_LOG_WARNING, "%s is %s from the next start on; until then it stays %s", name, *new, old);
	*new = sp_agent_config_keep(c, old);
	return *new ? 0 : -ENOMEM;
}

static bool same_source(const struct sp_agent_source *a, const struct sp_agent_source *b)
{
	const char *x = a->event ? a->event : "", *y = b->event ? b->event : "";

	return a->recipe == b->recipe && !strcmp(x, y) && a->frequency_hz == b->frequency_hz;
}

static int keep_sources(struct sp_agent_config *c, const struct sp_agent_config *old)
{
	bool same = c->n_sources == old->n_sources;

	for (size_t i = 0; same && i < c->n_sources; i++)
		same = same_source(&c->sources[i], &old->sources[i]);
	if (same)
		return 0;
	sp_log(SP_LOG_WARNING, "source changes at the next start");
	for (size_t i = 0; i < old->n_sources; i++) {
		c->sources[i] = old->sources[i];
		if (!old->sources[i].event)
			continue;
		c->sources[i].event = sp_agent_config_keep(c, old->sources[i].event);
		if (!c->sources[i].event)
			return -ENOMEM;
	}
	c->n_sources = old->n_sources;
	return 0;
}

/* A series stays what it is. */
static void keep_metrics(struct sp_agent_config *c, const struct sp_agent_config *old)
{
	if (c->metrics_by != old->metrics_by)
		sp_log(SP_LOG_WARNING, "metrics-by changes at the next start");
	if (c->metrics_series < old->metrics_series)
		sp_log(SP_LOG_WARNING, "metrics-series stays %" PRIu64 " until the next start", old->metrics_series);
	c->metrics_by = old->metrics_by;
	c->metrics_series = SP_MAX(c->metrics_series, old->metrics_series);
}

static void keep_listen(const struct sp_agent_config *c, const struct sp_agent_config *old)
{
	bool same = c->n_listen == old->n_listen;

	for (size_t i = 0; same && i < c->n_listen; i++)
		same = !strcmp(c->listen[i], old->listen[i]);
	if (!same)
		sp_log(SP_LOG_WARNING, "listen changes at the next start");
}

static int take_over(struct run *r, struct sp_agent_args *new)
{
	struct sp_agent_config *c = &new->config, *old = &r->args->config;
	struct sp_web_config *web = NULL;
	int e = keep_old(c, "store", &c->store, old->store);

	if (e == 0)
		e = sp_page_web_read(c, &web);
	if (e == 0)
		e = keep_old(c, "socket", &c->socket, old->socket);
	if (e == 0)
		e = keep_sources(c, old);
	if (e == 0)
		keep_metrics(c, old);
	if (e == 0)
		keep_listen(c, old);
	if (e == 0)
		e = sp_alerting_configure(r->alerting, c);
	if (e == 0 && r->page)
		sp_page_configure(r->page, c, sp_take_ptr(web));
	sp_web_config_free(web);
	/* from here on the new ones are in use */
	if (e == 0 && sp_agent_reload(r->agent, c) < 0) {
		sp_log(SP_LOG_WARNING, "%s", sp_error_text(-EIO));
		sp_error_clear();
	}
	return e;
}

static void args_free(struct sp_agent_args *a)
{
	if (a)
		sp_agent_args_done(a);
	free(a);
}

static void reload(struct run *r)
{
	struct sp_agent_args *new = calloc(1, sizeof(*new));
	int e = new ? sp_agent_args_parse(r->argc, r->argv, new) : -ENOMEM;

	sp_notify_reloading(&r->notify);
	if (e == SP_PARSED)
		e = take_over(r, new);
	if (e >= 0) {
		if (r->server)
			sp_server_configure(r->server, &new->config);
		sp_metrics_configure(r->metrics, &new->config);
		r->own.config = &new->config;
		sp_remotes_configure(r->remotes, &new->config);
		sp_senders_configure(r->senders, &new->config);
		sp_log_open(new->config.log_level);
		sp_log(SP_LOG_NOTICE, "options read again%s%s", new->file ? ", with " : "", new->file ? new->file : "");
		args_free(r->args);
		r->args = new;
	} else {
		sp_log(SP_LOG_ERROR, "%s; the agent goes on as it was", sp_error_text(e));
		args_free(new);
	}
	sp_notify_ready(&r->notify);
}

/* --- what takes part in the loop --- */
static void signals_ready(void *arg)
{
	struct run *r = arg;
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGHUP) {
			reload(r);
			continue;
		}
		sp_log(SP_LOG_NOTICE, "signal %u: ending the window at hand", s.ssi_signo);
		sp_notify_stopping(&r->notify);
		sp_agent_stop(r->agent);
	}
}

static void server_ready(void *arg)
{
	sp_server_dispatch(((struct run *)arg)->server);
}

static int server_timeout(void *arg)
{
	return sp_server_timeout_ms(((struct run *)arg)->server);
}

static void page_ready(void *arg)
{
	sp_page_dispatch(((struct run *)arg)->page);
}

static int page_timeout(void *arg)
{
	return sp_page_timeout_ms(((struct run *)arg)->page);
}

static void tell_status(struct run *r)
{
	r->reported_ns = sp_time_ns(CLOCK_MONOTONIC);
	sp_agent_status_notify(r->agent, &r->notify);
}

/* Called because the loop has come round, and only then: that is the sign of life. */
static void alive(void *arg)
{
	struct run *r = arg;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	sp_notify_alive(&r->notify);
	if (now - r->reported_ns >= STATUS_EVERY_S * SP_NS_PER_S)
		tell_status(r);
}

static int alive_timeout(void *arg)
{
	const struct run *r = arg;
	uint64_t next = r->reported_ns + STATUS_EVERY_S * SP_NS_PER_S;

	if (r->notify.fd < 0)
		return -1;
	if (r->notify.watchdog_ns)
		next = SP_MIN(next, r->notify.alive_sent_ns + r->notify.watchdog_ns / 3);
	return sp_ms_until(next);
}

static int status(void *arg, FILE *out)
{
	struct run *r = arg;

	int e = sp_agent_status_put(r->agent, &r->args->config, out);

	if (r->page)
		sp_agent_page_status(r->page, out);
	sp_senders_status(r->senders, out);
	return e;
}

static void metrics(void *arg, struct sp_http_request *q)
{
	const struct run *r = arg;
	char url[128];
	bool is_tls = sp_page_url(r->page, 0, url, sizeof(url)) && !strncmp(url, "https:", 6);

	sp_metrics_answer(r->metrics, q, is_tls ? "https" : "http");
}

static bool samples_and_stores(void *arg)
{
	struct sp_agent_status s;

	sp_agent_status_last(((struct run *)arg)->agent, &s);
	return s.started_wall_ns && !*s.store_error;
}

static int current(void *arg, const char *source, const struct sp_agent_asked *asked)
{
	return sp_agent_current(((struct run *)arg)->agent, source, asked);
}

static void used(void *arg, uint64_t cpu_ns)
{
	sp_agent_add_service(((struct run *)arg)->agent, cpu_ns);
}

/* --- beginning and end --- */
static int watch_all(struct run *r)
{
	struct sp_agent_watch signals = {.fd = r->signals, .ready = signals_ready, .arg = r};
	struct sp_agent_watch life = {.fd = -1, .timeout_ms = alive_timeout, .ready = alive, .arg = r};
	struct sp_agent_watch alerting = sp_alerting_watch(r->alerting);
	int e = sp_agent_watch(r->agent, &signals);

	if (e >= 0)
		e = sp_agent_watch(r->agent, &alerting);

	if (e >= 0)
		e = sp_agent_watch(r->agent, &life);
	if (e >= 0) {
		struct sp_agent_watch remotes = {.fd = sp_remotes_fd(r->remotes),
						 .timeout_ms = sp_remotes_timeout_ms,
						 .ready = sp_remotes_dispatch,
						 .arg = r->remotes};
		e = sp_agent_watch(r->agent, &remotes);
	}
	if (e >= 0) {
		struct sp_agent_watch senders = {.fd = sp_senders_fd(r->senders),
						 .timeout_ms = sp_senders_timeout_ms,
						 .ready = sp_senders_dispatch,
						 .arg = r->senders};
		e = sp_agent_watch(r->agent, &senders);
	}
	if (e >= 0 && r->server) {
		struct sp_agent_watch server = {.fd = sp_server_fd(r->server),
						.timeout_ms = server_timeout,
						.ready = server_ready,
						.arg = r,
						.serves_all = true};
		e = sp_agent_watch(r->agent, &server);
	}
	if (e >= 0 && r->page) {
		struct sp_agent_watch page = {.fd = sp_page_fd(r->page),
					      .timeout_ms = page_timeout,
					      .ready = page_ready,
					      .arg = r,
					      .serves_all = true};
		e = sp_agent_watch(r->agent, &page);
	}
	return e;
}

static int metrics_open(struct run *r)
{
	struct sp_agent_listener listener;
	int e = sp_metrics_new(&r->args->config, &r->metrics);

	if (e < 0)
		return e;
	listener = sp_metrics_listener(r->metrics);
	r->own = (struct sp_metrics_own){.agent = r->agent, .config = &r->args->config};
	e = sp_agent_listen(r->agent, &listener);
	if (e >= 0)
		e = sp_metrics_add(r->metrics, sp_metrics_own_write, &r->own);
	if (e >= 0)
		e = sp_remotes_new(&r->args->config, r->metrics, &r->remotes);
	if (e >= 0)
		e = sp_metrics_add(r->metrics, sp_remotes_write, r->remotes);
	if (e >= 0)
		e = sp_senders_new(&r->args->config, &r->senders);
	return e < 0 ? e : sp_metrics_add(r->metrics, sp_senders_write, r->senders);
}

/* If the usual place is taken by another agent or something else, that is logged, and it samples all the same. */
static int page_open(struct run *r)
{
	const struct sp_agent_config *c = &r->args->config;
	struct sp_page_owner owner = {.arg = r,
				      .server = r->server,
				      .sockets = r->sockets,
				      .n_sockets = r->n_sockets,
				      .peers = SP_MAX(r->peers, 0),
				      .is_ready = samples_and_stores,
				      .metrics = metrics};
	int e = 0;

	if (r->n_sockets && c->n_listen && !c->listen_is_default)
		sp_log(SP_LOG_WARNING, "listen is not heeded: the service manager says where");
	if (c->n_listen)
		e = sp_page_new(c, &owner, &r->page);
	else
		for (size_t i = 0; i < r->n_sockets; i++)
			close(r->sockets[i]);
	if (!c->n_listen)
		sp_cleanup_close(&r->peers);

	if (e >= 0 || !c->listen_is_default || c->web_config)
		return e;
	sp_log(SP_LOG_WARNING, "no page is served: %s", sp_error_text(e));
	sp_error_clear();
	return 0;
}

static int alerting_open(struct run *r)
{
	char page[512] = "";
	int e;
	struct sp_agent_listener listener;

	if (r->page)
		sp_page_link(r->page, &r->args->config, page, sizeof(page));
	e = sp_alerting_new(&r->args->config, r->agent, page, &r->alerting);
	if (e < 0)
		return e;
	listener = sp_alerting_listener(r->alerting);
	e = sp_agent_listen(r->agent, &listener);
	return e < 0 ? e : sp_metrics_add(r->metrics, sp_alerting_write, r->alerting);
}

static int secret_keep(void *agent, const char *secret_file, const char *ca_file)
{
	(void)ca_file; /* read by processes that may */
	return sp_agent_keep_file(agent, secret_file);
}

/* Which a reload, or who sends an alert, reads again. */
static int keep_files(struct run *r)
{
	const struct sp_agent_config *c = &r->args->config;
	struct sp_web_config *web = NULL;
	int e = sp_agent_keep_file(r->agent, r->args->file);

	if (e >= 0)
		e = sp_agent_keep_file(r->agent, c->web_config);
	if (e >= 0)
		e = sp_page_web_read(c, &web);
	for (size_t i = 0; e >= 0 && web && i < SP_COUNT(web->files); i++)
		e = sp_agent_keep_file(r->agent, web->files[i]);
	sp_web_config_free(web);
	return e < 0 ? e : sp_agent_each_receiver(c, secret_keep, r->agent);
}

static int open_all(struct run *r)
{
	const struct sp_agent_config *c = &r->args->config;
	struct sp_server_owner owner = {.arg = r, .status = status, .current = current, .used = used};
	int e = sp_privileges_check("sample");

	if (e >= 0)
		e = sp_agent_user_become(c);
	if (e >= 0)
		e = sp_notify_open(&r->notify);
	if (e >= 0)
		e = sp_signals_take(0, NULL, &r->signals);
	if (e >= 0)
		e = sp_agent_new(c, &r->agent);
	if (e >= 0)
		e = keep_files(r);
	if (e >= 0)
		e = metrics_open(r);
	if (e >= 0 && (*c->socket || c->n_listen))
		e = sp_server_new(c, &owner, &r->server);
	if (e >= 0)
		e = page_open(r);
	r->own.server = r->server;
	r->own.page = r->page;
	if (e >= 0)
		e = alerting_open(r);
	return e < 0 ? e : watch_all(r);
}

static int start_all(struct run *r)
{
	struct sp_agent_status s;
	int e = open_all(r);

	if (e >= 0)
		e = sp_agent_start(r->agent);
	if (e < 0)
		return e;
	sp_agent_status(r->agent, &s);
	if (*sp_agent_user_words())
		sp_log(SP_LOG_INFO, "%s", sp_agent_user_words());
	sp_agent_greet(&r->args->config, s.n_cpus);
	sp_agent_page_greet(r->page);
	sp_notify_ready(&r->notify);
	tell_status(r);
	return 0;
}

/* Who waits for an answer sees its end: answers, which any user may ask for, get none of the stop's time. */
static void close_served(struct run *r)
{
	sp_page_free(sp_take_ptr(r->page));
	sp_server_free(sp_take_ptr(r->server));
	r->own.server = NULL;
	r->own.page = NULL;
}

static void close_all(struct run *r)
{
	close_served(r);
	sp_alerting_free(r->alerting);
	sp_agent_free(r->agent);
	sp_remotes_free(r->remotes);
	sp_senders_free(r->senders);
	sp_metrics_free(r->metrics);
	sp_notify_close(&r->notify);
	if (r->signals >= 0)
		close(r->signals);
}

/* What is still queued when the agent ends is lost: the log is the only place left to say so. */
static void log_end(struct sp_agent *a, const char *store)
{
	struct sp_agent_status s;
	uint64_t n_lost = 0;

	sp_agent_status_last(a, &s);
	for (size_t i = 0; i < s.n_sources; i++)
		n_lost += s.sources[i].n_waiting;
	if (n_lost)
		sp_log(SP_LOG_ERROR, "ended: the last %" PRIu64 " windows are lost: %s", n_lost, s.store_error);
	else
		sp_log(SP_LOG_NOTICE, "ended: all windows are in %s", store);
}

/* Takes the options over. What ended it while it ran may be better with a new process: no refusal, then. */
static int run_agent(const struct sp_cmd *cmd, int argc, char **argv, struct sp_agent_args *args)
{
	struct run r = {.argc = argc, .argv = argv, .args = args, .signals = -1, .notify = {.fd = -1}};
	int e, code;

	sp_log_open(args->config.log_level);
	r.n_sockets = sp_notify_sockets(r.sockets, SP_AGENT_MAX_LISTEN, &r.peers);
	e = start_all(&r);
	code = e < 0 ? sp_sampling_exit_code(e) : SP_EXIT_FAILED;
	if (e >= 0) {
		sp_agent_run(r.agent);
		close_served(&r);
		e = sp_agent_finish(r.agent);
	}
	if (e < 0)
		sp_cmd_error(cmd, e, 0);
	else
		log_end(r.agent, r.args->config.store);
	close_all(&r);
	args_free(r.args);
	return e < 0 ? code : SP_EXIT_OK;
}

static int show_status(const struct sp_cmd *cmd, const struct sp_agent_args *a)
{
	const char *socket = a->config.socket;
	int r = a->json ? sp_agent_status_json(socket, stdout) : sp_agent_status_show(socket, stdout);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		sp_error_clear();
		sp_fail_said(r, "no agent answers at %s; sudo soprof agent starts one",
			     *socket ? socket : SP_AGENT_SOCKET);
	}
	return r < 0 ? sp_cmd_error(cmd, r, SP_EXIT_FAILED) : SP_EXIT_OK;
}

/* What other files say is looked at, too. */
static int say_checked(const struct sp_cmd *cmd, const struct sp_agent_args *a)
{
	struct sp_web_config *web = NULL;
	int r = sp_page_web_read(&a->config, &web);

	sp_web_config_free(web);
	if (r == 0)
		r = sp_agent_files_check(&a->config);
	if (r < 0)
		return sp_cmd_error(cmd, r, SP_EXIT_USAGE);
	if (a->file)
		printf("%s: nothing wrong\n", a->file);
	else
		puts("no configuration file; nothing wrong with the options");
	return SP_EXIT_OK;
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct sp_agent_args *args = calloc(1, sizeof(*args));
	int code, r = args ? sp_agent_args_parse(argc, argv, args) : -ENOMEM;

	if (sp_cmd_parsed(cmd, r, &code)) {
		if (!args->check_only && !args->status)
			return run_agent(cmd, argc, argv, args);
		code = args->status ? show_status(cmd, args) : say_checked(cmd, args);
	}
	args_free(args);
	return code;
}

static const struct sp_example examples[] = {
    {"sudo soprof agent", "sample, store and answer, until it is stopped"},
    {"soprof agent --check-config", "is /etc/soprof/agent.yaml good?"},
    {"soprof agent --status", "what does the running one do?"},
    {0},
};

const struct sp_cmd sp_cmd_agent = {
    .name = "agent",
    .summary = "always on: sample all processes, keep history, answer queries",
    .group = SP_CMD_WATCH,
    .needs = "Linux 6.1 and root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; --status: nothing",
    .synopsis = "[OPTIONS]",
    .options = sp_agent_options,
    .examples = examples,
    .run = run,
};
