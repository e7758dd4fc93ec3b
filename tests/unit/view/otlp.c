/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of servers of OTLP, which are foreign bytes. What is sent to them is in tests/cmd/push.sh. */
#include "view/interchange/otlp.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 16 };

/* From a heap block of that size, so that a sanitizer sees what is read behind it. */
static int read_answer(const char *bytes, size_t n, uint64_t *ret_n, char *ret_why)
{
	char *copy = malloc(n + (n == 0));
	int r;

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	r = sp_otlp_answer_read(copy, n, ret_n, ret_why, SIZE);
	free(copy);
	return r;
}

static void answers_are_read(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		uint64_t n_rejected;
		const char *why;
	} good[] = {
#define BYTES(text) text, sizeof(text) - 1
	    {BYTES(""), 0, ""},
	    {BYTES("\x0a\x00"), 0, ""},
	    {BYTES("\x0a\x0b\x08\x01\x12\x07too new"), 1, "too new"},
	    {BYTES("\x0a\x04\x12\x02ok"), 0, "ok"},
	    {BYTES("\x0a\x15\x12\x13"
		   "reasons may be long"),
	     0, "reasons may be "},
	    {BYTES("\x15"
		   "1234"
		   "\x19"
		   "12345678"
		   "\x20\x05\x0a\x02\x08\x03"),
	     3, ""},                    /* fields that are not known */
	    {BYTES("\x08\x05"), 0, ""}, /* not a message */
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char why[SIZE] = "x";
		uint64_t n = 9;
		int r = read_answer(good[i].bytes, good[i].n, &n, why);

		assert_int_equal(r, 0);
		assert_int_equal(n, good[i].n_rejected);
		assert_string_equal(why, good[i].why);
	}
}

/* Cut or changed anywhere, nothing is read outside of it. */
static void others_are_refused(void **state)
{
	static const char whole[] = "\x0a\x0b\x08\x01\x12\x07too new";
	char why[SIZE], changed[sizeof(whole)];
	uint64_t n_rejected;
	size_t n_bad = 0;

	for (size_t n = 1; n + 1 < sizeof(whole); n++)
		assert_int_equal(read_answer(whole, n, &n_rejected, why), -EBADMSG);
	for (size_t i = 0; i + 1 < sizeof(whole); i++)
		for (unsigned value = 0; value < 256; value++) {
			memcpy(changed, whole, sizeof(whole));
			changed[i] = (char)value;
			n_bad += read_answer(changed, sizeof(whole) - 1, &n_rejected, why) < 0;
		}
	assert_true(n_bad > 256);
	assert_int_equal(read_answer("<html>no</html>", 15, &n_rejected, why), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_are_read),
	    cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
