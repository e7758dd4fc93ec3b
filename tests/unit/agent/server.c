/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.c, server_child.c, answer.c and ask.c together: an agent's socket in a process of its own, and clients of all
 * kinds. What the server says of itself is asked for by a client, too: nothing here looks into it.
 */
#include "agent/server.h"
#include "agent/answer.h"
#include "agent/ask.h"
#include "agent/log.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "worker/worker.h"
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OTHER_UID = 54321, MEMBERS_GID = 54322, MAX_FDS = 2000 };

static char directory[] = "/tmp/soprof-server-XXXXXX";
static char socket_path[100];
static pid_t server_pid;

/* --- the server --------------------------------------------------------------------------------------------------- */
static int status(void *arg, FILE *out)
{
	(void)arg;
	fputs("colour=dark%20red\n", out);
	return 0;
}

static volatile sig_atomic_t ended;
static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static int (*owner_current)(void *arg, const char *source, const struct sp_profile **ret_profile,
			    struct sp_store_window *ret_window);

/* What it used is told at its end: by its exit code, whether it spun. */
static void serve(const struct sp_agent_config *c, int ready)
{
	struct sp_server_owner owner = {.status = status, .current = owner_current};
	struct sp_server *s = NULL;
	struct sigaction action = {.sa_handler = end};

	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (sp_server_new(c, &owner, &s) < 0 || write(ready, "x", 1) != 1)
		_exit(9);
	while (!ended) {
		struct pollfd p = {.fd = sp_server_fd(s), .events = POLLIN};
		poll(&p, 1, sp_server_timeout_ms(s));
		sp_server_dispatch(s);
	}
	sp_server_free(s);
	_exit(access(socket_path, F_OK) == 0 ? 8 : 0);
}

static struct sp_agent_config config(void)
{
	return (struct sp_agent_config){.socket = socket_path,
					.group = "",
					.store = "/nonexistent",
					.max_clients = 16,
					.max_queries = 2,
					.query_timeout_ns = 2 * SP_NS_PER_S,
					.query_memory_bytes = 256 << 20};
}

static void begin(const struct sp_agent_config *c)
{
	int ready[2];
	char x;

	if (server_pid) /* of a test that has failed */
		kill(server_pid, SIGKILL);
	assert_int_equal(pipe(ready), 0);
	server_pid = fork();
	if (server_pid == 0)
		serve(c, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &x, 1), 1);
	close(ready[0]);
}

static void finish(void)
{
	int how;

	kill(server_pid, SIGTERM);
	assert_int_equal(waitpid(server_pid, &how, 0), server_pid);
	assert_true(WIFEXITED(how));
	assert_int_equal(WEXITSTATUS(how), 0);
	server_pid = 0;
}

/* --- clients ------------------------------------------------------------------------------------------------------ */
static int client(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval t = {.tv_sec = 30};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(a.sun_path, socket_path, strlen(socket_path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* All that comes until the end. */
static void answer_of(int fd, char *ret_text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size && (got = recv(fd, ret_text + n, size - 1 - n, 0)) > 0)
		n += (size_t)got;
	assert_true(got == 0 || errno == ECONNRESET);
	ret_text[n] = '\0';
	close(fd);
}

static void is_answered(const void *request, size_t n, const char *text)
{
	char got[4096];
	int fd = client();

	assert_true(send(fd, request, n, MSG_NOSIGNAL) >= 0);
	answer_of(fd, got, sizeof(got));
	if (strncmp(got, text, strlen(text)) != 0)
		fail_msg("'%s' in place of '%s'", got, text);
}

static char words[2048];
static int take(void *arg, const char *name, const char *value)
{
	(void)arg;
	snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s=%s;", name, value);
	return 0;
}

static int ask_status(struct sp_ask *a)
{
	*a = (struct sp_ask){.socket = socket_path};
	words[0] = '\0';
	sp_error_clear();
	return sp_ask_status(a, take, NULL);
}

static void test_status(void **state)
{
	struct sp_agent_config c = config();
	struct sp_ask a;

	(void)state;
	begin(&c);
	assert_int_equal(ask_status(&a), 0);
	assert_string_equal(words, "colour=dark red;clients=1;queries=0;answered=0;refused=0;failed=0;");
	assert_false(a.own_only);
	assert_int_equal(ask_status(&a), 0);
	assert_non_null(strstr(words, "answered=1;"));
	finish();
	assert_int_equal(ask_status(&a), -ENOENT);
}

/* Its mode lets everybody ask; the directory is made. */
static void test_place(void **state)
{
	struct sp_agent_config c = config();
	char below[64], old[sizeof(socket_path)];
	struct stat st;
	struct sp_ask a;

	(void)state;
	memcpy(old, socket_path, sizeof(old));
	snprintf(socket_path, sizeof(socket_path), "%s/run/agent.sock", directory);
	begin(&c);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(ask_status(&a), 0);
	/* A second one does not take it away; one that was killed is no obstacle. */
	struct sp_server_owner owner = {.status = status};
	struct sp_server *s = NULL;
	assert_int_equal(sp_server_new(&c, &owner, &s), -EADDRINUSE);
	kill(server_pid, SIGKILL);
	waitpid(server_pid, NULL, 0);
	assert_int_equal(ask_status(&a), -ECONNREFUSED);
	begin(&c);
	assert_int_equal(ask_status(&a), 0);
	finish();
	/* Nor is something else that lies there removed. */
	FILE *f = fopen(socket_path, "w");
	fclose(f);
	assert_int_equal(sp_server_new(&c, &owner, &s), -EEXIST);
	assert_int_equal(unlink(socket_path), 0);
	snprintf(below, sizeof(below), "%s/run", directory);
	rmdir(below);
	memcpy(socket_path, old, sizeof(old));
}

static void test_malformed(void **state)
{
	struct sp_agent_config c = config();
	char *huge = malloc(100000);
	struct sp_ask a;

	(void)state;
	begin(&c);
	is_answered("GET / HTTP/1.1\r\n\r\n", 18, "error errno=74 text=a%20request%20begins%20with%20soprof1\n");
	is_answered("\n", 1, "error errno=74 ");
	is_answered("soprof1 status\0\n", 16, "error errno=74 text=a%20NUL%20byte");
	is_answered("soprof1 query library=\x1b[31m\n", 28, "error errno=74 text=a%20character");
	is_answered("soprof1 status\nsoprof1 status\n", 30, "ok users=all\n");
	memset(huge, 'a', 100000);
	is_answered(huge, 100000, "error errno=74 text=a%20request%20of%20more");
	free(huge);
	/* one that goes without a word, one that goes in the middle of a word */
	close(client());
	int fd = client();
	assert_int_equal(send(fd, "soprof1 sta", 11, 0), 11);
	close(fd);
	/* in pieces */
	fd = client();
	for (const char *p = "soprof1 status\n"; *p; p++)
		assert_int_equal(send(fd, p, 1, 0), 1);
	char got[256];
	answer_of(fd, got, sizeof(got));
	assert_int_equal(strncmp(got, "ok users=all\ncolour=dark%20red\n", 31), 0);
	assert_int_equal(ask_status(&a), 0);
	finish();
}

/* A thousand clients that say nothing: those beyond the limit are told so, and the agent does nothing for them. */
static void test_crowd(void **state)
{
	struct sp_agent_config c = config();
	static int fds[MAX_FDS];
	struct rlimit l = {.rlim_cur = MAX_FDS + 100, .rlim_max = MAX_FDS + 100};
	struct sp_ask a;
	char got[256];
	int n = 1000;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	begin(&c);
	for (int i = 0; i < n; i++)
		fds[i] = client();
	/* root has more places than the 16; the others were turned away */
	answer_of(fds[n - 1], got, sizeof(got));
	assert_string_equal(got, "error errno=16 text=the%20agent%20has%20too%20many%20clients\n");
	assert_int_equal(ask_status(&a), -EBUSY);
	assert_string_equal(sp_error_text(-EBUSY) + strlen("the agent at ") + strlen(socket_path),
			    ": the agent has too many clients");
	for (int i = 0; i < n - 1; i++)
		close(fds[i]);
	for (int i = 0; i < 1000 && ask_status(&a) < 0; i++)
		usleep(1000); /* until it has seen that they have gone */
	assert_non_null(strstr(words, "clients=1;"));
	assert_non_null(strstr(words, "refused=981;"));
	finish();
}

/* --- the store ---------------------------------------------------------------------------------------------------- */
static const uint64_t begin_ns = 1763755200 * SP_NS_PER_S; /* a full hour */
static char store_path[100];

static uint32_t string(struct sp_profile *p, const char *text)
{
	return (uint32_t)sp_profile_add_string(p, text);
}

/* One row of a process of this user, in a function of a library of its own. */
static void add_row(struct sp_profile *p, uint32_t uid, const char *name, int64_t n)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .name = string(p, name), .path = string(p, name), .tag = uid + 1};
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	struct sp_func func = {.name = string(p, "work"), .linkage_name = string(p, "work"), .file = f, .size = 16};
	struct sp_frame frame = {.file = f, .func = (uint32_t)sp_profile_add_func(p, &func)};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);
	struct sp_stack stack = {.stack_class = SP_STACK_COMPLETE, .n_frames = 1, .frames = &number};
	struct sp_process process = {
	    .pid = uid + 2, .ns_pid = uid + 2, .uid = uid, .exe = f, .comm = string(p, name), .start_ns = 7};
	struct sp_key key = {.process = (uint32_t)sp_profile_add_process(p, &process),
			     .comm = string(p, name),
			     .recipe = string(p, "cpu")};
	sp_profile_frame(p, number)->func = frame.func;
	assert_int_equal(
	    sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), (uint32_t)sp_profile_add_stack(p, &stack), 0, &n),
	    0);
}

static struct sp_profile *window(int64_t n_root, int64_t n_other)
{
	struct sp_profile *p = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	if (n_root)
		add_row(p, 0, "libroot.so", n_root);
	if (n_other)
		add_row(p, OTHER_UID, "libother.so", n_other);
	return p;
}

static struct sp_store_window window_at(uint64_t i)
{
	return (struct sp_store_window){.wall_ns = begin_ns + i * 10 * SP_NS_PER_S,
					.boot_ns = (i + 1) * 10 * SP_NS_PER_S,
					.duration_ns = 10 * SP_NS_PER_S,
					.rate_mhz = 19000,
					.n_cpus = 2,
					.source = "cpu"};
}

/* Three windows of 10 s: 100 samples of root each, 7 of the other. */
static void fill_store(void)
{
	struct sp_store *s = NULL;
	struct sp_profile *p = window(100, 7);
	struct sp_store_event gap = {
	    .from_ns = begin_ns, .to_ns = begin_ns + 5, .kind = "gap", .subject = "x", .text = "asleep", .data = ""};
	struct sp_store_event upgrade = {.from_ns = begin_ns,
					 .to_ns = begin_ns,
					 .kind = "upgrade",
					 .subject = "libroot.so",
					 .text = "new one",
					 .data = ""};

	if (*store_path)
		return;
	snprintf(store_path, sizeof(store_path), "%s/store", directory);
	assert_int_equal(sp_store_open(store_path, &(struct sp_store_options){0}, &s), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct sp_store_window w = window_at(i);
		assert_int_equal(sp_store_add(s, &w, p), 0);
	}
	assert_int_equal(sp_store_event_add(s, &gap), 0);
	assert_int_equal(sp_store_event_add(s, &upgrade), 0);
	sp_profile_free(p);
	sp_store_close(s);
}

static int query(struct sp_ask *a, struct sp_store_query q, int64_t *ret_samples, struct sp_store_answer *ret_answer)
{
	struct sp_profile *p = NULL;
	int r;

	*a = (struct sp_ask){.socket = socket_path};
	*ret_samples = 0;
	sp_error_clear();
	r = sp_ask_query(a, &q, &p, ret_answer);
	for (uint32_t i = 0; r == 0 && i < sp_profile_n_rows(p); i++)
		*ret_samples += sp_profile_row(p, i)->values[0];
	sp_profile_free(p);
	return r;
}

static const struct sp_store_query everything = {
    .from_ns = 1, .to_ns = INT64_MAX, .all_users = true, .resolution = SP_RES_10S};

static void test_query(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	int64_t n;

	(void)state;
	fill_store();
	c.store = store_path;
	begin(&c);
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 321);
	assert_int_equal(answer.n_windows, 3);
	assert_int_equal(answer.covered_ns, 30 * SP_NS_PER_S);
	assert_int_equal(answer.from_ns, begin_ns);
	assert_int_equal(answer.to_ns, begin_ns + 30 * SP_NS_PER_S);
	q.library = "libother*";
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 21);
	q = everything;
	q.all_users = false;
	q.uid = OTHER_UID;
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 21);
	q = everything;
	q.from_ns = begin_ns + 10 * SP_NS_PER_S;
	q.to_ns = begin_ns + 20 * SP_NS_PER_S;
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 107);
	q.source = "nothing";
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 0);
	assert_int_equal(answer.n_windows, 0);
	finish();
}

/* --- the window that is not stored yet ---------------------------------------------------------------------------- */
static uint64_t current_number;

static int current(void *arg, const char *source, const struct sp_profile **ret_profile,
		   struct sp_store_window *ret_window)
{
	static struct sp_profile *p;

	(void)arg;
	if (strcmp(source, "cpu") != 0)
		return -ENOENT;
	if (!p)
		p = window(1000, 50);
	*ret_profile = p;
	*ret_window = window_at(current_number);
	return 0;
}

static void test_current(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	int64_t n;

	(void)state;
	fill_store();
	c.store = store_path;
	owner_current = current;
	current_number = 3;
	begin(&c);
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 321 + 1050);
	assert_int_equal(answer.n_windows, 4);
	assert_int_equal(answer.to_ns, begin_ns + 40 * SP_NS_PER_S);
	q.library = "libother*";
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 21 + 50);
	q = everything;
	q.all_users = false;
	q.uid = OTHER_UID;
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 21 + 50);
	finish();
	/* It was stored in the meantime: it counts once. */
	current_number = 2;
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), 0);
	assert_int_equal(n, 321);
	finish();
	owner_current = NULL;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */
static void test_limits(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_answer answer;
	struct sp_ask a;
	int64_t n;

	(void)state;
	fill_store();
	c.store = store_path;
	c.query_timeout_ns = 1000;
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), -ETIMEDOUT);
	assert_int_equal(ask_status(&a), 0);
	assert_non_null(strstr(words, "queries=0;"));
	finish();
	c = config(); /* a store that is not there */
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), -EIO);
	assert_non_null(strstr(sp_error_text(-EIO), "/nonexistent"));
	finish();
}

/* More questions than are answered at once, some of whose clients do not wait. */
static void test_turns(void **state)
{
	struct sp_agent_config c = config();
	int fds[12];
	char got[8192];
	struct sp_ask a;

	(void)state;
	fill_store();
	c.store = store_path;
	c.query_timeout_ns = 30 * SP_NS_PER_S;
	begin(&c);
	for (int i = 0; i < 12; i++) {
		fds[i] = client();
		assert_int_equal(send(fds[i], "soprof1 query\n", 14, 0), 14);
		if (i % 3 == 2)
			close(fds[i]);
	}
	for (int i = 0; i < 12; i++) {
		if (i % 3 == 2)
			continue;
		answer_of(fds[i], got, sizeof(got));
		assert_int_equal(strncmp(got, "ok users=all from=", 18), 0);
	}
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(ask_status(&a), 0);
		if (strstr(words, "clients=1;queries=0;"))
			break;
		usleep(1000);
	}
	assert_non_null(strstr(words, "clients=1;queries=0;"));
	finish();
}

static char events[256];
static int take_event(void *arg, const struct sp_store_event *e)
{
	(void)arg;
	snprintf(events + strlen(events), sizeof(events) - strlen(events), "%s %s: %s;", e->kind, e->subject, e->text);
	return 0;
}

static int ask_events(struct sp_ask *a)
{
	*a = (struct sp_ask){.socket = socket_path};
	events[0] = '\0';
	return sp_ask_events(a, begin_ns - 1, begin_ns + SP_NS_PER_S, take_event, NULL);
}

/* --- other users -------------------------------------------------------------------------------------------------- */
/* In a process that is the other user: fds clients without a word, then the status. */
static int as_other(gid_t gid, gid_t further, int n_fds)
{
	pid_t pid = fork();
	int how;

	if (pid == 0) {
		struct sp_ask a;
		int r;
		if (setgroups(1, &further) || setresgid(gid, gid, gid) || setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
			_exit(100);
		for (int i = 0; i < n_fds; i++)
			client();
		r = ask_status(&a);
		_exit(r < 0 ? -r : a.own_only ? 1 : 0);
	}
	waitpid(pid, &how, 0);
	assert_true(WIFEXITED(how));
	return WEXITSTATUS(how);
}

static void test_users(void **state)
{
	struct sp_agent_config c = config();
	struct group *g = getgrgid(4); /* adm */
	struct sp_ask a;
	char got[256];

	(void)state;
	if (geteuid() != 0 || !g) {
		print_message("skip: needs root and group 4\n");
		skip();
	}
	fill_store();
	c.store = store_path;
	c.group = g->gr_name;
	assert_int_equal(chmod(directory, 0755), 0);
	begin(&c);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 0), 1); /* sees his own only */
	assert_int_equal(as_other(g->gr_gid, MEMBERS_GID, 0), 0);   /* a member, by his own group */
	assert_int_equal(as_other(MEMBERS_GID, g->gr_gid, 0), 0);   /* or by another of his */
	/* An ordinary user has a quarter of the places, so that others find some. */
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 3), 1);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 4), EBUSY);
	assert_int_equal(ask_status(&a), 0);
	/* What is of the whole machine is not for him. */
	pid_t pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) || setresgid(OTHER_UID, OTHER_UID, OTHER_UID) ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
			_exit(100);
		struct sp_store_query q = everything;
		struct sp_store_answer answer;
		int64_t n;
		/* His own, whatever he asks for; and not a word of what others' libraries are. */
		if (query(&a, q, &n, &answer) != 0 || n != 21 || !a.own_only)
			_exit(103);
		q.all_users = false;
		if (query(&a, q, &n, &answer) != -EACCES)
			_exit(104);
		q.uid = OTHER_UID;
		if (query(&a, q, &n, &answer) != 0 || n != 21)
			_exit(105);
		if (ask_events(&a) != 0 || strcmp(events, "gap x: asleep;") != 0)
			_exit(106);
		int fd = client();
		if (send(fd, "soprof1 totals\n", 15, 0) != 15)
			_exit(101);
		answer_of(fd, got, sizeof(got));
		_exit(strncmp(got, "error errno=13 ", 15) ? 102 : 0);
	}
	int how;
	waitpid(pid, &how, 0);
	assert_int_equal(how, 0);
	assert_int_equal(ask_events(&a), 0);
	assert_non_null(strstr(events, "gap x: asleep;"));
	assert_non_null(strstr(events, "upgrade libroot.so: new one;"));
	finish();
}

/* --- a client that is no agent's friend --------------------------------------------------------------------------- */
/* What is not an agent at the other end: its every answer is an error, and none waits for ever. */
static void test_false_agent(void **state)
{
	static const char *const answers[] = {"",
					      "\n",
					      "hello\n",
					      "ok\n",
					      "ok users=all",
					      "error\n",
					      "error errno=2 text=x\n",
					      "ok users=all from=x\n",
					      "ok users=all from=1 to=2\nnot a profile",
					      "ok users=all from=1 to=2\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01"};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	memcpy(a.sun_path, socket_path, strlen(socket_path));
	assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s, 16), 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct sp_ask ask = {.socket = socket_path, .timeout_ms = 20000};
		struct sp_store_query q = {.all_users = true, .resolution = SP_RES_10S};
		struct sp_store_answer answer;
		struct sp_profile *p = NULL;
		pid_t pid = fork();
		if (pid == 0) {
			int fd = accept(s, NULL, NULL);
			char request[256];
			ssize_t n = recv(fd, request, sizeof(request), 0);
			_exit(n > 0 && send(fd, answers[i], strlen(answers[i]), 0) >= 0 ? 0 : 1);
		}
		int r = sp_ask_query(&ask, &q, &p, &answer);
		assert_true(r < 0 && r != -ENOENT && r != -ECONNREFUSED);
		assert_null(p);
		waitpid(pid, NULL, 0);
	}
	/* one that never answers */
	struct sp_ask ask = {.socket = socket_path, .timeout_ms = 100};
	assert_int_equal(sp_ask_status(&ask, take, NULL), -ETIMEDOUT);
	close(s);
	unlink(socket_path);
}

static void remove_store(void)
{
	DIR *d = *store_path ? opendir(store_path) : NULL;
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", store_path, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	if (*store_path)
		rmdir(store_path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_status),      cmocka_unit_test(test_place), cmocka_unit_test(test_malformed),
	    cmocka_unit_test(test_crowd),       cmocka_unit_test(test_query), cmocka_unit_test(test_current),
	    cmocka_unit_test(test_limits),      cmocka_unit_test(test_turns), cmocka_unit_test(test_users),
	    cmocka_unit_test(test_false_agent),
	};
	int r;

	sp_worker_main(argc, argv);
	sp_answer_main(argc, argv);
	sp_log_open(SP_LOG_ERROR);
	if (!mkdtemp(directory))
		return 1;
	snprintf(socket_path, sizeof(socket_path), "%s/agent.sock", directory);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	if (server_pid)
		kill(server_pid, SIGKILL);
	unlink(socket_path);
	remove_store();
	rmdir(directory);
	return r;
}
