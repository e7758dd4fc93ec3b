/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.c: answers of /api/v1 from a store with known rows. `agent-api STORE PATH QUERY [NOW]` writes one answer for
 * tests of the page: the status, an empty line, the body. NOW: in seconds since 1970. `agent-api page` writes the page.
 */
#include "agent/answer/api.h"
#include "agent/web/page_html.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "profile/profile.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer_one(int argc, char **argv)
{
	struct sp_store_options o = {.read_only = true};
	struct sp_api a = {.now_ns = sp_time_ns(CLOCK_REALTIME)};
	SP_FREE char *text = NULL;
	size_t n = 0;
	bool is_file;
	int status = 0, r = sp_store_open(argv[1], &o, &a.store);

	if (argc > 4 && r == 0)
		r = sp_parse_duration(argv[4], &a.now_ns);
	FILE *body = open_memstream(&text, &n);
	if (r == 0 && body)
		r = sp_api_answer(&a, argv[2], argv[3], body, &status, &is_file);
	if (r < 0 || !body) {
		fprintf(stderr, "agent-api: %s\n", sp_error_text(r));
		return 1;
	}
	fclose(body);
	printf("%d\n\n", status);
	fwrite(text, 1, n, stdout);
	sp_store_close(a.store);
	return 0;
}

/* --- requests --- */
static char body[65536];

static int ask(const struct sp_api *a, const char *path, const char *query)
{
	int status = 0;
	bool is_file;
	FILE *out = fmemopen(body, sizeof(body), "w");

	assert_non_null(out);
	assert_int_equal(sp_api_answer(a, path, query, out, &status, &is_file), 0);
	fclose(out);
	return status;
}

static void test_refused(void **state)
{
	static const struct {
		const char *path, *query, *words;
		int status;
	} cases[] = {
	    {"/api/v1/", "", "nothing at this address", 404},
	    {"/api/v1/nothing", "", "nothing at this address", 404},
	    {"/api/v2/flame", "", "nothing at this address", 404},
	    {"/api/v1/flame", "color=red", "no parameter color", 400},
	    {"/api/v1/flame", "from=1&from=2", "from: is there twice", 400},
	    {"/api/v1/flame", "from=soon", "from", 400},
	    {"/api/v1/flame", "from=100&to=50", "ends before it begins", 400},
	    {"/api/v1/flame", "from=99999999999999999999", "from: not a time", 400},
	    {"/api/v1/flame", "library=%zz", "two digits", 400},
	    {"/api/v1/flame", "library=%00", "two digits", 400},
	    {"/api/v1/flame", "library=%4", "two digits", 400},
	    {"/api/v1/flame", "least=2", "a share from 0 to 1", 400},
	    {"/api/v1/flame", "least=1m", "a share from 0 to 1", 400},
	    {"/api/v1/flame", "root=x", "root: not a number", 400},
	    {"/api/v1/flame", "direction=up", "no such choice", 400},
	    {"/api/v1/overview", "width=0", "width: not a number from 1", 400},
	    {"/api/v1/overview", "width=1000000", "width: not a number from 1", 400},
	    {"/api/v1/live", "seconds=0", "seconds: not a number", 400},
	    {"/api/v1/flame", "user=there-is-no-such-user", "no such user", 400},
	    {"/api/v1/diff", "from=1&to=2", "from2", 400},
	    {"/api/v1/flame", "host=x", "are of a fleet", 400},
	    {"/api/v1/flame", "label2=x=y", "are of a fleet", 400},
	    {"/api/v1/hosts", "", "are of a fleet", 404},
	};
	struct sp_api a = {.now_ns = 1763755200 * SP_NS_PER_S};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(ask(&a, cases[i].path, cases[i].query), cases[i].status);
		if (strncmp(body, "{\"error\":\"", 10) != 0 || !strstr(body, cases[i].words))
			fail_msg("%s?%s: %s", cases[i].path, cases[i].query, body);
	}
	char *longest = malloc(SP_API_MAX_QUERY + 2);
	memset(longest, '&', SP_API_MAX_QUERY + 1);
	longest[SP_API_MAX_QUERY + 1] = '\0';
	assert_int_equal(ask(&a, "/api/v1/flame", longest), 400);
	free(longest);
}

/* --- a store --- */
static const uint64_t begin_ns = 1763755200 * SP_NS_PER_S; /* a full hour */
static char directory[] = "/tmp/soprof-api-XXXXXX";
static struct sp_store *store;
enum { OTHER_UID = 54321, N_LEAVES = 50 };

static uint32_t string(struct sp_profile *p, const char *text)
{
	return (uint32_t)sp_profile_add_string(p, text);
}

static uint32_t frame_of(struct sp_profile *p, const char *library, const char *function)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .name = string(p, library), .tag = string(p, library)};
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	struct sp_func func = {.name = string(p, function), .file = f, .start = 16 * string(p, function), .size = 16};
	struct sp_frame frame = {.file = f, .offset = func.start};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);

	sp_profile_frame(p, number)->func = (uint32_t)sp_profile_add_func(p, &func);
	return number;
}

/* n samples of 10 ms of a thread with main in "app", and a function of a library that it calls, of this user. */
static void add_row(struct sp_profile *p, uint32_t uid, const char *library, const char *function, int64_t n)
{
	uint32_t frames[2] = {frame_of(p, library, function), frame_of(p, "app", "main")};
	struct sp_stack stack = {.stack_class = SP_CLASS_COMPLETE, .n_frames = 2, .frames = frames};
	struct sp_process process = {
	    .pid = uid + 2, .ns_pid = uid + 2, .uid = uid, .comm = string(p, "app"), .start_ns = 7};
	struct sp_key key = {.process = (uint32_t)sp_profile_add_process(p, &process),
			     .comm = string(p, "app"),
			     .recipe = string(p, "cpu")};
	int64_t values[2] = {n, n * 10000000};

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key),
					(uint32_t)sp_profile_add_stack(p, &stack), 0, values),
			 0);
}

static struct sp_profile *window(void)
{
	struct sp_profile *p = NULL;
	char name[32];

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	add_row(p, 0, "liba.so", "a\"<b>", 600);
	add_row(p, OTHER_UID, "libb.so", "b", 350);
	for (int i = 0; i < N_LEAVES; i++) {
		snprintf(name, sizeof(name), "leaf_%d", i);
		add_row(p, 0, "libwide.so", name, 1);
	}
	return p;
}

/* Three windows of 10 s; a gap of ten minutes is between the first and the second. */
static int store_make(void **state)
{
	static const uint64_t at_s[] = {0, 600, 610};
	struct sp_store_event gap = {.from_ns = begin_ns + 10 * SP_NS_PER_S,
				     .to_ns = begin_ns + 600 * SP_NS_PER_S,
				     .kind = "gap",
				     .subject = "x",
				     .text = "asleep",
				     .data = ""};
	struct sp_store_event upgrade = gap;

	if (!mkdtemp(directory) || sp_store_open(directory, &(struct sp_store_options){0}, &store) < 0)
		return -1;
	for (size_t i = 0; i < SP_COUNT(at_s); i++) {
		struct sp_store_window w = {.wall_ns = begin_ns + at_s[i] * SP_NS_PER_S,
					    .boot_ns = (1 + at_s[i]) * SP_NS_PER_S,
					    .duration_ns = 10 * SP_NS_PER_S,
					    .rate_millihertz = 100000,
					    .n_cpus = 1,
					    .source = "cpu"};
		struct sp_profile *p = window();
		assert_int_equal(sp_store_add(store, &w, p), 0);
		sp_profile_free(p);
	}
	upgrade.kind = "upgrade";
	upgrade.to_ns = upgrade.from_ns;
	upgrade.text = "liba.so: new";
	return sp_store_event_add(store, &gap) || sp_store_event_add(store, &upgrade);
}

static int store_end(void **state)
{
	char command[64];

	sp_store_close(store);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	pid_t pid = fork();
	if (pid == 0)
		execl("/bin/sh", "sh", "-c", command, NULL);
	return pid < 0 || waitpid(pid, NULL, 0) < 0;
}

static struct sp_api all(void)
{
	return (struct sp_api){.store = store, .now_ns = begin_ns + 620 * SP_NS_PER_S};
}

static void is_in(const char *words)
{
	if (!strstr(body, words))
		fail_msg("not in the answer: %s\n%s", words, body);
}

static void is_not_in(const char *words)
{
	if (strstr(body, words))
		fail_msg("in the answer: %s\n%s", words, body);
}

static void test_overview(void **state)
{
	struct sp_api a = all();

	assert_int_equal(ask(&a, "/api/v1/overview", "from=-620s&width=62"), 200);
	is_in("\"n\":62,");
	is_in("\"step\":10.000");
	is_in("\"covered\":[10,0,0,");
	is_in(",0,10,10],");
	is_in("\"libraries\":[{\"name\":\"liba.so\"");
	is_in("\"series\":[6,0,0,");
	is_in(",0,6,6],\"self\":18}");
	is_in("\"kind\":\"gap\"");
	is_in("\"kind\":\"upgrade\"");
	/* A library that did not run in a sampled window: 0, not a gap. */
	assert_int_equal(ask(&a, "/api/v1/overview", "from=-620s&width=62&library=nothing*"), 200);
	is_in("\"covered\":[10,0,0,");
	is_in("\"libraries\":[],");
}

static void test_flame(void **state)
{
	struct sp_api a = all();
	char query[64];
	unsigned long long id = 0;

	assert_int_equal(ask(&a, "/api/v1/flame", "from=-620s&least=0.01"), 200);
	is_in("[\"cpu\",\"nanoseconds\",-1],[\"samples\",\"count\",-1]");
	is_in("a\\\"\\u003cb>");
	is_in("\"[narrow]\"");
	is_not_in("leaf_7");
	is_in("\"depth\":[0,1,2,3,3,3],"); /* app, main, a, b, narrow */
	is_in("\"self\":[[0,0,0,18000000000,10500000000,1500000000],\n[0,0,0,1800,1050,150]]");
	/* Sums by library are of all samples. */
	is_in(":1500000000");
	assert_int_equal(sscanf(strstr(body, "\"id\":["), "\"id\":[%*u,%*u,%llu", &id), 1);
	snprintf(query, sizeof(query), "from=-620s&least=0.0004&root=%llu", id);
	assert_int_equal(ask(&a, "/api/v1/flame", query), 200);
	is_in("leaf_7");
	snprintf(query, sizeof(query), "\"root\":%llu,", id);
	is_in(query);
	assert_int_equal(ask(&a, "/api/v1/flame", "from=-620s&focus=b&focus_library=libb.so&direction=both"), 200);
	is_in("\"depth\":[0,1,2,3],"); /* b, main, app */
	is_in("\"depth\":[0,1],");
}

static void test_tables(void **state)
{
	struct sp_api a = all();

	assert_int_equal(ask(&a, "/api/v1/libraries", "from=-620s&limit=1"), 200);
	is_in("\"whole\":30000000000,\"samples\":3000,");
	is_in("\"n_rows\":4,\"rows\":[{\"name\":\"liba.so\"");
	is_in("\"self\":18000000000,\"total\":18000000000,\"samples\":1800}]");
	/* For long ranges: the store's sums of complete minutes, and of the windows since then. */
	assert_int_equal(ask(&a, "/api/v1/libraries", "from=-7h"), 200);
	is_in("\"covered_seconds\":30.000,\"windows\":3,");
	is_in("\"whole\":30000000000,\"samples\":3000,");
	is_in("{\"name\":\"app\"");
	is_in("\"self\":0,\"total\":30000000000,\"samples\":3000}");
	assert_int_equal(ask(&a, "/api/v1/flame", "from=-7h&least=0.01"), 200);
	is_in("\"whole\":30000000000}");
	assert_int_equal(ask(&a, "/api/v1/functions", "from=-10s&value=samples"), 200);
	is_in("{\"name\":\"leaf_49\",\"library\":\"libwide.so\",\"self\":1,\"total\":1,\"samples\":1}");
	assert_int_equal(ask(&a, "/api/v1/matrix", "from=-620s&called=libwide.so&limit=2"), 200);
	is_in("{\"library\":\"libwide.so\",\"caller\":\"app\",\"entry\":\"leaf_");
	assert_int_equal(ask(&a, "/api/v1/users", "from=-620s"), 200);
	is_in("\"uid\":54321");
	assert_int_equal(ask(&a, "/api/v1/diff", "from=-620s&to=-600s&from2=-20s&to2=now"), 200);
	is_in("[\"new\",\"nanoseconds\",1],[\"old\",\"nanoseconds\",-1]");
	is_in("\"entities\":[");
	assert_int_equal(ask(&a, "/api/v1/diff", "from=-620s&to=-600s&from2=1&to2=2"), 404);
	is_in("no samples in the new range");
	assert_int_equal(ask(&a, "/api/v1/flame", "from=1&to=2"), 200); /* nothing was sampled then */
	is_in("\"windows\":0,");
	is_in("\"depth\":[0]");
}

/* No answer has other users' names; the overview shows gaps. */
static void test_own(void **state)
{
	static const char *const routes[] = {"overview",  "flame",  "live",      "libraries",
					     "functions", "matrix", "processes", "users"};
	struct sp_api a = all();
	char path[64];

	a.own_only = true;
	a.uid = OTHER_UID;
	for (size_t i = 0; i < SP_COUNT(routes); i++) {
		snprintf(path, sizeof(path), "/api/v1/%s", routes[i]);
		assert_int_equal(ask(&a, path, "seconds=620"), 200);
		is_not_in("liba");
		is_not_in("wide");
	}
	assert_int_equal(ask(&a, "/api/v1/overview", "from=-620s"), 200);
	is_in("\"kind\":\"gap\"");
	is_in("libb.so");
	assert_int_equal(ask(&a, "/api/v1/overview", "from=-9000s"), 200); /* where sums of all users would do */
	is_not_in("liba");
	assert_int_equal(ask(&a, "/api/v1/flame", "user=0"), 403);
	assert_int_equal(ask(&a, "/api/v1/diff", "from=-620s&to=-600s&from2=-20s&to2=now"), 200);
	is_not_in("liba");
}

/* --- the current window --- */
static int add_current(void *arg, const struct sp_store_query *q, struct sp_profile *into,
		       struct sp_store_answer *answer)
{
	if (sp_profile_n_value_types(into) == 0) {
		assert_int_equal(sp_profile_add_value_type(into, "samples", "count"), 0);
		assert_int_equal(sp_profile_add_value_type(into, "cpu", "nanoseconds"), 0);
	}
	add_row(into, 0, "libnow.so", "now", *(const int *)arg);
	answer->covered_ns += SP_NS_PER_S;
	return 0;
}

static void test_current(void **state)
{
	struct sp_api a = all();
	int n = 77;

	a.current = add_current;
	a.arg = &n;
	assert_int_equal(ask(&a, "/api/v1/live", "seconds=20"), 200);
	is_in("\"libnow.so\"");
	is_in("770000000");
	is_in("\"covered_seconds\":21.000");
	assert_int_equal(ask(&a, "/api/v1/libraries", "from=now-1s&to=now"), 400);
	assert_int_equal(ask(&a, "/api/v1/libraries", "seconds=1"), 200);
	is_in("libnow.so");
}

/* What the answering process is told before anything is looked for: once, of what can be read. */
static struct {
	unsigned n;
	bool asks;
} told;

static int is_ready(void *arg, bool asks_for_names)
{
	told.n++;
	told.asks = asks_for_names;
	return sp_fail_said(-EIO, "so far");
}

/* Only what asks the C library for a user's name may make its system calls: in any spelling, and nothing else. */
static void test_names(void **state)
{
	static const struct {
		const char *path, *query;
		bool asks, is_bad;
	} all[] = {
	    {"/api/v1/users", "", true, false},
	    {"/api/v1/flame", "user=root", true, false},
	    {"/api/v1/flame", "from=-1h&%75ser=root", true, false},
	    {"/api/v1/flame", "user=0", false, false},
	    {"/api/v1/flame", "user=", false, false},
	    {"/api/v1/flame", "library=libuser.so&function=user", false, false},
	    {"/api/v1/flame", "user=root&user=root", false, true},
	    {"/api/v1/libraries", "", false, false},
	    {"/api/v1/superusers", "user=root", false, true},
	};

	struct sp_api a = {.now_ns = sp_time_ns(CLOCK_REALTIME), .ready = is_ready};

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		told.n = 0;
		told.asks = false;
		if (ask(&a, all[i].path, all[i].query) == 200 || told.n != !all[i].is_bad || told.asks != all[i].asks)
			fail_msg("%s?%s", all[i].path, all[i].query);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_overview),
					   cmocka_unit_test(test_flame),   cmocka_unit_test(test_tables),
					   cmocka_unit_test(test_own),     cmocka_unit_test(test_current),
					   cmocka_unit_test(test_names)};

	if (argc == 2) /* the page, after its policy */
		return printf("%s\n\n%s", sp_web_page.policy, sp_web_page.html) < 0;
	return argc > 3 ? answer_one(argc, argv) : cmocka_run_group_tests(tests, store_make, store_end);
}
