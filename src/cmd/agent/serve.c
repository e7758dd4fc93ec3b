/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.c: `soprof serve --fleet`: the agent's page over a fleet, in one process in the foreground.
 *
 * The page's server and the socket's are the agent's, without an agent: processes that answer ask the fleet. They are
 * told its address, and where its password is, in a memory file. What one client may ask for is limited by shares of
 * --max-cpu, and all that costs the loop is by the agent's pace. SIGTERM and SIGINT end it; SIGHUP reads certificates
 * and users again.
 */
#include "agent/daemon/pace.h"
#include "agent/log.h"
#include "agent/request.h"
#include "agent/socket/server.h"
#include "agent/web/page.h"
#include "base/error.h"
#include "base/filter.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/agent/agent.h"
#include "cmd/agent/agent_options.h"
#include "cmd/cmd.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/sampling.h"
#include "http/web_config.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
enum { MAX_WORDS = SP_LINE_MAX - 200, PATH_BYTES = 108, WHOLE_CPU_PPM = 1000000, MAX_CPUS = 64, URL_BYTES = 128 };

struct serve_args {
	struct sp_agent_args agent; /* first: as its options' parsers want it */
	struct sp_fleet_args fleet;
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct serve_args, agent.config.member)
static const struct sp_option options[] = {
	{SP_OPT_STRING, 0, "fleet", "URL", "the fleet: http[s]://[USER@]HOST[:PORT][/DATABASE]", .offset = offsetof(struct serve_args, fleet.url)},
	SP_FLEET_SERVER_OPTIONS(struct serve_args, fleet),
	{SP_OPT_OTHER, 0, "listen", "ADDRESS[,ADDRESS]", "serve HTTP there (127.0.0.1:9878)", .offset = 0, .separator = ',', .parse = sp_agent_parse_listen},
	{SP_OPT_OTHER, 0, "web-config", "FILE", "TLS and users, as exporters of Prometheus have them", AT(web_config), .min = 1, .max = 3000, .parse = sp_agent_parse_path},
	{SP_OPT_OTHER, 0, "hosts", "NAME[,NAME]", "further names by which clients may call this machine", .offset = 0, .separator = ',', .parse = sp_agent_parse_hosts},
	{SP_OPT_OTHER, 0, "socket", "PATH", "of soprof open; beside it is the token (/run/soprof/fleet.sock)", AT(socket), .min = 1, .max = PATH_BYTES - 1, .parse = sp_agent_parse_path},
	{SP_OPT_OTHER, 0, "group", "NAME", "its members may read the token (none)", AT(group), .parse = sp_agent_parse_group},
	{SP_OPT_OTHER, 0, "max-cpu", "PERCENT", "of one CPU; a client's answers may take an eighth of it (100%)", AT(max_cpu_ppm), .min = WHOLE_CPU_PPM / 10000, .max = MAX_CPUS * WHOLE_CPU_PPM, .parse = sp_agent_parse_percent},
	{SP_OPT_NUMBER, 0, "max-clients", "N", "connected at once (64)", AT(max_clients), .min = 4, .max = 1024},
	{SP_OPT_NUMBER, 0, "max-queries", "N", "answered at once (4)", AT(max_queries), .min = 1, .max = 64},
	{SP_OPT_OTHER, 0, "query-timeout", "TIME", "for one answer (30s)", AT(query_timeout_ns), .min = SP_NS_PER_S / 10, .max = 600 * SP_NS_PER_S, .parse = sp_agent_parse_duration},
	{SP_OPT_BYTES, 0, "query-memory", "SIZE", "for one answer (512M)", AT(query_memory_bytes), .min = 64 * MIB, .max = 64 * GIB},
	{0},
};
/* clang-format on */

struct serve {
	struct serve_args *args;
	char *place; /* words for the processes that answer */
	struct sp_server *server;
	struct sp_page *page;
	int signals;
	bool is_over;
	struct sp_pace pace;
};

/* --- what it is told --- */
static void defaults(struct serve_args *a)
{
	a->agent.config = (struct sp_agent_config){.store = "",
						   .socket = "",
						   .group = "",
						   .listen = {"127.0.0.1:9878"},
						   .n_listen = 1,
						   .max_clients = 64,
						   .max_queries = 4,
						   .max_cpu_ppm = WHOLE_CPU_PPM,
						   .query_timeout_ns = 30 * SP_NS_PER_S,
						   .query_memory_bytes = 512 * MIB,
						   .log_level = SP_LOG_INFO};
}

/* Root's where the agent's is, another user's where systemd keeps such things for him. */
static int socket_choose(struct sp_agent_config *c)
{
	const char *under = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
	char path[PATH_BYTES];

	if (*c->socket)
		return 0;
	if (!under || *under != '/' || snprintf(path, sizeof(path), "%s/soprof/fleet.sock", under) >= PATH_BYTES)
		return sp_fail_said(-EINVAL, "say where its socket and token are to be: --socket PATH");
	c->socket = sp_agent_config_keep(c, path);
	return c->socket ? 0 : -ENOMEM;
}

/* A path as it is seen from here; who answers is here, too. */
static int place_write(struct serve *s)
{
	const struct sp_fleet_args *fleet = &s->args->fleet;
	size_t n = 0;
	FILE *out = open_memstream(&s->place, &n);

	if (!out)
		return -ENOMEM;
	sp_line_put(out, "fleet", fleet->url);
	sp_line_put(out, "password", fleet->password_file);
	sp_line_put(out, "ca", fleet->ca_file);
	if (fclose(out))
		return -ENOMEM;
	return n > MAX_WORDS ? sp_fail_said(-EINVAL, "--fleet, --password-file and --ca-file are too long") : 0;
}

/* Address and password's file are looked at now; the server may come later. */
static int args_check(struct serve *s)
{
	struct sp_agent_config *c = &s->args->agent.config;
	struct sp_fleet *f = NULL;
	int r;

	if (!s->args->fleet.url)
		return sp_fail_said(-EINVAL, "--fleet URL is missing: which fleet's page is served?");
	if (!c->n_listen)
		return sp_fail_said(-EINVAL, "--listen: it serves nothing without an address");
	r = sp_fleet_args_open(&s->args->fleet, &f);
	sp_fleet_close(f);
	if (r == 0)
		r = socket_choose(c);
	return r == 0 ? place_write(s) : r;
}

/* --- the loop --- */
static int status(void *arg, FILE *out)
{
	struct serve *s = arg;

	sp_agent_page_status(s->page, out);
	return 0;
}

static void reload(struct serve *s)
{
	const struct sp_agent_config *c = &s->args->agent.config;
	struct sp_web_config *web = NULL;
	int r = sp_page_web_read(c, &web);

	if (r < 0) {
		sp_log(SP_LOG_ERROR, "%s; it goes on as it was", sp_error_text(r));
		sp_error_clear();
		return;
	}
	sp_page_configure(s->page, c, web);
	sp_log(SP_LOG_NOTICE, "certificates and users read again");
}

static void signals_take(struct serve *s)
{
	struct signalfd_siginfo one;

	while (read(s->signals, &one, sizeof(one)) == sizeof(one)) {
		if (one.ssi_signo == SIGHUP)
			reload(s);
		else
			s->is_over = true;
	}
}

static void serve_some(struct serve *s)
{
	uint64_t began_ns = sp_time_ns(CLOCK_THREAD_CPUTIME_ID);

	sp_server_dispatch(s->server);
	sp_page_dispatch(s->page);
	sp_pace_rest(&s->pace, sp_time_ns(CLOCK_MONOTONIC), sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}

static int serve_all(struct serve *s)
{
	while (!s->is_over) {
		struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
				       {.fd = sp_server_fd(s->server), .events = POLLIN},
				       {.fd = sp_page_fd(s->page), .events = POLLIN}};
		bool rests = s->pace.rest_until_ns > sp_time_ns(CLOCK_MONOTONIC);
		int ms = rests ? sp_ms_until(s->pace.rest_until_ns)
			       : sp_ms_sooner(sp_server_timeout_ms(s->server), sp_page_timeout_ms(s->page));

		if (poll(fds, rests ? 1 : SP_COUNT(fds), ms) < 0 && errno != EINTR)
			return sp_fail(-errno, "wait");
		signals_take(s);
		if (!rests)
			serve_some(s);
	}
	return 0;
}

/* --- beginning and end --- */
static void greet(const struct serve *s)
{
	char url[URL_BYTES];

	for (size_t i = 0; sp_page_url(s->page, i, url, sizeof(url)); i++)
		sp_log(SP_LOG_INFO, "serves the fleet's page at %s; soprof open --socket %s tells the token", url,
		       s->args->agent.config.socket);
	if (geteuid() == 0)
		sp_log(SP_LOG_NOTICE, "it runs as root, and any other user could run it");
}

/* Once all is open it needs no more than the agent does then; who answers inherits it. */
static int open_all(struct serve *s)
{
	const struct sp_agent_config *c = &s->args->agent.config;
	struct sp_server_owner owner = {.arg = s, .status = status, .place = s->place, .limits_clients = true};
	struct sp_page_owner page = {.arg = s, .is_fleet = true};
	int r = sp_signals_take(0, NULL, &s->signals);

	sp_pace_init(&s->pace, c->max_cpu_ppm, sp_time_ns(CLOCK_MONOTONIC));
	if (r == 0)
		r = sp_server_new(c, &owner, &s->server);
	page.server = s->server;
	if (r == 0)
		r = sp_page_new(c, &page, &s->page);
	return r == 0 ? sp_filter_enter(SP_FILTER_AGENT) : r;
}

static int serve_run(struct serve *s)
{
	int r;

	sp_log_open(SP_LOG_INFO);
	r = open_all(s);
	if (r == 0) {
		greet(s);
		r = serve_all(s);
	}
	sp_page_free(s->page);
	sp_server_free(s->server);
	if (s->signals >= 0)
		close(s->signals);
	return r;
}

static int run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct serve_args a = {0};
	struct serve s = {.args = &a, .signals = -1};
	int code = SP_EXIT_OK, r;

	defaults(&a);
	r = sp_options_parse(options, argc, argv, &a);
	if (sp_cmd_parsed(cmd, r, &code)) {
		r = args_check(&s);
		if (r == 0)
			r = serve_run(&s);
		if (r < 0)
			code = sp_cmd_error(cmd, r, r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED);
	}
	free(s.place);
	sp_agent_config_done(&a.agent.config);
	return code;
}

static const struct sp_example examples[] = {
    {"soprof serve --fleet http://clickhouse:8123", "the page of a fleet, on this machine only"},
    {"soprof serve --fleet https://clickhouse:8443 --listen :9878 --web-config web.yaml",
     "for others, too: with TLS, and users"},
    {"xdg-open \"$(soprof open --socket /run/soprof/fleet.sock)\"", "the page, in the browser"},
    {0},
};

const struct sp_cmd sp_cmd_serve = {
    .name = "serve",
    .summary = "the agent's page over a fleet: hosts and labels as filters",
    .group = SP_CMD_WATCH,
    .needs = "a fleet (soprof fleet), libcurl and libmicrohttpd; no privileges",
    .synopsis = "--fleet URL [OPTIONS]",
    .options = options,
    .examples = examples,
    .run = run,
};
