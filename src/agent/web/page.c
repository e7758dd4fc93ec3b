/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/request.h"
#include "agent/socket/server.h"
#include "agent/web/page_html.h"
#include "agent/web/page_priv.h"
#include "base/error.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

enum {
	MAX_BODY = 64 << 20,
	PPROF_SECONDS = 30,
	MAX_SECONDS = 3600,
	MAX_WAIT_SECONDS = 300,
	STORE_DELAY_S = 5, /* after a window's end, until it has names and is stored */
	WINDOW_S = 10,
	MAX_GZIP_LEVEL = 9
};

/* --- answers of a process --- */
static void free_slot(struct sp_page_waiting *w)
{
	if (w->output >= 0)
		close(w->output);
	*w = (struct sp_page_waiting){.page = w->page, .output = -1};
}

static void cancel_request(void *arg)
{
	struct sp_page_waiting *w = arg;

	if (w->client)
		sp_server_cancel(w->page->owner.server, sp_take_ptr(w->client));
	free_slot(w);
}

/* Reads the first line of an answer; returns its length, or a negative errno. */
ssize_t sp_page_head(int fd, char text[SP_LINE_MAX], struct sp_line *ret_head)
{
	ssize_t n = pread(fd, text, SP_LINE_MAX - 1, 0);
	char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	int r;

	if (!end)
		return -EBADMSG;
	*end = '\0';
	r = sp_line_parse(text, true, ret_head);
	return r < 0 ? r : end + 1 - text;
}

static unsigned http_status(int r)
{
	return r == -ETIMEDOUT ? 504 : r == -EBUSY ? 503 : r == -EDQUOT ? 429 : r == -EACCES ? 403 : 500;
}

/* A constant, because the line is in memory that is reused. */
static const char *get_coding(const struct sp_line *head)
{
	const char *coding = sp_line_word(head, "coding");

	return coding && !strcmp(coding, "gzip") ? "gzip" : NULL;
}

static const char *get_type(const struct sp_line *head)
{
	const char *type = sp_line_word(head, "type");

	return type && !strcmp(type, "application/json") ? "application/json" : "application/octet-stream";
}

static void send_body(struct sp_page_waiting *w, const struct sp_line *head, size_t head_bytes)
{
	struct sp_http_answer a = {.status = 200, .has_fd = true, .offset = head_bytes};
	uint64_t status = 200;
	uint64_t n_windows = 0;
	struct stat st;

	sp_line_number(head, "windows", &n_windows);
	if (w->is_profile && !n_windows)
		return sp_http_say(w->request, 404, "Of these seconds nothing is stored: no window ended in them.\n");
	if (fstat(w->output, &st) < 0 || st.st_size > MAX_BODY || (uint64_t)st.st_size < head_bytes)
		return sp_http_say(w->request, 500, "The answer has more than %d MiB.\n", MAX_BODY >> 20);
	sp_line_number(head, "status", &status);
	a.status = (unsigned)status;
	a.type = get_type(head);
	a.filename = w->is_profile ? "profile.pb.gz" : NULL;
	a.coding = get_coding(head);
	a.n = (uint64_t)st.st_size - head_bytes;
	a.fd = sp_take_fd(&w->output);
	sp_http_answer(w->request, &a);
}

static void finish_request(void *arg, int r)
{
	struct sp_page_waiting *w = arg;
	char text[SP_LINE_MAX];
	struct sp_line head = {.first = ""};
	uint64_t number = EIO;
	ssize_t n = sp_page_head(w->output, text, &head);

	w->client = NULL;
	if (n > 0 && !strcmp(head.first, "error")) {
		sp_line_number(&head, "errno", &number);
		const char *why = sp_line_word(&head, "text");
		sp_http_say(w->request, http_status(-(int)SP_MIN(number, 4095)), "%s\n", why ? why : "");
	} else if (r < 0) {
		sp_http_say(w->request, http_status(r), "%s\n", sp_error_text(r));
	} else if (n < 0) {
		sp_http_say(w->request, 500, "The answer cannot be understood.\n");
	} else {
		send_body(w, &head, (size_t)n);
	}
	sp_error_clear();
	free_slot(w);
}

static void submit_request(struct sp_page_waiting *w, const struct sp_request *q)
{
	struct sp_server_own_request own = {.client = sp_http_client(w->request), .done = finish_request, .arg = w};
	char *line SP_FREE = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&line, &n);
	int r = out ? 0 : -ENOMEM;

	if (out) {
		sp_request_write(q, out);
		r = fclose(out) ? -ENOMEM : 0;
	}
	w->at_ns = 0;
	w->output = memfd_create("soprof-page", MFD_CLOEXEC);
	if (r == 0 && w->output < 0)
		r = -errno;
	if (r == 0) {
		line[n - 1] = '\0'; /* the newline */
		own.line = line;
		own.output = w->output;
		r = sp_server_submit(w->page->owner.server, &own, &w->client);
	}
	if (r == 0)
		return;
	sp_http_say(w->request, r == -EBADMSG ? 414 : http_status(r), "%s\n", sp_error_text(r));
	sp_error_clear();
	free_slot(w);
}

static unsigned count_of_client(const struct sp_page *p, uint64_t client)
{
	unsigned n = 0;

	for (size_t i = 0; i < SP_PAGE_WAITING; i++)
		n += p->waiting[i].request && sp_http_client(p->waiting[i].request) == client;
	return n;
}

/* Reserves a slot and defers the request; without a free one it answers the request. */
static struct sp_page_waiting *reserve_slot(struct sp_page *p, struct sp_http_request *q)
{
	bool has_place = count_of_client(p, sp_http_client(q)) < SP_PAGE_OF_CLIENT;

	for (size_t i = 0; has_place && i < SP_PAGE_WAITING; i++) {
		struct sp_page_waiting *w = &p->waiting[i];
		if (w->request)
			continue;
		*w = (struct sp_page_waiting){.page = p, .request = q, .output = -1};
		sp_http_defer(q, cancel_request, w);
		return w;
	}
	sp_http_say(q, 503, "The agent has too many requests to answer.\n");
	return NULL;
}

/* --- routes that a process answers --- */
/* Ranges until now need the current window, which costs the agent the naming of its functions. */
static bool includes_now(const char *path, const char *query)
{
	return !strcmp(path, "/api/v1/live") || strstr(query, "seconds=");
}

static void handle_api(void *arg, struct sp_http_request *q)
{
	struct sp_page *p = arg;
	struct sp_request request = {.what = SP_ASK_API,
				     .path = sp_http_path(q),
				     .params = sp_http_query(q),
				     .coding = sp_http_accepts(q, "gzip") ? "gzip" : NULL};
	struct sp_page_waiting *w = reserve_slot(p, q);

	request.wants_current = includes_now(request.path, request.params);
	if (w)
		submit_request(w, &request);
}

static void submit_profile(struct sp_page_waiting *w)
{
	struct sp_request q = {
	    .what = SP_ASK_QUERY,
	    .query = {.from_ns = w->from_ns, .to_ns = w->to_ns, .all_users = true, .resolution = -1}};

	submit_request(w, &q);
}

/* Finds NAME=NUMBER in a query; without it *ret_value is unchanged. */
static int parse_parameter(const char *query, const char *name, uint64_t max, uint64_t *ret_value)
{
	size_t len = strlen(name);

	while (*query) {
		size_t n = strcspn(query, "&");
		char value[24];
		if (n > len && !strncmp(query, name, len) && query[len] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)(n - len - 1), query + len + 1);
			return n - len - 1 < sizeof(value) ? sp_parse_number(value, 0, max, ret_value) : -EINVAL;
		}
		query += n + (query[n] == '&');
	}
	return 0;
}

/*
 * Windows that ended in the last N seconds, so that a client that asks every N seconds gets each once; or in the next.
 * Windows end at multiples of ten seconds, and are stored some seconds later.
 */
static void set_profile_range(struct sp_page_waiting *w, uint64_t seconds, bool is_waiting)
{
	uint64_t wall = sp_time_ns(CLOCK_REALTIME), window = WINDOW_S * SP_NS_PER_S, end;

	end = is_waiting ? wall + seconds * SP_NS_PER_S : wall - STORE_DELAY_S * SP_NS_PER_S;
	w->from_ns = (end - seconds * SP_NS_PER_S) / window * window;
	w->to_ns = end / window * window;
	if (is_waiting)
		w->at_ns = sp_time_ns(CLOCK_MONOTONIC) + (seconds + STORE_DELAY_S) * SP_NS_PER_S;
}

static unsigned count_timed(const struct sp_page *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < SP_PAGE_WAITING; i++)
		n += p->waiting[i].request && p->waiting[i].is_timed;
	return n;
}

static void handle_profile(void *arg, struct sp_http_request *q)
{
	uint64_t seconds = PPROF_SECONDS, is_waiting = 0;
	const char *query = sp_http_query(q);
	struct sp_page_waiting *w;

	if (((struct sp_page *)arg)->owner.is_fleet)
		return sp_http_say(q, 404, "A fleet's profiles are at /api/v1/profile.\n");
	if (parse_parameter(query, "wait", 1, &is_waiting) < 0 ||
	    parse_parameter(query, "seconds", is_waiting ? MAX_WAIT_SECONDS : MAX_SECONDS, &seconds) < 0)
		return sp_http_say(q, 400, "seconds is a number up to %d (with wait=1 up to %d), wait is 0 or 1.\n",
				   MAX_SECONDS, MAX_WAIT_SECONDS);
	if (is_waiting && count_timed(arg) >= SP_PAGE_TIMED)
		return sp_http_say(q, 503, "%d profiles of the time to come are waited for already.\n", SP_PAGE_TIMED);
	w = reserve_slot(arg, q);
	if (!w)
		return;
	w->is_profile = true;
	w->is_timed = is_waiting;
	set_profile_range(w, SP_MAX(seconds, WINDOW_S), is_waiting);
	if (!is_waiting)
		submit_profile(w);
}

/* --- routes that are answered at once --- */
static void handle_page(void *arg, struct sp_http_request *q)
{
	struct sp_page *p = arg;
	struct sp_http_answer a = {.status = 200,
				   .type = "text/html; charset=utf-8",
				   .policy = p->policy,
				   .etag = p->etag,
				   .bytes = p->html,
				   .n = p->n_html};

	/* Compressed at the first request, and kept. */
	if (sp_http_accepts(q, "gzip") &&
	    (p->small || sp_gzip(p->html, p->n_html, MAX_GZIP_LEVEL, &p->small, &p->n_small) == 0)) {
		a.coding = "gzip";
		a.bytes = p->small;
		a.n = p->n_small;
	}
	sp_http_answer(q, &a);
}

static void handle_icon(void *arg, struct sp_http_request *q)
{
	static const char icon[] =
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path fill=\"#d0402b\" "
	    "d=\"M0 12h16v4H0z\"/><path fill=\"#e8912d\" d=\"M0 8h11v3H0z\"/><path fill=\"#f3c64b\" "
	    "d=\"M2 4h7v3H2zM5 0h3v3H5z\"/></svg>";

	(void)arg;
	sp_http_answer(
	    q, &(struct sp_http_answer){.status = 200, .type = "image/svg+xml", .bytes = icon, .n = sizeof(icon) - 1});
}

static void handle_healthy(void *arg, struct sp_http_request *q)
{
	(void)arg;
	sp_http_say(q, 200, "soprof's agent is healthy.\n");
}

static void handle_ready(void *arg, struct sp_http_request *q)
{
	const struct sp_page *p = arg;

	if (p->owner.is_fleet)
		sp_http_say(q, 200, "soprof serves a fleet's page.\n");
	else if (!p->owner.is_ready || p->owner.is_ready(p->owner.arg))
		sp_http_say(q, 200, "soprof's agent samples and stores.\n");
	else
		sp_http_say(q, 503, "soprof's agent does not sample yet, or its store takes nothing.\n");
}

static void handle_metrics(void *arg, struct sp_http_request *q)
{
	const struct sp_page *p = arg;

	if (p->owner.metrics)
		p->owner.metrics(p->owner.arg, q);
	else
		sp_http_say(q, 404, "There are no metrics.\n");
}

static const struct sp_http_route routes[] = {
    {"/", SP_HTTP_OPEN, true, handle_page},
    {"/favicon.ico", SP_HTTP_OPEN, false, handle_icon},
    {"/-/healthy", SP_HTTP_OPEN, false, handle_healthy},
    {"/-/ready", SP_HTTP_OPEN, false, handle_ready},
    {"/metrics", SP_HTTP_OPEN, false, handle_metrics},
    {"/api/v1/", SP_HTTP_TOKEN, false, handle_api},
    {"/debug/pprof/profile", SP_HTTP_TOKEN, false, handle_profile},
    {0},
};

/* --- the loop --- */
int sp_page_fd(const struct sp_page *p)
{
	return sp_http_fd(p->http);
}

int sp_page_timeout_ms(const struct sp_page *p)
{
	uint64_t nearest = UINT64_MAX;
	int ms = sp_http_timeout_ms(p->http);

	for (size_t i = 0; i < SP_PAGE_WAITING; i++)
		if (p->waiting[i].at_ns)
			nearest = SP_MIN(nearest, p->waiting[i].at_ns);
	return sp_ms_sooner(ms, sp_ms_until(nearest));
}

void sp_page_dispatch(struct sp_page *p)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < SP_PAGE_WAITING; i++)
		if (p->waiting[i].at_ns && p->waiting[i].at_ns <= now)
			submit_profile(&p->waiting[i]);
	sp_http_dispatch(p->http);
	sp_page_tell_unpaid(p);
}

/* All addresses include localhost. */
bool sp_page_url(const struct sp_page *p, size_t i, char *ret_url, size_t size)
{
	char address[80];
	const char *port;

	if (!sp_http_address(p->http, i, address, sizeof(address)))
		return false;
	port = strrchr(address, ':');
	if (!strncmp(address, "0.0.0.0:", 8) || !strncmp(address, "[::]:", 5))
		snprintf(ret_url, size, "%s://localhost%s/", sp_http_scheme(p->http), port);
	else
		snprintf(ret_url, size, "%s://%s/", sp_http_scheme(p->http), address);
	return true;
}

/* The first address that other machines reach, else the first one. */
static bool link_address(const struct sp_page *p, char *ret_address, size_t size)
{
	for (size_t i = 0; sp_http_address(p->http, i, ret_address, size); i++)
		if (strncmp(ret_address, "127.", 4) != 0 && strncmp(ret_address, "[::1]:", 6) != 0)
			return true;
	return sp_http_address(p->http, 0, ret_address, size);
}

bool sp_page_link(const struct sp_page *p, const struct sp_agent_config *c, char *ret_url, size_t size)
{
	bool is_any, is_own;
	struct utsname host;
	char address[80];

	if (!link_address(p, address, sizeof(address)) || uname(&host) < 0)
		return false;
	is_any = !strncmp(address, "0.0.0.0:", 8) || !strncmp(address, "[::]:", 5);
	is_own = !strncmp(address, "127.", 4) || !strncmp(address, "[::1]:", 6);
	if (is_any || (c->n_hosts && !is_own))
		snprintf(ret_url, size, "%s://%s%s/", sp_http_scheme(p->http), c->n_hosts ? c->hosts[0] : host.nodename,
			 strrchr(address, ':'));
	else
		snprintf(ret_url, size, "%s://%s/", sp_http_scheme(p->http), address);
	return true;
}

void sp_page_stats(const struct sp_page *p, struct sp_http_stats *ret_stats)
{
	sp_http_stats(p->http, ret_stats);
}

/* --- start and stop --- */
/* Outside of its script and style, whose hashes are allowed. */
static int choose_html(struct sp_page *p)
{
	static const char plain[] = "<html lang=\"en\"", fleet[] = " class=\"fleet\"";
	const char *at = strstr(sp_web_page.html, plain);
	int n;

	p->html = sp_web_page.html;
	p->n_html = sp_web_page.n;
	if (!p->owner.is_fleet)
		return 0;
	if (!at)
		return sp_fail_said(-EPROTO, "the page is not as it was made");
	at += strlen(plain);
	n = asprintf(&p->fleet, "%.*s%s%s", (int)(at - sp_web_page.html), sp_web_page.html, fleet, at);
	if (n < 0) {
		p->fleet = NULL;
		return -ENOMEM;
	}
	p->html = p->fleet;
	p->n_html = (size_t)n;
	return 0;
}

static int open_page(struct sp_page *p, const struct sp_agent_config *c)
{
	struct sp_http_config config;
	char path[256];
	int r;

	r = sp_page_web_read(c, &p->web);
	if (r < 0)
		return r;
	sp_page_http_config(p, c, &config);
	config.sockets = p->owner.sockets;
	config.n_sockets = p->owner.n_sockets;
	config.peers = p->owner.peers;
	config.n_listen = p->owner.n_sockets ? 0 : c->n_listen;
	config.routes = routes;
	snprintf(p->etag, sizeof(p->etag), "%08lx-%zu", crc32(0, (const Bytef *)p->html, (uInt)p->n_html), p->n_html);
	r = sp_http_new(&config, &p->http);
	if (r < 0)
		return r;
	sp_token_path(c->socket, path, sizeof(path));
	return sp_token_make(path, c->group, p->token);
}

int sp_page_new(const struct sp_agent_config *c, const struct sp_page_owner *owner, struct sp_page **ret_page)
{
	struct sp_page *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return sp_fail(-ENOMEM, "serve HTTP");
	p->owner = *owner;
	p->verify_output = -1;
	snprintf(p->policy, sizeof(p->policy), "%s; frame-ancestors 'none'", sp_web_page.policy);
	for (size_t i = 0; i < SP_PAGE_WAITING; i++)
		p->waiting[i] = (struct sp_page_waiting){.page = p, .output = -1};
	r = choose_html(p);
	if (r == 0)
		r = open_page(p, c);
	if (r < 0) {
		sp_page_free(p);
		return r;
	}
	*ret_page = p;
	return 0;
}

void sp_page_free(struct sp_page *p)
{
	if (!p)
		return;
	sp_http_free(p->http);
	sp_page_verify_end(p);
	sp_web_config_free(p->web);
	free(p->fleet);
	free(p->small);
	explicit_bzero(p->token, sizeof(p->token));
	free(p);
}
