/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.c: what is answered under /api/v1, from a store whose rows are known. `agent-api STORE PATH QUERY [NOW]` writes
 * one answer, for the tests of the page: the status, an empty line, the body. NOW: in seconds since 1970. `agent-api
 * page` writes the page.
 */
#include "agent/api.h"
#include "agent/web.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "profile/profile.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int answer_one(int argc, char **argv)
{
	struct sp_store_options o = {.read_only = true};
	struct sp_api a = {.now_ns = sp_time_ns(CLOCK_REALTIME)};
	SP_FREE char *text = NULL;
	size_t n = 0;
	int status = 0, r = sp_store_open(argv[1], &o, &a.store);

	if (argc > 4 && r == 0)
		r = sp_parse_duration(argv[4], &a.now_ns);
	FILE *body = open_memstream(&text, &n);
	if (r == 0 && body)
		r = sp_api_answer(&a, argv[2], argv[3], body, &status);
	if (r < 0 || !body) {
		fprintf(stderr, "agent-api: %s\n", sp_error_text(r));
		return 1;
	}
	fclose(body);
	printf("%d\n\n%s", status, text);
	sp_store_close(a.store);
	return 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */
static char body[65536];

static int ask(const struct sp_api *a, const char *path, const char *query)
{
	int status = 0;
	FILE *out = fmemopen(body, sizeof(body), "w");

	assert_non_null(out);
	assert_int_equal(sp_api_answer(a, path, query, out, &status), 0);
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
	};
	struct sp_api a = {.now_ns = 1763755200 * SP_NS_PER_S};

	(void)state;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};

	if (argc == 2) /* the page, its policy before it */
		return printf("%s\n\n%s", sp_web_page.policy, sp_web_page.html) < 0;
	return argc > 3 ? answer_one(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
