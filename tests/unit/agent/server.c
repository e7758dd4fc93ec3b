/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c: who may connect, how many, and what they may send. The server's counters are read by a client, too. */
#include "agent/socket/server_priv.h"
#include "serving.h"

enum { OTHER_UID = 54321, MEMBERS_GID = 54322, MAX_FDS = 2000 };

static void test_status(void **state)
{
	struct sp_agent_config c = config();
	struct sp_ask a;

	begin(&c);
	assert_int_equal(ask_status(&a), 0);
	assert_string_equal(words, "colour=dark red;clients=1;queries=0;answered=0;refused=0;failed=0;");
	assert_false(a.own_only);
	assert_int_equal(ask_status(&a), 0);
	assert_non_null(strstr(words, "answered=1;"));
	finish();
	assert_int_equal(ask_status(&a), -ENOENT);
}

/* Any user may connect; the directory is made. */
static void test_place(void **state)
{
	struct sp_agent_config c = config();
	char below[64], old[sizeof(socket_path)];
	struct stat st;
	struct sp_ask a;

	memcpy(old, socket_path, sizeof(old));
	snprintf(socket_path, sizeof(socket_path), "%s/run/agent.sock", directory);
	begin(&c);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(ask_status(&a), 0);
	/* A second server leaves the first one's socket; the socket of a killed one is replaced. */
	struct sp_server_owner owner = {.status = status};
	struct sp_server *s = NULL;
	assert_int_equal(sp_server_new(&c, &owner, &s), -EADDRINUSE);
	kill(server_pid, SIGKILL);
	waitpid(server_pid, NULL, 0);
	assert_int_equal(ask_status(&a), -ECONNREFUSED);
	begin(&c);
	assert_int_equal(ask_status(&a), 0);
	finish();
	/* other files are not removed */
	FILE *f = fopen(socket_path, "w");
	fclose(f);
	assert_int_equal(sp_server_new(&c, &owner, &s), -EEXIST);
	assert_int_equal(unlink(socket_path), 0);
	snprintf(below, sizeof(below), "%s/run", directory);
	rmdir(below);
	memcpy(socket_path, old, sizeof(old));
}

/* The directory is open to all users, whatever the umask. */
static void test_directory(void **state)
{
	char path[128], made[64];
	struct stat st;
	mode_t mask = umask(077);

	snprintf(made, sizeof(made), "%s/made", directory);
	snprintf(path, sizeof(path), "%s/agent.sock", made);
	assert_int_equal(sp_server_directory(path), 0);
	umask(mask);
	assert_int_equal(stat(made, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	/* an existing one keeps its mode */
	assert_int_equal(chmod(made, 0700), 0);
	assert_int_equal(sp_server_directory(path), 0);
	assert_int_equal(stat(made, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	rmdir(made);
}

static void test_malformed(void **state)
{
	struct sp_agent_config c = config();
	char *huge = malloc(100000);
	struct sp_ask a;

	begin(&c);
	is_answered("GET / HTTP/1.1\r\n\r\n", 18, "error errno=74 text=a%20request%20begins%20with%20soprof1\n");
	is_answered("\n", 1, "error errno=74 ");
	is_answered("soprof1 status\0\n", 16, "error errno=74 text=a%20NUL%20byte");
	is_answered("soprof1 query library=\x1b[31m\n", 28, "error errno=74 text=a%20character");
	is_answered("soprof1 status\nsoprof1 status\n", 30, "ok users=all\n");
	memset(huge, 'a', 100000);
	is_answered(huge, 100000, "error errno=74 text=a%20request%20of%20more");
	free(huge);
	/* hangups: before the first byte, and within a word */
	close(client());
	int fd = client();
	assert_int_equal(send(fd, "soprof1 sta", 11, 0), 11);
	close(fd);
	/* a request in pieces */
	fd = client();
	for (const char *p = "soprof1 status\n"; *p; p++)
		assert_int_equal(send(fd, p, 1, 0), 1);
	char got[256];
	answer_of(fd, got, sizeof(got));
	assert_int_equal(strncmp(got, "ok users=all\ncolour=dark%20red\n", 31), 0);
	assert_int_equal(ask_status(&a), 0);
	finish();
}

/* A thousand silent clients: those beyond the limit are told, and cost the agent nothing. */
static void test_crowd(void **state)
{
	struct sp_agent_config c = config();
	static int fds[MAX_FDS];
	struct rlimit l = {.rlim_cur = MAX_FDS + 100, .rlim_max = MAX_FDS + 100};
	struct sp_ask a;
	char got[256], refused[32];
	int n = 1000, n_refused = n - 20; /* four connections are reserved for root */

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	begin(&c);
	for (int i = 0; i < n; i++)
		fds[i] = client();
	/* root has more than the 16; the others were refused */
	answer_of(fds[n - 1], got, sizeof(got));
	assert_string_equal(got, "error errno=16 text=the%20agent%20has%20too%20many%20clients\n");
	assert_int_equal(ask_status(&a), -EBUSY);
	n_refused++;
	assert_string_equal(sp_error_text(-EBUSY) + strlen("the agent at ") + strlen(socket_path),
			    ": the agent has too many clients");
	for (int i = 0; i < n - 1; i++)
		close(fds[i]);
	/* until it has seen some hangups it refuses; until it has seen all it counts them */
	for (int i = 0; i < 1000; i++, usleep(1000)) {
		int r = ask_status(&a);
		if (r == 0 && strstr(words, "clients=1;"))
			break;
		n_refused += r == -EBUSY;
	}
	assert_non_null(strstr(words, "clients=1;"));
	snprintf(refused, sizeof(refused), "refused=%d;", n_refused);
	assert_non_null(strstr(words, refused));
	finish();
}

/* --- other users --- */
/* In a child that is the other user: opens fds silent connections, then asks for the status. */
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

	if (geteuid() != 0 || !g) {
		print_message("skip: needs root and group 4\n");
		skip();
	}
	c.group = g->gr_name;
	assert_int_equal(chmod(directory, 0755), 0);
	begin(&c);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 0), 1); /* sees its own rows only */
	assert_int_equal(as_other(g->gr_gid, MEMBERS_GID, 0), 0);   /* a member by its primary group */
	assert_int_equal(as_other(MEMBERS_GID, g->gr_gid, 0), 0);   /* or by a supplementary one */
	/* An ordinary user may have a quarter of the connections. */
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 3), 1);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 4), EBUSY);
	assert_int_equal(ask_status(&a), 0);
	finish();
}

/* --- turns --- */
enum { MANY = 4, THIRD_UID = 54323 };
static struct {
	size_t n;
	pid_t last;
	uid_t uids[MANY + 1];
} * begun; /* the queries, in the order in which they began; shared with the server */

/* Of ordinary users one is answered at a time. */
static bool note_begun(void)
{
	for (size_t i = 0; i < served->n_slots; i++) {
		const struct sp_client *c = &served->clients[i];
		if (c->state != SP_CLIENT_ANSWERED || c->pid == begun->last || begun->n > MANY)
			continue;
		begun->last = c->pid;
		begun->uids[begun->n++] = c->uid;
	}
	return false;
}

static int query_of(uid_t uid)
{
	static const char query[] = "soprof1 query from=1 to=2\n";
	int fd;

	assert_int_equal(seteuid(uid), 0);
	fd = client();
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(send(fd, query, sizeof(query) - 1, 0), sizeof(query) - 1);
	return fd;
}

/* Who asks for much at once waits for himself: another's query comes after one of his. */
static void test_turns(void **state)
{
	static const uid_t expected[MANY + 1] = {OTHER_UID, THIRD_UID, OTHER_UID, OTHER_UID, OTHER_UID};
	struct sp_agent_config c = config();
	int fds[MANY + 1], how;
	char got[256];

	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	assert_int_equal(chmod(directory, 0755), 0);
	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(begun != MAP_FAILED);
	owner_turn = note_begun;
	begin(&c);
	owner_turn = NULL;
	kill(server_pid, SIGSTOP); /* so that all have asked before the first is answered */
	assert_int_equal(waitpid(server_pid, &how, WUNTRACED), server_pid);
	for (size_t i = 0; i <= MANY; i++)
		fds[i] = query_of(i < MANY ? OTHER_UID : THIRD_UID);
	kill(server_pid, SIGCONT);
	for (size_t i = 0; i <= MANY; i++)
		answer_of(fds[i], got, sizeof(got));
	assert_int_equal(begun->n, MANY + 1);
	assert_memory_equal(begun->uids, expected, sizeof(expected));
	munmap(begun, sizeof(*begun));
	finish();
}

/* --- users' shares --- */
static bool other_user_is_in_debt(void)
{
	sp_share_take(&served->shares, OTHER_UID, sp_time_ns(CLOCK_MONOTONIC), 11 * SP_NS_PER_S);
	return false;
}

/* Who has used up his time waits before he is refused, and cannot ask often; others are answered as fast as before. */
static void test_used_up(void **state)
{
	struct sp_agent_config c = config();
	uint64_t began_ns;
	struct sp_ask a;

	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	assert_int_equal(chmod(directory, 0755), 0);
	c.max_cpu_ppm = 2;
	owner_turn = other_user_is_in_debt;
	begin(&c);
	owner_turn = NULL;
	began_ns = sp_time_ns(CLOCK_MONOTONIC);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 0), EBUSY);
	assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 3), EBUSY);
	assert_true(sp_time_ns(CLOCK_MONOTONIC) - began_ns >= 2 * SP_SERVER_HELD_MS * UINT64_C(1000000));
	/* beyond a quarter of the connections he is refused at once */
	began_ns = sp_time_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 100; i++)
		assert_int_equal(as_other(MEMBERS_GID, MEMBERS_GID, 4), EBUSY);
	assert_true(sp_time_ns(CLOCK_MONOTONIC) - began_ns >= SP_NS_PER_S / 5); /* 32 in 100 ms */
	for (int i = 0; i < 1000; i++, usleep(1000))
		if (ask_status(&a) == 0 && strstr(words, "clients=1;")) /* those held are gone with their ends */
			break;
	assert_non_null(strstr(words, "clients=1;"));
	finish();
}

/* --- clients of the owner's requests --- */
enum { FIRST = 1, SECOND = 2, THIRD = 3, MOST_OWN = 12 }; /* three quarters of 8 for each of two queries */
static struct {
	unsigned n_submitted, n_answered, n_unpaid, n_answered_then;
	size_t n_begun;
	pid_t last;
	uint64_t begun[MOST_OWN + 4]; /* clients, in the order in which their queries began */
	int of_first, of_third;       /* what they are told at the end */
	bool is_over;
} * own; /* shared with the server */

static void own_done(void *arg, int r)
{
	own->n_answered += r == 0;
	own->n_unpaid += r == -EDQUOT;
	sp_error_clear();
}

static int own_submit(uint64_t client)
{
	struct sp_server_own_request q = {.line = "soprof1 query from=1 to=2", .client = client, .done = own_done};
	struct sp_client *c;
	int r;

	q.output = memfd_create("answer", MFD_CLOEXEC);
	r = sp_server_submit(served, &q, &c);
	own->n_submitted += r == 0;
	sp_error_clear();
	return r;
}

static void note_own_begun(void)
{
	for (size_t i = 0; i < served->n_slots; i++) {
		const struct sp_client *c = &served->clients[i];
		if (c->state != SP_CLIENT_ANSWERED || c->pid == own->last || own->n_begun == SP_COUNT(own->begun))
			continue;
		own->last = c->pid;
		own->begun[own->n_begun++] = c->client;
	}
}

static void own_begin(struct sp_agent_config *c, bool (*turn)(void), bool limits_clients)
{
	own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(own != MAP_FAILED);
	owner_turn = turn;
	owner_limits_clients = limits_clients;
	begin(c);
	owner_turn = NULL;
	owner_limits_clients = false;
	for (int i = 0; i < 60000 && !own->is_over; i++)
		usleep(1000);
	finish();
}

static bool ask_in_turns(void)
{
	if (!own->n_submitted)
		for (int i = 0; i <= MANY; i++)
			own_submit(i < MANY ? FIRST : SECOND);
	note_own_begun();
	own->is_over = own->n_answered == MANY + 1;
	return true;
}

/* As users of the socket: who asks for much at once waits for himself. */
static void test_client_turns(void **state)
{
	static const uint64_t expected[MANY + 1] = {FIRST, SECOND, FIRST, FIRST, FIRST};
	struct sp_agent_config c = config();

	c.max_queries = 1;
	own_begin(&c, ask_in_turns, false);
	assert_int_equal(own->n_begun, MANY + 1);
	assert_memory_equal(own->begun, expected, sizeof(expected));
	munmap(own, sizeof(*own));
}

static bool ask_too_much(void)
{
	if (!own->n_submitted) {
		while (own_submit(FIRST) == 0)
			;
		own_submit(SECOND);
	}
	note_own_begun();
	if (own->n_answered + own->n_unpaid < own->n_submitted || own->is_over)
		return true;
	own->n_answered_then = own->n_answered; /* the third may be answered before the test ends */
	own->of_first = own_submit(FIRST);
	own->of_third = own_submit(THIRD);
	own->is_over = true;
	return true;
}

/* One client's requests take three quarters of the places, one query of two, and no more CPU time than is his. */
static void test_client_shares(void **state)
{
	struct sp_agent_config c = config();

	c.max_cpu_ppm = 10; /* a third of a millisecond at once */
	own_begin(&c, ask_too_much, true);
	assert_true(own->is_over);
	assert_int_equal(own->n_submitted, MOST_OWN + 1 + 1);
	assert_int_equal(own->n_answered_then, 2);
	assert_int_equal(own->n_unpaid, MOST_OWN - 1);
	assert_true(own->begun[0] != own->begun[1]); /* not both of the first one's */
	assert_int_equal(own->of_first, -EDQUOT);
	assert_int_equal(own->of_third, 0);
	munmap(own, sizeof(*own));
}

static void test_shares(void **state)
{
	struct sp_shares s = {.size = {.gain_ppm = 10000, .burst_ns = 10 * SP_NS_PER_S}};
	uint64_t t = 1000 * SP_NS_PER_S;

	assert_false(sp_share_is_used_up(&s, 1, t));
	sp_share_take(&s, 1, t, 9 * SP_NS_PER_S);
	assert_false(sp_share_is_used_up(&s, 1, t));
	sp_share_take(&s, 1, t, 2 * SP_NS_PER_S);
	assert_true(sp_share_is_used_up(&s, 1, t));
	assert_false(sp_share_is_used_up(&s, 2, t));
	assert_true(sp_share_is_used_up(&s, 1, t + 99 * SP_NS_PER_S));
	assert_false(sp_share_is_used_up(&s, 1, t + 101 * SP_NS_PER_S)); /* a hundredth of the time */
	for (uid_t uid = 100; uid < 100 + 2 * SP_SHARE_USERS; uid++)
		sp_share_take(&s, uid, t, 1);
	assert_true(sp_share_is_used_up(&s, 1, t)); /* many others do not make it forget a debt */
	s.size.debt_ns = 3 * SP_NS_PER_S;
	sp_share_take(&s, 1, t, 3600 * (int64_t)SP_NS_PER_S);
	assert_true(sp_share_is_used_up(&s, 1, t + 299 * SP_NS_PER_S));
	assert_false(sp_share_is_used_up(&s, 1, t + 301 * SP_NS_PER_S)); /* no debt is larger */
	s.size.gain_ppm = 0;
	assert_false(sp_share_is_used_up(&s, 1, t));
}

/* --- clients against false servers --- */
/* Answers that no agent gives are errors, and none makes the client wait for ever. */
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
	/* never answers */
	struct sp_ask ask = {.socket = socket_path, .timeout_ms = 100};
	assert_int_equal(sp_ask_status(&ask, take_word, NULL), -ETIMEDOUT);
	close(s);
	unlink(socket_path);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(test_status),       cmocka_unit_test(test_place),         cmocka_unit_test(test_directory),
	    cmocka_unit_test(test_malformed),    cmocka_unit_test(test_crowd),         cmocka_unit_test(test_users),
	    cmocka_unit_test(test_false_agent),  cmocka_unit_test(test_used_up),       cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_client_turns), cmocka_unit_test(test_client_shares), cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return serving_main(argc, argv, tests, NULL);
}
