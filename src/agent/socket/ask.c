/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/socket/ask.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/profile.h"
#include "read/read.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_MS = 60000, CHECK_MS = 1000, MAX_LINES = 10000000, MAX_ERRNO = 4095, STAT_BYTES = 4096 };

static const char *socket_path(const struct sp_ask *a)
{
	return a->socket ? a->socket : SP_AGENT_SOCKET;
}

static int get_timeout_ms(const struct sp_ask *a)
{
	return a->timeout_ms ? a->timeout_ms : DEFAULT_TIMEOUT_MS;
}

static int set_timeout(int fd, int option, int ms)
{
	struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	return setsockopt(fd, SOL_SOCKET, option, &timeout, sizeof(timeout)) < 0 ? -errno : 0;
}

/* --- connection --- */
static int connect_to(const struct sp_ask *a, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = socket_path(a);

	if (strlen(path) >= sizeof(address.sun_path))
		return sp_fail_said(-EINVAL, "%s: longer than the name of a socket may be", path);
	memcpy(address.sun_path, path, strlen(path));
	SP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || set_timeout(fd, SO_SNDTIMEO, get_timeout_ms(a)) < 0)
		return sp_fail(-errno, "make a socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return sp_fail(-errno, "ask the agent at %s", path);
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

static int send_request(int fd, const struct sp_request *q)
{
	char *text SP_FREE = NULL;
	size_t n = 0, at = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return -ENOMEM;
	sp_request_write(q, out);
	if (fclose(out))
		return -ENOMEM;
	if (n > SP_LINE_MAX)
		return sp_fail_said(-EINVAL, "a question of more than %d bytes", SP_LINE_MAX);
	while (at < n) {
		ssize_t sent = send(fd, text + at, n - at, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return -errno;
		at += sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

/*
 * The pid of the peer if a signal has stopped it, so that no answer will come; else 0. Traced processes, which are
 * stopped for moments, do not count.
 */
static int find_stopped_peer(int fd)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	SP_FREE char *stat = NULL;
	char path[32];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)peer.pid);
	if (sp_text_read(path, STAT_BYTES, &stat, NULL) < 0) {
		sp_error_clear();
		return 0;
	}
	const char *name_end = strrchr(stat, ')');
	return name_end && !strncmp(name_end, ") T", 3) ? (int)peer.pid : 0;
}

/* Waits until there is something to read, the connection has ended, or no answer can come. */
static int wait_for_answer(const struct sp_ask *a, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int left_ms = get_timeout_ms(a), pid, r = 0;

	for (; left_ms > 0 && r == 0; left_ms -= CHECK_MS) {
		r = poll(&p, 1, SP_MIN(left_ms, CHECK_MS));
		r = r < 0 && errno == EINTR ? 0 : r;
		pid = r == 0 ? find_stopped_peer(fd) : 0;
		if (pid)
			return sp_fail_said(-ETIMEDOUT, "the agent at %s (process %d) is stopped", socket_path(a), pid);
	}
	if (r < 0)
		return sp_fail(-errno, "hear from the agent at %s", socket_path(a));
	return r ? 0 : sp_fail_said(-ETIMEDOUT, "the agent at %s does not answer", socket_path(a));
}

/* EAGAIN is the receive timeout. */
static int fail_receive(const struct sp_ask *a, ssize_t n)
{
	if (n == 0)
		return sp_fail_said(-ECONNRESET, "the agent at %s has ended the connection", socket_path(a));
	if (errno == EAGAIN)
		return sp_fail_said(-ETIMEDOUT, "the agent at %s does not answer", socket_path(a));
	return sp_fail(-errno, "hear from the agent at %s", socket_path(a));
}

/* Up to the newline and not a byte more, because the caller reads what follows. */
static int receive_line(const struct sp_ask *a, int fd, char *ret_line)
{
	size_t n = 0;
	int r;

	while (n < SP_LINE_MAX) {
		r = wait_for_answer(a, fd);
		if (r < 0)
			return r;
		ssize_t n_received = recv(fd, ret_line + n, SP_LINE_MAX - n, MSG_PEEK);
		if (n_received < 0 && errno == EINTR)
			continue;
		if (n_received <= 0)
			return fail_receive(a, n_received);
		char *end = memchr(ret_line + n, '\n', (size_t)n_received);
		size_t n_line = end ? (size_t)(end - (ret_line + n)) + 1 : (size_t)n_received;
		if (recv(fd, ret_line + n, n_line, 0) != (ssize_t)n_line)
			return -EIO;
		n += n_line;
		if (end) {
			*end = '\0';
			return 0;
		}
	}
	return sp_fail_said(-EBADMSG, "what answers at %s is no agent: its first line does not end", socket_path(a));
}

static int fail_refused(const struct sp_ask *a, const struct sp_line *l)
{
	uint64_t number = EIO;
	const char *text = sp_line_word(l, "text");

	if (sp_line_number(l, "errno", &number) < 0 || number == 0 || number > MAX_ERRNO)
		number = EIO;
	/* These two mean that nobody listens, which cannot come from a listener. */
	if (number == ENOENT || number == ECONNREFUSED)
		number = EIO;
	return sp_fail_said(-(int)number, "the agent at %s: %s", socket_path(a), text ? text : strerror((int)number));
}

/* Sends q and receives the first line of the answer. The caller reads the rest from *ret_fd. */
static int request_answer(struct sp_ask *a, const struct sp_request *q, char *line, struct sp_line *ret_line,
			  int *ret_fd)
{
	SP_CLOSE int fd = -1;
	const char *users;
	int r = connect_to(a, &fd);

	if (r == 0)
		r = send_request(fd, q);
	if (r == 0 || r == -EPIPE || r == -ECONNRESET) /* the agent may have refused it before it read all */
		r = receive_line(a, fd, line);
	if (r == 0) /* for what follows */
		r = set_timeout(fd, SO_RCVTIMEO, get_timeout_ms(a));
	if (r == 0)
		r = sp_line_parse(line, true, ret_line);
	if (r < 0)
		return r;
	if (!strcmp(ret_line->first, "error"))
		return fail_refused(a, ret_line);
	users = sp_line_word(ret_line, "users");
	if (strcmp(ret_line->first, "ok") != 0 || !users)
		return sp_fail_said(-EBADMSG, "what answers at %s is no agent", socket_path(a));
	a->own_only = strcmp(users, "all") != 0;
	*ret_fd = sp_take_fd(&fd);
	return 0;
}

/* --- profiles --- */
int sp_ask_query(struct sp_ask *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		 struct sp_store_answer *ret_answer)
{
	struct sp_request request = {.what = SP_ASK_QUERY, .query = *q};
	struct sp_read_options o = {.format = "pprof"};
	struct sp_read_result result = {0};
	char text[SP_LINE_MAX + 1];
	struct sp_line line;
	SP_CLOSE int fd = -1;
	int r = request_answer(a, &request, text, &line, &fd);

	if (r == 0)
		r = sp_answer_parse(&line, ret_answer);
	if (r == 0)
		r = sp_read_fd(fd, "the agent's answer", &o, ret_profile, &result);
	return r;
}

/* --- lines --- */
struct lines {
	struct sp_ask *a;
	int (*parse)(const struct lines *l, const struct sp_line *line);
	union {
		int (*event)(void *arg, const struct sp_store_event *e);
		int (*total)(void *arg, const struct sp_store_total *t);
		int (*status)(void *arg, const char *name, const char *value);
	} each;
	void *arg;
};

static int parse_answer_line(const struct lines *l, char *text)
{
	struct sp_line line;
	size_t n = strcspn(text, "\n");
	int r;

	if (!text[n])
		return sp_fail_said(-EBADMSG, "the agent's answer ends in the middle of a line");
	text[n] = '\0';
	r = sp_line_parse(text, false, &line);
	return r == 0 ? l->parse(l, &line) : sp_fail(r, "the agent's answer");
}

static int read_lines(const struct lines *l, int fd)
{
	char text[SP_LINE_MAX + 2];
	FILE *in SP_FCLOSE = fdopen(dup(fd), "r");
	int r = 0;

	if (!in)
		return -errno;
	for (int n = 0; r == 0 && n < MAX_LINES && fgets(text, sizeof(text), in); n++)
		r = parse_answer_line(l, text);
	if (r == 0 && ferror(in))
		return fail_receive(l->a, -1);
	return r;
}

static int request_lines(struct lines *l, const struct sp_request *q)
{
	char text[SP_LINE_MAX + 1];
	struct sp_line line;
	SP_CLOSE int fd = -1;
	int r = request_answer(l->a, q, text, &line, &fd);

	return r == 0 ? read_lines(l, fd) : r;
}

static const char *get_text(const struct sp_line *line, const char *name)
{
	const char *value = sp_line_word(line, name);

	return value ? value : "";
}

static int parse_event(const struct lines *l, const struct sp_line *line)
{
	struct sp_store_event e = {.kind = get_text(line, "kind"),
				   .subject = get_text(line, "subject"),
				   .text = get_text(line, "text"),
				   .data = get_text(line, "data")};
	int r = sp_line_number(line, "from", &e.from_ns);

	if (r == 0)
		r = sp_line_number(line, "to", &e.to_ns);
	return r == 0 ? l->each.event(l->arg, &e) : r;
}

int sp_ask_events(struct sp_ask *a, uint64_t from_ns, uint64_t to_ns,
		  int (*each)(void *arg, const struct sp_store_event *e), void *arg)
{
	struct sp_request q = {.what = SP_ASK_EVENTS, .query = {.from_ns = from_ns, .to_ns = to_ns}};
	struct lines l = {.a = a, .parse = parse_event, .each.event = each, .arg = arg};

	return request_lines(&l, &q);
}

/* "5,17"; the others stay as they are. */
static int parse_values(const char *text, int64_t *ret_values)
{
	const char *at = text;

	for (int i = 0; i < SP_MAX_VALUES; i++) {
		char *end;
		errno = 0;
		ret_values[i] = strtoll(at, &end, 10);
		if (errno || end == at || (*end && *end != ','))
			break;
		if (!*end)
			return 0;
		at = end + 1;
	}
	return sp_fail_said(-EBADMSG, "the agent's answer: '%s' is not up to %d numbers", text, SP_MAX_VALUES);
}

static int parse_id(const char *text, uint8_t *ret_id, uint32_t *ret_len)
{
	size_t n = strlen(text) / 2;

	if (n > SP_BUILD_ID_MAX || strlen(text) % 2 || strspn(text, "0123456789abcdef") != strlen(text))
		return sp_fail_said(-EBADMSG, "the agent's answer: '%s' is no build id", text);
	for (size_t i = 0; i < n; i++) {
		char two[3] = {text[2 * i], text[2 * i + 1]};
		ret_id[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	*ret_len = (uint32_t)n;
	return 0;
}

/* "samples,count,cpu,nanoseconds"; parsed in place. */
static int parse_types(char *text, struct sp_store_total *t)
{
	for (char *word = strsep(&text, ","); word && *word; word = strsep(&text, ",")) {
		if (!text || t->n_values == SP_MAX_VALUES)
			return sp_fail_said(
			    -EBADMSG, "the agent's answer: '%s' is a value without a unit, or one too many", word);
		t->value_names[t->n_values] = word;
		t->value_units[t->n_values++] = strsep(&text, ",");
	}
	return 0;
}

static int parse_total(const struct lines *l, const struct sp_line *line)
{
	char types[512];
	uint8_t id[SP_BUILD_ID_MAX];
	struct sp_store_total t = {
	    .file = get_text(line, "file"), .function = get_text(line, "function"), .build_id = id};
	int r = sp_line_number(line, "wall", &t.wall_ns);

	if (r == 0)
		r = parse_id(get_text(line, "id"), id, &t.build_id_len);
	if (r == 0)
		r = parse_values(get_text(line, "self"), t.self);
	if (r == 0)
		r = parse_values(get_text(line, "total"), t.total);
	if (r == 0 && strlen(get_text(line, "types")) >= sizeof(types))
		r = sp_fail_said(-EBADMSG, "the agent's answer: too many types of values");
	if (r == 0) {
		memcpy(types, get_text(line, "types"), strlen(get_text(line, "types")) + 1);
		r = parse_types(types, &t);
	}
	return r == 0 ? l->each.total(l->arg, &t) : r;
}

int sp_ask_totals(struct sp_ask *a, const struct sp_store_query *q, bool by_function,
		  int (*each)(void *arg, const struct sp_store_total *t), void *arg, struct sp_store_answer *ret_answer)
{
	struct sp_request request = {.what = SP_ASK_TOTALS, .query = *q, .by_function = by_function};
	struct lines l = {.a = a, .parse = parse_total, .each.total = each, .arg = arg};
	char text[SP_LINE_MAX + 1];
	struct sp_line line;
	SP_CLOSE int fd = -1;
	int r = request_answer(a, &request, text, &line, &fd);

	if (r == 0)
		r = sp_answer_parse(&line, ret_answer);
	return r == 0 ? read_lines(&l, fd) : r;
}

static int parse_status(const struct lines *l, const struct sp_line *line)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < line->n; i++)
		r = l->each.status(l->arg, line->words[i].name, line->words[i].value);
	return r;
}

int sp_ask_status(struct sp_ask *a, int (*each)(void *arg, const char *name, const char *value), void *arg)
{
	struct sp_request q = {.what = SP_ASK_STATUS};
	struct lines l = {.a = a, .parse = parse_status, .each.status = each, .arg = arg};

	return request_lines(&l, &q);
}
