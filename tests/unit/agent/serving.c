/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serving.h"
#include "agent/answer/answer.h"
#include "agent/log.h"
#include "worker/worker.h"
#include <poll.h>

char directory[] = "/tmp/soprof-server-XXXXXX";
char socket_path[100];
pid_t server_pid;

/* --- the server --- */
int status(void *arg, FILE *out)
{
	fputs("colour=dark%20red\n", out);
	return 0;
}

static volatile sig_atomic_t ended;
static void end(int signal)
{
	ended = 1;
}

int (*owner_current)(void *arg, const char *source, const struct sp_agent_asked *asked);
bool (*owner_turn)(void);
bool owner_limits_clients;

/* The exit code says whether it used CPU time while it should have waited. */
static void serve(const struct sp_agent_config *c, int ready)
{
	struct sp_server_owner owner = {
	    .status = status, .current = owner_current, .limits_clients = owner_limits_clients};
	struct sp_server *s = NULL;
	struct sigaction action = {.sa_handler = end};

	/* It comes while we wait only: one between the look at `ended` and the wait would be slept through. */
	sigset_t term, waiting;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &waiting);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	int r = sp_server_new(c, &owner, &s);

	served = s;
	if (r < 0 || write(ready, "x", 1) != 1)
		_exit(9);
	while (!ended) {
		struct pollfd p = {.fd = sp_server_fd(s), .events = POLLIN};
		int ms = owner_turn && owner_turn() ? 1 : sp_server_timeout_ms(s);
		struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
		ppoll(&p, 1, ms < 0 ? NULL : &timeout, &waiting);
		sp_server_dispatch(s);
	}
	sp_server_free(s);
	_exit(access(socket_path, F_OK) == 0 ? 8 : 0);
}

struct sp_agent_config config(void)
{
	return (struct sp_agent_config){.socket = socket_path,
					.group = "",
					.store = "/nonexistent",
					.max_clients = 16,
					.max_queries = 2,
					.query_timeout_ns = 60 * SP_NS_PER_S,
					.query_memory_bytes = 256 << 20};
}

void begin(const struct sp_agent_config *c)
{
	int ready[2];
	char x;

	if (server_pid) { /* left by a test that failed */
		kill(server_pid, SIGKILL);
		waitpid(server_pid, NULL, 0);
	}
	assert_int_equal(pipe(ready), 0);
	server_pid = fork();
	if (server_pid == 0)
		serve(c, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &x, 1), 1);
	close(ready[0]);
}

void finish(void)
{
	int how;

	kill(server_pid, SIGTERM);
	assert_int_equal(waitpid(server_pid, &how, 0), server_pid);
	assert_true(WIFEXITED(how));
	assert_int_equal(WEXITSTATUS(how), 0);
	server_pid = 0;
}

/* --- clients --- */
int client(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval t = {.tv_sec = 30};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(a.sun_path, socket_path, strlen(socket_path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Until the connection ends. */
void answer_of(int fd, char *ret_text, size_t size)
{
	size_t n = 0;
	ssize_t got = 0;

	while (n + 1 < size && (got = recv(fd, ret_text + n, size - 1 - n, 0)) > 0)
		n += (size_t)got;
	assert_true(got == 0 || errno == ECONNRESET);
	ret_text[n] = '\0';
	close(fd);
}

void is_answered(const void *request, size_t n, const char *text)
{
	char got[4096];
	int fd = client();

	assert_true(send(fd, request, n, MSG_NOSIGNAL) >= 0);
	answer_of(fd, got, sizeof(got));
	if (strncmp(got, text, strlen(text)) != 0)
		fail_msg("'%s' in place of '%s'", got, text);
}

struct sp_server *served;
char words[2048];
int take_word(void *arg, const char *name, const char *value)
{
	snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s=%s;", name, value);
	return 0;
}

int ask_status(struct sp_ask *a)
{
	*a = (struct sp_ask){.socket = socket_path};
	words[0] = '\0';
	sp_error_clear();
	return sp_ask_status(a, take_word, NULL);
}

/* main() of such a program; `clean` removes what its tests have made in the directory, or is NULL. */
int serving_main(int argc, char **argv, int (*tests)(void), void (*clean)(void))
{
	int r;

	sp_worker_main(argc, argv);
	sp_answer_main(argc, argv);
	sp_log_open(SP_LOG_ERROR);
	if (!mkdtemp(directory))
		return 1;
	snprintf(socket_path, sizeof(socket_path), "%s/agent.sock", directory);
	r = tests();
	if (server_pid)
		kill(server_pid, SIGKILL);
	unlink(socket_path);
	if (clean)
		clean();
	rmdir(directory);
	return r;
}
