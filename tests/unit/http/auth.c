/* SPDX-License-Identifier: GPL-2.0-or-later */
/* auth.c: which passwords are looked at, and who is known after that. */
#include "http/auth.h"
#include "base/time.h"
#include "http/web_config.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct sp_web_config web = {
    .users = {{"alice", "hash of alice"}, {"bob", "hash of bob"}},
    .n_users = 2,
};
static struct sp_auth a;

static enum sp_auth_says look(const char *user, const char *password, const char **ret_hash)
{
	struct sp_http_credentials c = {.user = user, .password = password};

	return sp_auth_look(&a, &web, &c, ret_hash);
}

static void pause_over(void)
{
	struct timespec t = {.tv_nsec = 10000000};

	while (sp_time_ns(CLOCK_MONOTONIC) < a.next_ns)
		nanosleep(&t, NULL);
}

/* The first of the vectors that the algorithm's authors publish: 15 bytes 00 01 02 ... under the key 00 01 ... 0f. */
static void test_sip(void **state)
{
	const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	char text[15];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	assert_true(sp_auth_sip(key, text, sizeof(text)) == 0xa129ca6149be45e5);
	assert_true(sp_auth_sip(key, text, 0) == 0x726fdb47dd0e0e31);
	assert_true(sp_auth_sip(key, text, 8) == 0x93f5f5799a932462);
}

static void test_known(void **state)
{
	const char *hash = NULL;

	(void)state;
	assert_int_equal(sp_auth_init(&a), 0);
	assert_int_equal(look("alice", "right", &hash), SP_AUTH_ASK);
	assert_string_equal(hash, "hash of alice");
	/* the same waits with it, others come again */
	assert_int_equal(look("alice", "right", &hash), SP_AUTH_WAIT);
	assert_int_equal(look("alice", "other", &hash), SP_AUTH_BUSY);
	assert_int_equal(look("bob", "right", &hash), SP_AUTH_BUSY);
	assert_true(sp_auth_answered(&a, true));
	assert_int_equal(look("alice", "right", &hash), SP_AUTH_KNOWN_GOOD);
	/* who was right costs nobody a pause */
	assert_int_equal(look("bob", "wrong", &hash), SP_AUTH_ASK);
	assert_string_equal(hash, "hash of bob");
	assert_false(sp_auth_answered(&a, false));
	assert_int_equal(look("bob", "right", &hash), SP_AUTH_BUSY);
	assert_int_equal(look("alice", "right", &hash), SP_AUTH_KNOWN_GOOD);
	pause_over();
	assert_int_equal(look("bob", "wrong", &hash), SP_AUTH_ASK);
	assert_false(sp_auth_answered(&a, false));
}

/* Where name and password are put together, other names with other passwords are not the same. */
static void test_border(void **state)
{
	const char *hash = NULL;

	(void)state;
	pause_over();
	assert_int_equal(sp_auth_init(&a), 0);
	assert_int_equal(look("alice", "x", &hash), SP_AUTH_ASK);
	assert_true(sp_auth_answered(&a, true));
	assert_int_equal(look("alicex", "", &hash), SP_AUTH_ASK);
	assert_int_equal(strlen(hash), 60); /* nobody's, of a usual cost */
	assert_false(sp_auth_answered(&a, false));
	/* with another hash the same password is to be looked at again */
	web.users[0].value = "another hash";
	pause_over();
	assert_int_equal(look("alice", "x", &hash), SP_AUTH_ASK);
	/* and what is being looked at when the users change does not count */
	sp_auth_forget(&a);
	assert_false(sp_auth_answered(&a, true));
	pause_over();
	assert_int_equal(look("alice", "x", &hash), SP_AUTH_ASK);
	assert_true(sp_auth_answered(&a, true));
}

/* Bounded: the oldest is looked at again. */
static void test_full(void **state)
{
	const char *hash = NULL;
	char password[16];

	(void)state;
	assert_int_equal(sp_auth_init(&a), 0);
	for (int i = 0; i <= SP_AUTH_KNOWN; i++) {
		snprintf(password, sizeof(password), "%d", i);
		assert_int_equal(look("bob", password, &hash), SP_AUTH_ASK);
		assert_true(sp_auth_answered(&a, true));
	}
	assert_int_equal(look("bob", "1", &hash), SP_AUTH_KNOWN_GOOD);
	assert_int_equal(look("bob", password, &hash), SP_AUTH_KNOWN_GOOD);
	assert_int_equal(look("bob", "0", &hash), SP_AUTH_ASK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sip),
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_border),
	    cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
