/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/socket/server.h"
#include "agent/log.h"
#include "agent/socket/server_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ACCEPTS = 64, MAX_EVENTS = 64, KIND_BITS = 2, OWN_PER_QUERY = 8 };
enum { SHARE_PART = 8, ALL_SHARE_PART = 4 }; /* of --max-cpu, for answers: an ordinary user's; that of all of them */
enum { REFUSALS = 32, REFUSALS_MS = 100 };   /* 320 a second: 1 % of a CPU at most */

static uint64_t now(void)
{
	return sp_time_ns(CLOCK_MONOTONIC);
}

static int watch_descriptor(struct sp_server *s, int op, int fd, uint32_t events, enum sp_server_event kind,
			    size_t client)
{
	struct epoll_event e = {.events = events, .data.u64 = (uint64_t)client << KIND_BITS | kind};

	return epoll_ctl(s->epoll, op, fd, &e) < 0 ? sp_fail(-errno, "watch a descriptor") : 0;
}

/* --- clients --- */
static size_t client_index(const struct sp_server *s, const struct sp_client *c)
{
	return (size_t)(c - s->clients);
}

static bool finish_child(struct sp_server *s, struct sp_client *c)
{
	bool has_answered = sp_server_child_end(s, c);

	s->stats.n_queries--;
	s->stats.n_answered += has_answered;
	s->stats.n_failed += !has_answered;
	return has_answered;
}

/* A request of the agent itself; r is the error if the process has not answered. */
static void finish_own(struct sp_server *s, struct sp_client *c, int r)
{
	struct sp_client ended = *c;

	if (c->state == SP_CLIENT_ANSWERED && finish_child(s, c)) {
		r = 0;
		sp_error_clear();
	}
	free(c->text);
	*c = (struct sp_client){0};
	s->n_own--;
	ended.done(ended.arg, r);
}

static void end_client(struct sp_server *s, struct sp_client *c)
{
	if (c->done)
		return finish_own(s, c, sp_fail_said(-EIO, "the process that was to answer has failed"));
	if (c->state == SP_CLIENT_ANSWERED)
		finish_child(s, c);
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL); /* a process that still runs may hold a copy */
	close(c->fd);
	free(c->text);
	*c = (struct sp_client){0};
	s->stats.n_clients--;
}

/* Writes what the socket takes; the rest follows when it is writable. */
static void write_answer(struct sp_server *s, struct sp_client *c)
{
	while (c->at < c->n) {
		ssize_t n = send(c->fd, c->text + c->at, c->n - c->at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		c->at += (size_t)n;
	}
	end_client(s, c);
}

static void send_answer(struct sp_server *s, struct sp_client *c, char *text, size_t n)
{
	free(c->text);
	c->text = text;
	c->n = n;
	c->at = 0;
	c->state = SP_CLIENT_WRITING;
	c->deadline_ns = now() + SP_SERVER_WRITE_MS * UINT64_C(1000000);
	if (!text || watch_descriptor(s, EPOLL_CTL_MOD, c->fd, EPOLLOUT, SP_SERVER_CLIENT, client_index(s, c)) < 0)
		end_client(s, c);
	else
		write_answer(s, c);
}

/* Sends sp_error_text(r). */
static void refuse_request(struct sp_server *s, struct sp_client *c, int r)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = c->done ? NULL : open_memstream(&text, &n);

	if (c->done)
		return finish_own(s, c, r);
	if (out) {
		fputs("error", out);
		sp_line_put_number(out, "errno", (uint64_t)-r);
		sp_line_put(out, "text", sp_error_text(r));
		fputc('\n', out);
		fclose(out);
	}
	send_answer(s, c, text, n);
}

static void answer_status(struct sp_server *s, struct sp_client *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int r = 0;

	if (!out)
		return end_client(s, c);
	fprintf(out, "ok users=%s\n", c->sees_all ? "all" : "own");
	r = s->owner.status(s->owner.arg, out);
	fprintf(out,
		"clients=%" PRIu64 "\nqueries=%" PRIu64 "\nanswered=%" PRIu64 "\nrefused=%" PRIu64 "\nfailed=%" PRIu64
		"\n",
		s->stats.n_clients, s->stats.n_queries, s->stats.n_answered, s->stats.n_refused, s->stats.n_failed);
	fclose(out);
	if (r < 0) {
		free(text);
		return refuse_request(s, c, r);
	}
	s->stats.n_answered++;
	send_answer(s, c, text, n);
}

/* --- refusals --- */
static void count_refusal(struct sp_server *s)
{
	uint64_t t = now();

	s->stats.n_refused++;
	if (t - s->refusals_ns >= REFUSALS_MS * UINT64_C(1000000)) {
		s->refusals_ns = t;
		s->n_refusals = 0;
	}
	if (++s->n_refusals < REFUSALS || s->accept_again_ns)
		return;
	s->accept_again_ns = s->refusals_ns + REFUSALS_MS * UINT64_C(1000000);
	watch_descriptor(s, EPOLL_CTL_MOD, s->listen, 0, SP_SERVER_LISTEN, 0);
}

static bool is_used_up(const struct sp_server *s, const struct sp_client *c)
{
	if (c->done)
		return sp_share_is_used_up(&s->client_shares, c->client, now());
	return !c->sees_all && (sp_share_is_used_up(&s->shares, c->uid, now()) ||
				sp_share_is_used_up(&s->all_shares, SP_SHARE_ALL_USERS, now()));
}

/* What to refuse costs is limited where clients connect. */
static int refuse_client(struct sp_server *s)
{
	s->stats.n_refused++;
	return sp_fail_said(-EDQUOT, "you have used up your CPU time for answers; ask again later");
}

static void refuse_share(struct sp_server *s, struct sp_client *c)
{
	if (c->done)
		return finish_own(s, c, refuse_client(s));
	count_refusal(s);
	refuse_request(
	    s, c,
	    sp_fail_said(-EBUSY, "user %u has used up his CPU time for answers; ask again later", (unsigned)c->uid));
}

/* --- queries --- */
/*
 * If there are two slots or more, one is reserved for clients that see all; and where these are limited, each leaves
 * one to the others.
 */
static bool may_start_query(const struct sp_server *s, const struct sp_client *c)
{
	const bool is_limited = c->done && s->owner.limits_clients;
	uint64_t n_same = 0;

	for (size_t i = 0; i < s->n_slots; i++) {
		const struct sp_client *other = &s->clients[i];
		if (other->state == SP_CLIENT_ANSWERED)
			n_same += is_limited ? sp_server_is_same(other, c) : !other->sees_all;
	}
	if (s->stats.n_queries >= s->max_queries)
		return false;
	return (c->sees_all && !is_limited) || s->max_queries < 2 || n_same + 1 < s->max_queries;
}

static struct sp_client *pick_client(const struct sp_server *s)
{
	struct sp_client *best = NULL;

	for (size_t i = 0; i < s->n_slots; i++) {
		struct sp_client *c = &s->clients[i];
		if (c->state == SP_CLIENT_WAITING && !(c->wants_current && s->is_current_asked) &&
		    may_start_query(s, c) && (!best || sp_server_is_before(c, best)))
			best = c;
	}
	return best;
}

static int start_child(struct sp_server *s, struct sp_client *c)
{
	int r = sp_server_child_start(s, c);

	if (r < 0)
		return r;
	c->state = SP_CLIENT_ANSWERED;
	s->turn = SP_MAX(s->turn, c->turn);
	s->stats.n_queries++;
	/* The process reports its own deadline to the client; this one is for a process that hangs. */
	c->deadline_ns = now() + s->query_timeout_ns + SP_NS_PER_S;
	r = watch_descriptor(s, EPOLL_CTL_ADD, c->pidfd, EPOLLIN, SP_SERVER_CHILD, client_index(s, c));
	if (r >= 0 && !c->done) /* until it has ended, only the client's hangup matters */
		r = watch_descriptor(s, EPOLL_CTL_MOD, c->fd, 0, SP_SERVER_CLIENT, client_index(s, c));
	if (r < 0)
		end_client(s, c);
	return 0;
}

void sp_server_queries_start(struct sp_server *s)
{
	struct sp_client *c;

	while ((c = pick_client(s))) {
		if (is_used_up(s, c)) { /* by what was asked before, which was answered meanwhile */
			refuse_share(s, c);
			continue;
		}
		if (c->wants_current && !sp_server_current_is_fresh(s, c)) {
			sp_server_current_ask(s, c->source);
			continue;
		}
		int r = start_child(s, c);
		if (r < 0) {
			sp_log(SP_LOG_WARNING, "a request cannot be answered: %s", sp_error_text(r));
			s->stats.n_failed++;
			refuse_request(s, c, sp_fail_said(r, "the agent cannot answer now: %s", strerror(-r)));
		}
	}
}

/* --- requests --- */
static void handle_request(struct sp_server *s, struct sp_client *c)
{
	struct sp_request q;
	char *copy SP_FREE = strdup(c->text);
	int r = copy ? sp_request_parse(copy, &q) : -ENOMEM;

	if (r < 0)
		return refuse_request(s, c, r);
	if (is_used_up(s, c))
		return refuse_share(s, c);
	if (q.what == SP_ASK_STATUS) {
		uid_t uid = c->uid;
		bool is_counted = !c->sees_all;
		uint64_t began_ns = sp_time_ns(CLOCK_THREAD_CPUTIME_ID);
		answer_status(s, c);
		if (is_counted)
			sp_server_take_share(s, uid, sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
		return;
	}
	if (q.what == SP_ASK_PASSWORD)
		return refuse_request(s, c, sp_fail_said(-EACCES, "passwords are checked for the agent's page only"));
	if ((q.what == SP_ASK_TOTALS || q.what == SP_ASK_UPGRADES || q.what == SP_ASK_API) && !c->sees_all)
		return refuse_request(s, c,
				      sp_fail_said(-EACCES, "totals of the whole machine are for root and for "
							    "members of the agent's group"));
	sp_server_set_current(s, &q, c);
	c->state = SP_CLIENT_WAITING;
	sp_server_enqueue(s, c);
	c->deadline_ns = now() + s->query_timeout_ns;
	if (watch_descriptor(s, EPOLL_CTL_MOD, c->fd, 0, SP_SERVER_CLIENT, client_index(s, c)) < 0)
		end_client(s, c);
}

/* Of the places for own requests one client may have three quarters. */
static int check_own_room(struct sp_server *s, const struct sp_client *c)
{
	const uint64_t max = s->max_queries * OWN_PER_QUERY;
	uint64_t n_same = 0;

	for (size_t i = 0; i < s->n_slots; i++)
		n_same += s->clients[i].state != SP_CLIENT_FREE && sp_server_is_same(&s->clients[i], c);
	if (s->n_own >= max)
		return sp_fail_said(-EBUSY, "the agent has too many requests to answer");
	if (c->client && n_same >= max * 3 / 4)
		return sp_fail_said(-EBUSY, "too many of your requests wait for answers");
	return is_used_up(s, c) ? refuse_client(s) : 0;
}

int sp_server_submit(struct sp_server *s, const struct sp_server_own_request *q, struct sp_client **ret_client)
{
	struct sp_client c = {.state = SP_CLIENT_WAITING,
			      .fd = q->output,
			      .pidfd = -1,
			      .sees_all = true,
			      .client = q->client,
			      .done = q->done,
			      .arg = q->arg};
	char *copy SP_FREE = strdup(q->line);
	struct sp_request request;
	size_t i = 0;
	int r = copy ? sp_request_parse(copy, &request) : -ENOMEM;

	while (i < s->n_slots && s->clients[i].state != SP_CLIENT_FREE)
		i++;
	if (r == 0)
		r = i == SP_SERVER_SLOTS ? sp_fail_said(-EBUSY, "the agent has too many requests to answer")
					 : check_own_room(s, &c);
	if (r < 0)
		return r;
	c.text = strdup(q->line);
	if (!c.text)
		return -ENOMEM;
	sp_server_enqueue(s, &c);
	c.deadline_ns = now() + s->query_timeout_ns;
	sp_server_set_current(s, &request, &c);
	s->clients[i] = c;
	s->n_slots = SP_MAX(SP_MAX(s->n_slots, i + 1), 1);
	s->n_own++;
	s->has_new = true;
	*ret_client = &s->clients[i];
	return 0;
}

static void ignore_result(void *arg, int r)
{
	(void)arg, (void)r;
	sp_error_clear();
}

void sp_server_cancel(struct sp_server *s, struct sp_client *c)
{
	c->done = ignore_result;
	end_client(s, c);
}

static void read_request(struct sp_server *s, struct sp_client *c)
{
	ssize_t n = recv(c->fd, c->text + c->n, SP_LINE_MAX - c->n, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return end_client(s, c);
	end = memchr(c->text + c->n, '\n', (size_t)n);
	if (memchr(c->text + c->n, '\0', (size_t)n))
		return refuse_request(s, c, sp_fail_said(-EBADMSG, "a NUL byte in a request"));
	c->n += (size_t)n;
	if (end) {
		*end = '\0';
		return handle_request(s, c);
	}
	if (c->n == SP_LINE_MAX)
		refuse_request(s, c, sp_fail_said(-EBADMSG, "a request of more than %d bytes", SP_LINE_MAX));
}

/* --- accepting --- */
/* For so long a client costs nothing, and its user has one connection less. */
static int begin_held(struct sp_server *s, struct sp_client *c)
{
	c->state = SP_CLIENT_HELD;
	c->deadline_ns = now() + SP_SERVER_HELD_MS * UINT64_C(1000000);
	return watch_descriptor(s, EPOLL_CTL_ADD, c->fd, 0, SP_SERVER_CLIENT, client_index(s, c));
}

static int begin_reading(struct sp_server *s, struct sp_client *c)
{
	int op = c->state == SP_CLIENT_HELD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	c->text = malloc(SP_LINE_MAX + 1);
	c->state = SP_CLIENT_READING;
	c->deadline_ns = now() + SP_SERVER_READ_MS * UINT64_C(1000000);
	return c->text ? watch_descriptor(s, op, c->fd, EPOLLIN, SP_SERVER_CLIENT, client_index(s, c)) : -ENOMEM;
}

static int add_client(struct sp_server *s, const struct sp_client *from)
{
	struct sp_client *c;
	size_t i = 0;

	while (i < s->n_slots && s->clients[i].state != SP_CLIENT_FREE)
		i++;
	if (i == SP_SERVER_SLOTS)
		return -EBUSY;
	c = &s->clients[i];
	*c = *from;
	s->n_slots = SP_MAX(s->n_slots, i + 1);
	s->stats.n_clients++;
	if ((is_used_up(s, c) ? begin_held(s, c) : begin_reading(s, c)) < 0)
		end_client(s, c);
	return 0;
}

static void accept_client(struct sp_server *s, int fd)
{
	static const char busy[] = "error errno=16 text=the%20agent%20has%20too%20many%20clients\n";
	struct sp_client c = {.fd = fd, .pidfd = -1};

	sp_server_limit_stall(s, fd);
	if (sp_server_identify(s, &c) == 0 && sp_server_has_room(s, &c) && add_client(s, &c) == 0)
		return;
	count_refusal(s);
	if (send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* the client sees a closed connection */
	}
	close(fd);
}

/* Without free descriptors a pending connection would wake the loop again and again, so accepting pauses a second. */
static void pause_accepting(struct sp_server *s, int r)
{
	sp_log(SP_LOG_WARNING, "no client is accepted for a second: %s", strerror(-r));
	s->accept_again_ns = now() + SP_NS_PER_S;
	watch_descriptor(s, EPOLL_CTL_MOD, s->listen, 0, SP_SERVER_LISTEN, 0);
}

static void accept_clients(struct sp_server *s)
{
	for (int i = 0; i < MAX_ACCEPTS && !s->accept_again_ns; i++) {
		int fd = accept4(s->listen, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			accept_client(s, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			return pause_accepting(s, -errno);
		else if (errno == EAGAIN)
			return;
	}
}

/* --- the loop --- */
static void enforce_deadlines(struct sp_server *s)
{
	uint64_t t = now();

	if (s->accept_again_ns && t >= s->accept_again_ns) {
		s->accept_again_ns = 0;
		watch_descriptor(s, EPOLL_CTL_MOD, s->listen, EPOLLIN, SP_SERVER_LISTEN, 0);
	}
	for (size_t i = 0; i < s->n_slots; i++) {
		struct sp_client *c = &s->clients[i];
		if (c->state == SP_CLIENT_FREE || t < c->deadline_ns)
			continue;
		if (c->state == SP_CLIENT_WAITING)
			refuse_request(s, c, sp_fail_said(-ETIMEDOUT, "the agent has too many requests to answer"));
		else if (c->state != SP_CLIENT_HELD || begin_reading(s, c) < 0)
			end_client(s, c);
	}
}

static void handle_client_event(struct sp_server *s, struct sp_client *c, uint32_t events)
{
	if (c->state == SP_CLIENT_FREE)
		return; /* ended by an earlier event of this round */
	if (events & (EPOLLHUP | EPOLLERR) && c->state != SP_CLIENT_READING)
		end_client(s, c);
	else if (c->state == SP_CLIENT_READING)
		read_request(s, c);
	else if (c->state == SP_CLIENT_WRITING)
		write_answer(s, c);
}

void sp_server_dispatch(struct sp_server *s)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(s->epoll, events, MAX_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		enum sp_server_event kind = events[i].data.u64 & ((1 << KIND_BITS) - 1);
		struct sp_client *c = &s->clients[events[i].data.u64 >> KIND_BITS];
		if (kind == SP_SERVER_LISTEN)
			accept_clients(s);
		else if (kind == SP_SERVER_CLIENT)
			handle_client_event(s, c, events[i].events);
		else if (c->state == SP_CLIENT_ANSWERED)
			end_client(s, c);
	}
	enforce_deadlines(s);
	sp_server_reap(s);
	s->has_new = false;
	sp_server_queries_start(s);
}

int sp_server_timeout_ms(const struct sp_server *s)
{
	uint64_t nearest = s->accept_again_ns ? s->accept_again_ns : UINT64_MAX;

	for (size_t i = 0; i < s->n_slots; i++)
		if (s->clients[i].state != SP_CLIENT_FREE)
			nearest = SP_MIN(nearest, s->clients[i].deadline_ns);
	return s->has_new ? 0 : sp_ms_until(nearest);
}

int sp_server_fd(const struct sp_server *s)
{
	return s->epoll;
}

void sp_server_stats(const struct sp_server *s, struct sp_server_stats *ret_stats)
{
	*ret_stats = s->stats;
}

/* --- start and stop --- */
void sp_server_configure(struct sp_server *s, const struct sp_agent_config *c)
{
	struct group *group = *c->group ? getgrnam(c->group) : NULL;

	if (*c->group && !group)
		sp_log(SP_LOG_NOTICE, "there is no group %s: only root sees all users' processes", c->group);
	s->has_group = group != NULL;
	s->group = group ? group->gr_gid : 0;
	s->max_clients = SP_MIN(c->max_clients, SP_SERVER_SLOTS - SP_SERVER_ROOT_CLIENTS);
	s->max_queries = c->max_queries;
	sp_share_limit(&s->shares, c->max_cpu_ppm, SHARE_PART, sp_bucket_minute_ns(c->max_cpu_ppm) / 2);
	sp_share_limit(&s->all_shares, c->max_cpu_ppm, ALL_SHARE_PART, sp_bucket_minute_ns(c->max_cpu_ppm) / 2);
	sp_share_limit(&s->client_shares, s->owner.limits_clients ? c->max_cpu_ppm : 0, SHARE_PART,
		       sp_bucket_minute_ns(c->max_cpu_ppm) / 2);
	s->query_timeout_ns = c->query_timeout_ns;
	s->query_memory_bytes = c->query_memory_bytes;
	free(s->store);
	s->store = strdup(c->store);
}

int sp_server_new(const struct sp_agent_config *c, const struct sp_server_owner *owner, struct sp_server **ret_server)
{
	struct sp_server *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return sp_fail(-ENOMEM, "the agent's socket");
	s->owner = *owner;
	s->listen = -1;
	snprintf(s->path, sizeof(s->path), "%s", c->socket);
	sp_server_configure(s, c);
	s->clients = calloc(SP_SERVER_SLOTS, sizeof(*s->clients));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (!s->clients || !s->store)
		r = -ENOMEM;
	else if (s->epoll < 0 || s->self < 0)
		r = sp_fail(-errno, "prepare the agent's socket");
	if (r >= 0 && *s->path)
		r = sp_server_listen(s);
	if (r >= 0 && *s->path)
		r = watch_descriptor(s, EPOLL_CTL_ADD, s->listen, EPOLLIN, SP_SERVER_LISTEN, 0);
	if (r < 0) {
		sp_server_free(s);
		return r;
	}
	*ret_server = s;
	return 0;
}

void sp_server_free(struct sp_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->clients && i < s->n_slots; i++)
		if (s->clients[i].state != SP_CLIENT_FREE)
			end_client(s, &s->clients[i]);
	if (s->is_ours)
		unlink(s->path);
	for (int *fd = (int[]){s->listen, s->epoll, s->self, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	sp_server_reap(s);
	free(s->clients);
	free(s->current);
	free(s->store);
	free(s);
}
