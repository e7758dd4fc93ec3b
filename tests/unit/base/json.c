/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/mem.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(void (*write)(struct sp_json *j), bool is_spaced, const char *want)
{
	SP_FREE char *got = NULL;
	size_t n = 0;
	struct sp_json j = {.out = open_memstream(&got, &n), .is_spaced = is_spaced};

	assert_non_null(j.out);
	write(&j);
	assert_int_equal(fclose(j.out), 0);
	assert_string_equal(got, want);
}

static void everything(struct sp_json *j)
{
	sp_json_object(j, NULL);
	sp_json_string(j, "text", "a\"b\\\xff\n<");
	sp_json_string(j, "none", NULL);
	sp_json_word(j, "absent", NULL);
	sp_json_word(j, "empty", "");
	sp_json_word(j, "word", "w");
	sp_json_array(j, "numbers");
	sp_json_int(j, NULL, 0);
	sp_json_int(j, NULL, INT64_MIN);
	sp_json_int(j, NULL, INT64_MAX);
	sp_json_uint(j, NULL, UINT64_MAX);
	sp_json_format(j, NULL, "%.3g", 0.1);
	sp_json_end(j);
	sp_json_hex(j, "id", (const uint8_t[]){0, 0xab}, 2);
	sp_json_object(j, "empty_object");
	sp_json_end(j);
	sp_json_array(j, "empty_array");
	sp_json_end(j);
	sp_json_bool(j, "yes", true);
	sp_json_bool(j, "no", false);
	sp_json_ints(j, {"one", 1}, {"two", 2});
	fputs("1e3", sp_json_raw(j, "raw"));
	sp_json_array(j, "open");
	sp_json_done(j);
}

static void writes_each_kind(void **state)
{
	check(everything, false,
	      "{\"text\":\"a\\\"b\\\\\\\\xff\\n\\u003c\",\"none\":null,\"word\":\"w\",\"numbers\":[0,-"
	      "9223372036854775808,"
	      "9223372036854775807,18446744073709551615,0.1],\"id\":\"00ab\",\"empty_object\":{},\"empty_array\":[],"
	      "\"yes\":true,\"no\":false,\"one\":1,\"two\":2,\"raw\":1e3,\"open\":[]}\n");
}

static void lines_and_spaces(struct sp_json *j)
{
	sp_json_object(j, NULL);
	sp_json_int(j, "a", 1);
	sp_json_line(j);
	sp_json_array(j, "b");
	for (int i = 0; i < 2; i++) {
		sp_json_line(j);
		sp_json_int(j, NULL, i);
	}
	sp_json_end(j);
	sp_json_array(j, "c");
	sp_json_lines(j);
	for (int i = 0; i < 2; i++)
		sp_json_int(j, NULL, i);
	sp_json_end(j);
	sp_json_line(j);
	sp_json_end(j);
}

static void breaks_lines_where_it_is_told(void **state)
{
	check(lines_and_spaces, false, "{\"a\":1,\n\"b\":[\n0,\n1],\"c\":[0,\n1]\n}");
	check(lines_and_spaces, true, "{\"a\": 1,\n\"b\": [\n0,\n1], \"c\": [0,\n1]\n}");
}

static void several(struct sp_json *j)
{
	for (int i = 0; i < 2; i++) {
		sp_json_array(j, NULL);
		sp_json_end(j);
	}
	for (int i = 0; i < SP_JSON_DEPTH; i++)
		sp_json_array(j, NULL);
	for (int i = 0; i < SP_JSON_DEPTH; i++)
		sp_json_end(j);
}

static void counts_its_brackets(void **state)
{
	check(several, false, "[],[],[[[[[[[[]]]]]]]]");
}

/* --- what a caller must not do --- */
static void name_in_array(struct sp_json *j)
{
	sp_json_array(j, NULL);
	sp_json_int(j, "a", 1);
}

static void no_name_in_object(struct sp_json *j)
{
	sp_json_object(j, NULL);
	sp_json_int(j, NULL, 1);
}

static void too_deep(struct sp_json *j)
{
	for (int i = 0; i <= SP_JSON_DEPTH; i++)
		sp_json_array(j, NULL);
}

static void ends_nothing(struct sp_json *j)
{
	sp_json_array(j, NULL);
	sp_json_end(j);
	sp_json_end(j);
}

static void callers_errors_end_the_program(void **state)
{
	static void (*const wrong[])(struct sp_json *) = {name_in_array, no_name_in_object, too_deep, ends_nothing};

	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			struct sp_json j = {.out = fopen("/dev/null", "w")};

			setrlimit(RLIMIT_CORE, &(struct rlimit){0});
			signal(SIGABRT, SIG_DFL);
			fclose(stderr);
			wrong[i](&j);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(writes_each_kind),
	    cmocka_unit_test(breaks_lines_where_it_is_told),
	    cmocka_unit_test(counts_its_brackets),
	    cmocka_unit_test(callers_errors_end_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
