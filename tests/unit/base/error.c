/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

static void keeps_the_number_and_puts_the_outermost_first(void **state)
{
	assert_int_equal(sp_fail(-ENOENT, "open %s", "/x"), -ENOENT);
	assert_int_equal(sp_fail(-ENOENT, "profile"), -ENOENT);
	assert_string_equal(sp_error_text(-ENOENT), "profile: open /x: No such file or directory");
	assert_string_equal(sp_error_text(-ENOENT), "profile: open /x: No such file or directory");
}

static void forgets_what_was_read(void **state)
{
	sp_fail(-ENOENT, "first");
	(void)sp_error_text(-ENOENT);
	sp_fail(-ENOENT, "second");
	assert_string_equal(sp_error_text(-ENOENT), "second: No such file or directory");
	sp_error_clear();
	assert_string_equal(sp_error_text(-ENOENT), "No such file or directory");
}

static void another_number_is_another_failure(void **state)
{
	sp_fail(-ENOENT, "dealt with and forgotten");
	sp_fail(-EPERM, "sample all");
	assert_string_equal(sp_error_text(-EPERM), "sample all: Operation not permitted");
	sp_fail(-EPERM, "sample all");
	assert_string_equal(sp_error_text(-EIO), "Input/output error");
}

static void words_that_are_the_whole_message(void **state)
{
	sp_fail_said(-EPERM, "cannot sample: needs %s", "CAP_BPF");
	sp_fail(-EPERM, "profile");
	assert_string_equal(sp_error_text(-EPERM), "profile: cannot sample: needs CAP_BPF");
}

static void long_words_are_cut_and_still_ended(void **state)
{
	char words[3000];

	memset(words, 'w', sizeof(words));
	words[sizeof(words) - 1] = '\0';
	sp_fail(-EIO, "%s", words);
	for (int i = 0; i < 100; i++)
		sp_fail(-EIO, "%d", i);
	const char *text = sp_error_text(-EIO);
	assert_int_equal(strncmp(text, "99: 98: 97: ", 12), 0);
	assert_in_range(strlen(text), 1000, 1100);
	assert_string_equal(text + strlen(text) - strlen("w...: Input/output error"), "w...: Input/output error");
	words[1000] = '\0';
	sp_fail_said(-EIO, "%s", words);
	assert_string_equal(sp_error_text(-EIO), words);
	sp_fail_said(-EIO, "%s%s", words, words);
	assert_string_equal(sp_error_text(-EIO) + 1019, "w...");
}

static void a_mistake_has_its_place_in_the_text(void **state)
{
	char text[3000];
	size_t at = 0;

	sp_fail_at(-EINVAL, "a > > b", 4, "a number is missing");
	sp_fail(-EINVAL, "-e");
	assert_string_equal(sp_error_text(-EINVAL), "-e: a number is missing");
	assert_string_equal(sp_error_where(-EINVAL, &at), "a > > b");
	assert_int_equal(at, 4);
	assert_null(sp_error_where(-EIO, &at));
	sp_fail_said(-EINVAL, "another");
	assert_null(sp_error_where(-EINVAL, &at));
	memset(text, 't', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sp_fail_at(-EINVAL, text, 2000, "too far on to be shown");
	assert_null(sp_error_where(-EINVAL, &at));
}

static void *fail_elsewhere(void *arg)
{
	sp_fail(-EIO, "elsewhere");
	return NULL;
}

static void the_chain_belongs_to_the_thread(void **state)
{
	pthread_t thread;

	sp_fail(-EIO, "here");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(sp_error_text(-EIO), "here: Input/output error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeps_the_number_and_puts_the_outermost_first),
	    cmocka_unit_test(forgets_what_was_read),
	    cmocka_unit_test(another_number_is_another_failure),
	    cmocka_unit_test(words_that_are_the_whole_message),
	    cmocka_unit_test(long_words_are_cut_and_still_ended),
	    cmocka_unit_test(a_mistake_has_its_place_in_the_text),
	    cmocka_unit_test(the_chain_belongs_to_the_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
