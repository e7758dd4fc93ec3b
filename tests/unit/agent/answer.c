/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer.c: what clients get from a store with known rows and from a current window, by their rights. */
#include "agent/agent.h"
#include "serving.h"

enum { STRANGER_UID = 54321 };

/* --- the store --- */
static const uint64_t begin_ns = 1763755200 * SP_NS_PER_S; /* a full hour */
static char store_path[100];

static uint32_t string(struct sp_profile *p, const char *text)
{
	return (uint32_t)sp_profile_add_string(p, text);
}

/* One row of a process of this user, in a function of its own library. */
static void add_row(struct sp_profile *p, uint32_t uid, const char *name, int64_t n)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .name = string(p, name), .path = string(p, name), .tag = uid + 1};
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	struct sp_func func = {.name = string(p, "work"), .linkage_name = string(p, "work"), .file = f, .size = 16};
	struct sp_frame frame = {.file = f, .func = (uint32_t)sp_profile_add_func(p, &func)};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);
	struct sp_stack stack = {.stack_class = SP_CLASS_COMPLETE, .n_frames = 1, .frames = &number};
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
		add_row(p, STRANGER_UID, "libother.so", n_other);
	return p;
}

static struct sp_store_window window_at(uint64_t i)
{
	return (struct sp_store_window){.wall_ns = begin_ns + i * 10 * SP_NS_PER_S,
					.boot_ns = (i + 1) * 10 * SP_NS_PER_S,
					.duration_ns = 10 * SP_NS_PER_S,
					.rate_millihertz = 19000,
					.n_cpus = 2,
					.source = "cpu"};
}

/* Three windows of 10 s: each has 100 samples of root and 7 of another user. */
static void fill_store(void)
{
	struct sp_store *s = NULL;
	struct sp_profile *p;
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
	p = window(100, 7);
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
	q.uid = STRANGER_UID;
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

/* --- the current window --- */
static uint64_t current_number, n_answered_first; /* other requests, before it comes */
static bool is_asked;
static struct sp_agent_asked whom;

static int current(void *arg, const char *source, const struct sp_agent_asked *asked)
{
	is_asked = !strcmp(source, "cpu");
	whom = *asked;
	return is_asked ? 0 : -ENOENT;
}

/* Some turns later, as where names were waited for. */
static bool current_turn(void)
{
	static struct sp_profile *p;
	static unsigned n_turns;
	struct sp_server_stats stats;
	struct sp_store_window w = window_at(current_number);

	sp_server_stats(served, &stats);
	if (!is_asked || ++n_turns % 4 || stats.n_answered < n_answered_first)
		return is_asked;
	if (!p)
		p = window(1000, 50);
	is_asked = false;
	whom.came(whom.arg, 0, p, &w);
	return false;
}

static void test_current(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	int64_t n;

	fill_store();
	c.store = store_path;
	owner_current = current;
	owner_turn = current_turn;
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
	q.uid = STRANGER_UID;
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 21 + 50);
	finish();
	/* It is stored by now, and counts once. */
	current_number = 2;
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), 0);
	assert_int_equal(n, 321);
	finish();
	owner_current = NULL;
	owner_turn = NULL;
}

/* While it is being named, what does not need it is answered. */
static void test_current_comes_late(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	static const char line[] = "soprof1 query from=1 to=9223372036854775807\n";
	char got[8192];
	int64_t n;
	int waits;

	fill_store();
	c.store = store_path;
	owner_current = current;
	owner_turn = current_turn;
	current_number = 3;
	n_answered_first = 2;
	begin(&c);
	waits = client();
	assert_int_equal(send(waits, line, sizeof(line) - 1, 0), sizeof(line) - 1);
	assert_int_equal(ask_status(&a), 0);
	q.to_ns = begin_ns + 20 * SP_NS_PER_S;
	assert_int_equal(query(&a, q, &n, &answer), 0);
	assert_int_equal(n, 214);
	answer_of(waits, got, sizeof(got));
	assert_non_null(strstr(got, " to=1763755240000000000 "));
	finish();
	n_answered_first = 0;
	owner_current = NULL;
	owner_turn = NULL;
}

/* --- limits --- */
static void test_limits(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_answer answer;
	struct sp_ask a;
	int64_t n;

	fill_store();
	c.store = store_path;
	c.query_timeout_ns = 1000;
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), -ETIMEDOUT);
	assert_int_equal(ask_status(&a), 0);
	assert_non_null(strstr(words, "queries=0;"));
	finish();
	c = config(); /* a missing store */
	begin(&c);
	assert_int_equal(query(&a, everything, &n, &answer), -EIO);
	assert_non_null(strstr(sp_error_text(-EIO), "/nonexistent"));
	finish();
}

/* More queries than are answered at once; some clients hang up. */
static void test_many_queries(void **state)
{
	struct sp_agent_config c = config();
	int fds[12];
	char got[8192];
	struct sp_ask a;

	fill_store();
	c.store = store_path;
	c.query_timeout_ns = 30 * SP_NS_PER_S;
	owner_current = current;
	owner_turn = current_turn;
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
	owner_current = NULL;
	owner_turn = NULL;
}

static char events[256];
static int take_event(void *arg, const struct sp_store_event *e)
{
	snprintf(events + strlen(events), sizeof(events) - strlen(events), "%s %s: %s;", e->kind, e->subject, e->text);
	return 0;
}

static int ask_events(struct sp_ask *a)
{
	*a = (struct sp_ask){.socket = socket_path};
	events[0] = '\0';
	return sp_ask_events(a, begin_ns - 1, begin_ns + SP_NS_PER_S, take_event, NULL);
}

/* In a child that is that user. */
static int as_stranger(void)
{
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	char got[256];
	int64_t n;

	if (setgroups(0, NULL) || setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID) ||
	    setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID))
		return 100;
	/* his own rows, whatever the request says, and nothing of others' libraries */
	if (query(&a, q, &n, &answer) != 0 || n != 21 || !a.own_only)
		return 103;
	q.all_users = false;
	if (query(&a, q, &n, &answer) != -EACCES)
		return 104;
	q.uid = STRANGER_UID;
	if (query(&a, q, &n, &answer) != 0 || n != 21)
		return 105;
	if (ask_events(&a) != 0 || strcmp(events, "gap x: asleep;") != 0)
		return 106;
	int fd = client();
	if (send(fd, "soprof1 totals\n", 15, 0) != 15)
		return 101;
	answer_of(fd, got, sizeof(got));
	return strncmp(got, "error errno=13 ", 15) ? 102 : 0;
}

static int64_t totals_self;
static int take_total(void *arg, const struct sp_store_total *t)
{
	if (!strcmp(t->file, "libroot.so") && !*t->function)
		totals_self += t->self[0];
	return 0;
}

static void test_who(void **state)
{
	struct sp_agent_config c = config();
	struct sp_store_query q = everything;
	struct sp_store_answer answer;
	struct sp_ask a;
	int how;

	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	fill_store();
	c.store = store_path;
	assert_int_equal(chmod(directory, 0755), 0);
	begin(&c);
	pid_t pid = fork();
	if (pid == 0)
		_exit(as_stranger());
	waitpid(pid, &how, 0);
	assert_int_equal(WEXITSTATUS(how), 0);
	assert_int_equal(ask_events(&a), 0);
	assert_non_null(strstr(events, "gap x: asleep;"));
	assert_non_null(strstr(events, "upgrade libroot.so: new one;"));
	a = (struct sp_ask){.socket = socket_path};
	q.from_ns = begin_ns;
	q.to_ns = begin_ns + 60 * SP_NS_PER_S;
	assert_int_equal(sp_ask_totals(&a, &q, false, take_total, NULL, &answer), 0);
	assert_int_equal(totals_self, 300);
	finish();
}

/* --- who does not read --- */
enum { MANY_EVENTS = 200, EVENT_BYTES = 5000, THIRD_UID = 54323 };

/* More than a socket takes that nobody reads. */
static void add_events(void)
{
	char text[EVENT_BYTES + 1];
	struct sp_store_event e = {.kind = "gap", .subject = "x", .text = text, .data = ""};
	struct sp_store *s = NULL;

	memset(text, 'a', EVENT_BYTES);
	text[EVENT_BYTES] = '\0';
	assert_int_equal(sp_store_open(store_path, &(struct sp_store_options){0}, &s), 0);
	for (uint64_t i = 0; i < MANY_EVENTS; i++) {
		e.from_ns = e.to_ns = begin_ns + i;
		assert_int_equal(sp_store_event_add(s, &e), 0);
	}
	sp_store_close(s);
}

static uint64_t now_ns(void)
{
	return sp_time_ns(CLOCK_MONOTONIC);
}

/* An answer that nobody reads holds the place of ordinary users' queries, but not for long. */
static void test_unread(void **state)
{
	static const char events[] = "soprof1 events from=1\n";
	struct sp_agent_config c = config();
	struct sp_store_answer answer;
	struct sp_ask a;
	uint64_t began_ns;
	int64_t n;
	int fd, r;

	if (geteuid() != 0) {
		print_message("skip: needs root\n");
		skip();
	}
	fill_store();
	add_events();
	assert_int_equal(chmod(directory, 0755), 0);
	c.store = store_path;
	c.query_timeout_ns = 15 * SP_NS_PER_S; /* an unread answer ends after a third of it */
	begin(&c);
	assert_int_equal(seteuid(STRANGER_UID), 0);
	fd = client();
	assert_int_equal(send(fd, events, sizeof(events) - 1, 0), sizeof(events) - 1);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(seteuid(THIRD_UID), 0);
	began_ns = now_ns();
	r = query(&a, everything, &n, &answer);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(r, 0);
	assert_true(a.own_only);
	assert_in_range(now_ns() - began_ns, 3 * SP_NS_PER_S, 14 * SP_NS_PER_S);
	close(fd);
	finish();
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

static int tests(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(test_query),
	    cmocka_unit_test(test_current),
	    cmocka_unit_test(test_current_comes_late),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_many_queries),
	    cmocka_unit_test(test_who),
	    cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
	return serving_main(argc, argv, tests, remove_store);
}
