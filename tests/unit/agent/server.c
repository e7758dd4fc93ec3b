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
#include "worker/worker.h"
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

/* What it used is told at its end: by its exit code, whether it spun. */
static void serve(const struct sp_agent_config *c, int ready)
{
	struct sp_server_owner owner = {.status = status};
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
		int fd = client();
		if (send(fd, "soprof1 totals\n", 15, 0) != 15)
			_exit(101);
		answer_of(fd, got, sizeof(got));
		_exit(strncmp(got, "error errno=13 ", 15) ? 102 : 0);
	}
	int how;
	waitpid(pid, &how, 0);
	assert_int_equal(how, 0);
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
		struct sp_store_query q = {.all_users = true, .resolution = -1};
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_status), cmocka_unit_test(test_place), cmocka_unit_test(test_malformed),
	    cmocka_unit_test(test_crowd),  cmocka_unit_test(test_users), cmocka_unit_test(test_false_agent),
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
	rmdir(directory);
	return r;
}
