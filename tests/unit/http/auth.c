/* SPDX-License-Identifier: GPL-2.0-or-later */
/* auth.c: which passwords are compared, and which are known afterwards; who waits after wrong ones. */
#include "http/auth.h"
#include "base/time.h"
#include "http/web_config.h"
#include "test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct sp_web_config web = {
    .users = {{"alice", "hash of alice"}, {"bob", "hash of bob"}},
    .n_users = 2,
};
static struct sp_auth a;
static uint64_t client = 1;

static enum sp_auth_verdict check(const char *user, const char *password, const char **ret_hash)
{
	struct sp_http_credentials c = {.user = user, .password = password};

	return sp_auth_check(&a, &web, client, &c, ret_hash);
}

static void pause_over(void)
{
	for (size_t i = 0; i < SP_AUTH_TRIED; i++)
		a.tried[i].not_before_ns = 0;
}

/* The first test vector of the algorithm's authors: 15 bytes 00 01 02 ... under the key 00 01 ... 0f. */
static void test_sip(void **state)
{
	const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	char text[15];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	assert_true(sp_auth_siphash(key, text, sizeof(text)) == 0xa129ca6149be45e5);
	assert_true(sp_auth_siphash(key, text, 0) == 0x726fdb47dd0e0e31);
	assert_true(sp_auth_siphash(key, text, 8) == 0x93f5f5799a932462);
}

static void test_known(void **state)
{
	const char *hash = NULL;

	assert_int_equal(sp_auth_init(&a), 0);
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_VERIFY);
	assert_string_equal(hash, "hash of alice");
	/* the same credentials wait for the running comparison, others are refused */
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_WAIT);
	assert_int_equal(check("alice", "other", &hash), SP_AUTH_BUSY);
	assert_int_equal(check("bob", "right", &hash), SP_AUTH_BUSY);
	assert_true(sp_auth_verified(&a, true));
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_KNOWN_GOOD);
	/* no pause after a right password */
	assert_int_equal(check("bob", "wrong", &hash), SP_AUTH_VERIFY);
	assert_string_equal(hash, "hash of bob");
	assert_false(sp_auth_verified(&a, false));
	assert_int_equal(check("bob", "right", &hash), SP_AUTH_BUSY);
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_KNOWN_GOOD);
	pause_over();
	assert_int_equal(check("bob", "wrong", &hash), SP_AUTH_VERIFY);
	assert_false(sp_auth_verified(&a, false));
}

/* The digest tells "a", "bc" from "ab", "c". */
static void test_border(void **state)
{
	const char *hash = NULL;

	pause_over();
	assert_int_equal(sp_auth_init(&a), 0);
	assert_int_equal(check("alice", "x", &hash), SP_AUTH_VERIFY);
	assert_true(sp_auth_verified(&a, true));
	assert_int_equal(check("alicex", "", &hash), SP_AUTH_VERIFY);
	assert_int_equal(strlen(hash), 60); /* UNKNOWN_USER_HASH */
	assert_false(sp_auth_verified(&a, false));
	/* another hash voids the digest */
	web.users[0].value = "another hash";
	pause_over();
	assert_int_equal(check("alice", "x", &hash), SP_AUTH_VERIFY);
	/* so does a change of users during the comparison */
	sp_auth_forget(&a);
	assert_false(sp_auth_verified(&a, true));
	pause_over();
	assert_int_equal(check("alice", "x", &hash), SP_AUTH_VERIFY);
	assert_true(sp_auth_verified(&a, true));
}

/* When the table is full, the oldest is forgotten. */
static void test_full(void **state)
{
	const char *hash = NULL;
	char password[16];

	assert_int_equal(sp_auth_init(&a), 0);
	for (int i = 0; i <= SP_AUTH_KNOWN; i++) {
		snprintf(password, sizeof(password), "%d", i);
		assert_int_equal(check("bob", password, &hash), SP_AUTH_VERIFY);
		assert_true(sp_auth_verified(&a, true));
	}
	assert_int_equal(check("bob", "1", &hash), SP_AUTH_KNOWN_GOOD);
	assert_int_equal(check("bob", password, &hash), SP_AUTH_KNOWN_GOOD);
	assert_int_equal(check("bob", "0", &hash), SP_AUTH_VERIFY);
}

/* --- guessing --- */
/* A wrong password whose comparison took so long. */
static void guess_wrong(uint64_t took_ns)
{
	const char *hash = NULL;

	assert_int_equal(check("alice", "wrong", &hash), SP_AUTH_VERIFY);
	a.began_ns -= took_ns;
	assert_false(sp_auth_verified(&a, false));
}

/* Who guesses waits longer and longer; others are looked at meanwhile, and a right password makes it good. */
static void test_guesser(void **state)
{
	uint64_t pause_ns = SP_NS_PER_S / 2;
	const char *hash = NULL;

	assert_int_equal(sp_auth_init(&a), 0);
	for (int i = 0; i < 8; i++, pause_ns *= i < 6 ? 4 : 1) {
		uint64_t began_ns = sp_time_ns(CLOCK_MONOTONIC);

		pause_over();
		client = 1;
		guess_wrong(0);
		assert_true(a.tried[0].not_before_ns >= began_ns + (i < 5 ? pause_ns : 256 * SP_NS_PER_S));
		assert_true(a.tried[0].not_before_ns <= sp_time_ns(CLOCK_MONOTONIC) + pause_ns);
		assert_int_equal(check("alice", "right", &hash), SP_AUTH_BUSY);
		client = 2;
		assert_int_equal(check("bob", "right", &hash), i ? SP_AUTH_KNOWN_GOOD : SP_AUTH_VERIFY);
		assert_true(i || sp_auth_verified(&a, true));
	}
	client = 1;
	pause_over();
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_VERIFY);
	assert_true(sp_auth_verified(&a, true));
	guess_wrong(0);
	assert_int_equal(a.tried[0].pause_ns, SP_NS_PER_S / 2);
}

/* From however many addresses, and however much a hash costs. */
static void test_guessers(void **state)
{
	const char *hash = NULL;
	unsigned n = 0;

	assert_int_equal(sp_auth_init(&a), 0);
	for (client = 100; n < 1000 && check("alice", "wrong", &hash) == SP_AUTH_VERIFY; client++, n++) {
		a.began_ns -= SP_NS_PER_S / 10;
		assert_false(sp_auth_verified(&a, false));
	}
	assert_in_range(n, 20, 100); /* a burst of 2 s, and a share of the time that this takes */
	a.paid_ns -= 52 * SP_NS_PER_S;
	guess_wrong(10 * SP_NS_PER_S);
	assert_int_equal(check("bob", "right", &hash), SP_AUTH_BUSY);
	/* the addresses are more than are remembered: those that wait longest are */
	assert_int_equal(sp_auth_init(&a), 0);
	for (client = 1; client <= 2; client++)
		guess_wrong(0);
	client = 1;
	pause_over();
	guess_wrong(0);
	for (client = 100; client < 100 + 2 * SP_AUTH_TRIED; client++)
		guess_wrong(0);
	client = 1;
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_BUSY);
	client = 2;
	assert_int_equal(check("alice", "right", &hash), SP_AUTH_VERIFY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sip),  cmocka_unit_test(test_known),   cmocka_unit_test(test_border),
	    cmocka_unit_test(test_full), cmocka_unit_test(test_guesser), cmocka_unit_test(test_guessers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
